"""Text files of word vectors, as GloVe and fastText write them."""

import keras
import numpy as np
import pytest

from keras_bert_impl import configs, models
from keras_bert_impl.tokenizers.formats import vocabularies as vocabulary_lib
from keras_bert_impl.training import word_vectors
from tests import architectures
from tests.tokenizers import vocabularies

TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "cat", "##s", "고양이")
GLOVE = (
  "cat 1 2 -3 4\ns 9 9 9 9\n고양이 0.5 0 0 -2e-1\ncat 7 7 7 7\n[MASK] 1 1 1 1\n"
)


def write(folder, text):
  path = folder / "vectors.txt"
  path.write_text(text, encoding="utf-8")
  return str(path)


@pytest.mark.parametrize("header", ["", "5 4\n"])
def test_words_start_from_their_vectors(tmp_path, header):
  keras.utils.set_random_seed(0)
  config = configs.EncoderConfig(
    **architectures.SMALL | {"embedding_size": 4, "initializer_range": 0.02}
  )
  encoder = models.TransformerEncoder(config)
  table = encoder.embeddings.word_embeddings
  before = np.array(table)
  others = {w.path: w.numpy() for w in encoder.weights if w is not table}
  word_vectors.assign(
    write(tmp_path, header + GLOVE),
    vocabulary_lib.Vocabulary(TOKENS),
    encoder.weights,
    config.initializer_range,
  )
  vectors = np.array([[1, 2, -3, 4], [0.5, 0, 0, -0.2]])
  expected = before.copy()
  expected[[5, 7]] = vectors * 0.02 / vectors.std()
  np.testing.assert_allclose(table, expected, rtol=1e-6)
  for path, value in others.items():
    [weight] = [w for w in encoder.weights if w.path == path]
    np.testing.assert_array_equal(weight, value)


def test_each_kind_of_vocabulary_spells_its_words(tmp_path):
  path = vocabularies.write_byte_bpe(tmp_path)
  byte_bpe = word_vectors.words(vocabulary_lib.Vocabulary.load(path))
  path = vocabularies.write_sentencepiece(tmp_path)
  pieces = word_vectors.words(vocabulary_lib.Vocabulary.load(path))
  for found in (byte_bpe, pieces):
    assert "cat" in found and "" not in found
    assert not [word for word in found if word.startswith(("Ġ", "▁", "<"))]


@pytest.mark.parametrize(
  ("text", "message"),
  [
    ("cat 1 2 3\n", "line 1 is not a word and 4 numbers"),
    ("a 1 2 3 4\nb 1 2 3 4\ncat 1 2 x 4\n", "line 3 is not a word and 4"),
    ("a 1 2 3 4\nb 1 2 3 4\ncat 1 2 nan 4\n", "line 3 is not a word and 4"),
    ("dog 1 2 3 4\n", "none of its words is a token"),
    ("", "none of its words is a token"),
  ],
)
def test_mistakes_are_told_with_their_place(tmp_path, text, message):
  wanted = word_vectors.words(vocabulary_lib.Vocabulary(TOKENS))
  with pytest.raises(ValueError, match=f"vectors.txt.*{message}"):
    word_vectors.read(write(tmp_path, text), wanted, 4)
