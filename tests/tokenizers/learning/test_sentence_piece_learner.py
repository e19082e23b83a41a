import random

import pytest

from keras_bert_impl import tokenizers
from keras_bert_impl.tokenizers.formats import tokenizer_options
from keras_bert_impl.tokenizers.learning import sentence_piece_learner
from tests.tokenizers import vocabularies

ALBERT = tokenizer_options.SentencePieceOptions(
  do_lower_case=True, keep_accents=False, remove_space=True
)


def _load(folder, learned, options):
  path = folder / "spiece.model"
  learned.save(path)
  tokenizer_options.save(path, options)
  return tokenizers.load(path)


@pytest.mark.parametrize("model_type", ["unigram", "bpe"])
def test_the_same_text_gives_the_same_model(model_type):
  first, second = (
    sentence_piece_learner.learn(
      iter(vocabularies.sentences()), 200, ALBERT, model_type
    )
    for _ in range(2)
  )
  assert first.model == second.model
  # Special tokens have the ids of ALBERT.
  assert first.size == 200
  assert first.tokens[:5] == ("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]")
  assert first.special_ids == (0, 1, 2, 3, 4)


def test_merges_depend_on_the_counts_of_words_only():
  texts = vocabularies.sentences()
  first = sentence_piece_learner.learn(texts, 200, ALBERT, "bpe")
  words = " ".join(texts).split()
  random.Random(0).shuffle(words)
  assert sentence_piece_learner.learn(words, 200, ALBERT, "bpe") == first


@pytest.mark.parametrize("model_type", ["unigram", "bpe"])
def test_text_is_prepared_as_the_tokenizer_will(tmp_path, model_type):
  texts = ["Été À  ``la'' Mer."] * 30 + vocabularies.sentences()
  learned = sentence_piece_learner.learn(texts, 250, ALBERT, model_type)
  assert not any(token != token.lower() for token in learned.tokens[5:])
  tokenizer = _load(tmp_path, learned, ALBERT)
  assert "".join(vocabularies.pieces(tokenizer, "Été MER.")) == "▁ete▁mer."
  assert '"' in "".join(vocabularies.pieces(tokenizer, "''mer"))


def test_of_many_sentences_a_sample_is_taken(monkeypatch):
  monkeypatch.setattr(sentence_piece_learner, "MAX_SENTENCES", 100)
  first, second = (
    sentence_piece_learner.learn(vocabularies.sentences(), 200, ALBERT)
    for _ in range(2)
  )
  assert first == second
  monkeypatch.setattr(sentence_piece_learner, "MAX_SENTENCES", 1000)
  assert (
    sentence_piece_learner.learn(vocabularies.sentences(), 200, ALBERT) != first
  )


def test_every_sentence_has_the_same_chance_to_be_in_the_sample():
  counts = [0] * 10
  texts = list(range(10)) * 400
  for text in sentence_piece_learner._sample(texts, 1000):
    counts[text] += 1
  # Mean 100, standard deviation 8.2.
  assert all(65 < count < 135 for count in counts)


@pytest.mark.parametrize(
  "texts, arguments, message",
  [
    (["a b"], {"vocab_size": 5000}, r"vocab_size \(5000\) can be learned"),
    (["a b"], {"model_type": "word"}, r"model_type \('word'\) must be one"),
    (["a"], {"character_coverage": 2}, r"character_coverage \(2\) must be"),
    ([], {}, "has no words"),
    (["", " \n"], {}, "has no words"),
  ],
)
def test_what_cannot_be_learned_is_said(texts, arguments, message):
  arguments = {"vocab_size": 100, "options": ALBERT} | arguments
  with pytest.raises(ValueError, match=message) as caught:
    sentence_piece_learner.learn(texts, **arguments)
  assert "\n" not in str(caught.value)
