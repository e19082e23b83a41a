import pytest

from keras_bert_impl import tokenizers
from keras_bert_impl.tokenizers.formats import tokenizer_options
from keras_bert_impl.tokenizers.learning import byte_pair_learner
from tests.tokenizers import vocabularies

PREFIXED = tokenizer_options.BytePairOptions(add_prefix_space=True)


def _load(folder, learned, options):
  path = folder / "vocab.json"
  learned.save(path)
  tokenizer_options.save(path, options)
  return tokenizers.load(path)


def test_special_tokens_have_the_ids_of_roberta():
  texts = vocabularies.sentences()
  learned = byte_pair_learner.learn(texts, 400, PREFIXED)
  # In any order, with the same result.
  assert byte_pair_learner.learn(reversed(texts), 400, PREFIXED) == learned
  assert learned.size == 400
  assert learned.tokens[:4] == ("<s>", "<pad>", "</s>", "<unk>")
  assert learned.special_ids == (1, 3, 0, 2, 399)
  assert len(learned.merges) == 400 - 5 - 256


def test_frequent_words_become_one_token_and_every_text_comes_back(tmp_path):
  texts = ["the cat sat on the mat"] * 50 + vocabularies.sentences()
  learned = byte_pair_learner.learn(texts, 500, PREFIXED)
  tokenizer = _load(tmp_path, learned, PREFIXED)
  assert vocabularies.pieces(tokenizer, "the cat") == ["Ġthe", "Ġcat"]
  odd = "한국 \0 \u2028 😀"
  assert tokenizer.detokenize(tokenizer.tokenize([odd])).numpy()[0] == (
    odd.encode()
  )


def test_rare_pairs_are_not_merged(caplog):
  texts = ["often"] * 4 + ["seldom"] * 3
  learned = byte_pair_learner.learn(texts, 300, PREFIXED, min_frequency=4)
  assert "Ġoften" in learned.tokens
  assert "Ġseldom" not in learned.tokens
  assert f"yields {learned.size} tokens, fewer than" in caplog.text


@pytest.mark.parametrize(
  "texts, arguments, message",
  [
    (
      ["a b"],
      {"vocab_size": 260},
      r"vocab_size \(260\) must be in \[261,",
    ),
    (["a b"], {"min_frequency": 0}, r"min_frequency \(0\) must be in"),
    ([], {}, "nothing to learn from"),
    (["", " "], {}, "nothing to learn from"),
  ],
)
def test_what_cannot_be_learned_is_said(texts, arguments, message):
  arguments = {"vocab_size": 300, "options": PREFIXED} | arguments
  with pytest.raises(ValueError, match=message):
    byte_pair_learner.learn(texts, **arguments)
