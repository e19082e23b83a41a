import random

import pytest

from keras_bert_impl.tokenizers.formats import tokenizer_options
from keras_bert_impl.tokenizers.graph import text_batches, wordpiece
from keras_bert_impl.tokenizers.learning import wordpiece_learner as learner
from tests.tokenizers import vocabularies

UNCASED = tokenizer_options.WordPieceOptions()


def learn(*arguments, **named):
  return [*learner.learn(*arguments, **named).tokens]


def learn_from_counts(counts, vocab_size=100, **named):
  return learn(counts, vocab_size, count=lambda counts, _: counts, **named)


@pytest.mark.parametrize("vocab_size", [60, 201, 500])
def test_the_size_is_exact_where_the_text_has_enough_pieces(vocab_size):
  tokens = learn(vocabularies.sentences(), vocab_size)
  assert tokens[:5] == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
  assert len(tokens) == len(set(tokens)) == vocab_size


def test_too_little_text_gives_fewer_tokens_and_says_so(caplog):
  tokens = learn(["aba abb"] * 2, 1000)
  assert len(tokens) < 30
  assert f"yields {len(tokens)} tokens, fewer than vocab_size (1000)" in (
    caplog.text
  )


def test_the_same_text_gives_the_same_tokens_in_any_order():
  texts = vocabularies.sentences()
  first = learn(texts, 300)
  assert learn(texts, 300) == first
  assert learn(reversed(texts), 300) == first
  assert learn(iter([" ".join(texts)]), 300) == first


def test_frequent_words_become_one_token_and_none_is_unknown(tmp_path):
  texts = ["the cat sat on the mat"] * 50 + vocabularies.sentences()
  texts += ["Çà et là: 中国 한국어 (3d) don't"] * 2
  tokenizer = wordpiece.WordPieceTokenizer(
    vocabularies.write(tmp_path, learn(texts, 400))
  )
  ids = tokenizer.tokenize(["the cat", "sat mat"])
  assert ids.row_lengths().numpy().tolist() == [2, 2]
  unknown = tokenizer.vocabulary.unk_id
  assert unknown not in tokenizer.tokenize(texts).flat_values.numpy()


def test_words_are_counted_as_the_tokenizer_sees_them(monkeypatch):
  # In batches, too.
  monkeypatch.setattr(text_batches, "_CHARACTERS", 10)
  counts = learner.count_words(
    ["Don't, DON'T!", b"caf\xc3\xa9\xff", "中国", "x" * 201], UNCASED
  )
  assert sorted(counts.elements()) == [
    *("!", "'", "'", ",", "cafe", "don", "don", "t", "t", "中", "国"),
  ]


def test_case_accents_and_hangul_follow_the_options():
  texts = ["Été 한국 Été 한국"]
  assert "E" in "".join(
    learn(texts, 100, tokenizer_options.WordPieceOptions(False))
  )
  lowered = learn(texts, 100)
  assert "ete" in lowered
  assert "한국" not in lowered
  composed = learn(texts, 100, tokenizer_options.WordPieceOptions(True, True))
  assert {"ete", "한국"} <= set(composed)


def test_every_character_stands_alone_and_continues_where_it_did():
  tokens = learn(["ab!"] * 3, 10, min_frequency=3)
  assert tokens[5:] == ["!", "a", "b", "##b", "ab"]


def test_rare_pieces_and_characters_are_not_learned():
  counts = {"often": 10, "seldom": 3, "§": 3}
  tokens = learn_from_counts(counts, min_frequency=4)
  assert "often" in tokens
  assert "seldom" not in tokens
  assert "§" not in tokens
  assert "seldom" in learn_from_counts(counts, min_frequency=3)


def test_a_rare_word_lends_its_count_to_its_pieces():
  counts = {"una": 1, "unb": 1, "unc": 1, "abcabc": 3}
  tokens = learn_from_counts(counts, min_frequency=3)
  assert {"un", "abcabc"} <= set(tokens)
  assert "una" not in tokens


def test_of_too_many_words_the_frequent_ones_are_learned_from(monkeypatch):
  monkeypatch.setattr(learner, "_MAX_WORDS", 2)
  counts = {"xyz": 2, "abab": 5, "cd": 2, "ba": 9, "é": 1}
  tokens = learn_from_counts(counts, min_frequency=1)
  assert {"abab", "ba"} <= set(tokens)
  assert not {"cd", "xyz"} & set(tokens)
  assert "é" in tokens  # The alphabet is that of all.
  monkeypatch.setattr(learner, "_MAX_WORDS", 3)
  for items in (counts.items(), reversed(counts.items())):
    tokens = learn_from_counts(dict(items), min_frequency=1)
    assert "cd" in tokens and "xyz" not in tokens


def test_merges_that_only_lead_to_others_do_not_cost_the_size():
  # Letters that only start words: "Ab" is merged on the way, "##Ab" is no use.
  rng = random.Random(0)
  counts = {
    rng.choice("ABCDE") + "".join(rng.choices("abcde", k=4)): 2
    for _ in range(400)
  }
  tokens = learn_from_counts(counts, 700)
  assert len(tokens) == 700
  assert not any(token[2:3].isupper() for token in tokens if token[0] == "#")


def test_coverage_leaves_out_the_rarest_characters():
  counts = {"aa": 48, "b": 3, "c": 1}
  tokens = learn_from_counts(
    counts, 100, min_frequency=1, character_coverage=0.98
  )
  assert {"a", "b"} <= set(tokens)
  assert "c" not in tokens


@pytest.mark.parametrize(
  "arguments, message",
  [
    ({"vocab_size": 5}, r"vocab_size \(5\) must be in \[6,"),
    ({"vocab_size": 10}, r"vocab_size \(10\) is smaller than the \d+ char"),
    ({"min_frequency": 0}, r"min_frequency \(0\) must be in \[1,"),
    ({"character_coverage": 1.5}, r"character_coverage \(1.5\) must be in"),
  ],
)
def test_values_out_of_range_are_named(arguments, message):
  with pytest.raises(ValueError, match=message):
    learn(vocabularies.sentences(), **({"vocab_size": 300} | arguments))


def test_a_text_without_words_is_refused():
  for texts in ([], [""], [" \n", "\0"]):
    with pytest.raises(ValueError, match="has no words"):
      learn(texts, 100)
