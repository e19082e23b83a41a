import functools
import os
import random
import subprocess
import sys
import unicodedata

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import tokenizers
from keras_bert_impl.tokenizers.formats import tokenizer_options
from keras_bert_impl.tokenizers.graph import steps
from tests.tokenizers import reference, vocabularies

OPTIONS = [
  tokenizer_options.WordPieceOptions(do_lower_case=True),
  tokenizer_options.WordPieceOptions(do_lower_case=False),
  tokenizer_options.WordPieceOptions(do_lower_case=True, compose_hangul=True),
]
# Capital letters of Unicode 14, which TensorFlow's ICU does not lower, and the
# one mark whose category Unicode 14 changed.
UNCERTAIN = frozenset(
  [0x1734, 0x2C2F, 0xA7C0, 0xA7D0, 0xA7D6, 0xA7D8, *range(0x10570, 0x10596)]
)


@pytest.fixture(name="vocab_file", scope="module")
def _vocab_file(tmp_path_factory):
  return vocabularies.write(tmp_path_factory.mktemp("vocabulary"))


@pytest.fixture(name="tokenizer", scope="module")
def _tokenizer(vocab_file):
  return tokenizers.WordPieceTokenizer(vocab_file)


@pytest.mark.parametrize(
  "name, folder, do_lower_case",
  [
    ("uncased", "google_uncased", True),
    ("cased", "google_cased", False),
    ("multi_cased", "google_multi_cased", False),
    ("koelectra_cased", "koelectra", False),
  ],
)
def test_ids_equal_those_of_the_original(name, folder, do_lower_case):
  examples = vocabularies.examples("wordpiece.jsonl")
  tokenizer = tokenizers.WordPieceTokenizer(
    os.path.join(vocabularies.DATA, "vocab", folder, "vocab.txt"), do_lower_case
  )
  ids = tokenizer.tokenize([example["text"] for example in examples])
  assert ids.to_list() == [example[name] for example in examples]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_any_bytes_give_the_ids_of_the_reference(vocab_file, options):
  tokenizer = tokenizers.WordPieceTokenizer(
    vocab_file, options.do_lower_case, options.compose_hangul
  )
  expected = reference.ReferenceTokenizer(
    tokenizer.vocabulary.tokens, options.do_lower_case, options.compose_hangul
  )
  texts = _random_texts(1500)
  for text, ids in zip(texts, tokenizer.tokenize(texts).to_list(), strict=True):
    assert ids == expected.tokenize(text), text


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_every_character_is_treated_as_by_the_reference(options, tmp_path):
  texts = [f"a{chr(code)}b" for code in _code_points()]
  expected = reference.ReferenceTokenizer(
    ["[UNK]"], options.do_lower_case, options.compose_hangul
  )
  words = steps.words_of(tf.constant(texts), options)
  for text, got in zip(texts, words.to_list(), strict=True):
    assert [word.decode() for word in got] == expected.words(text), repr(text)
  if not options.do_lower_case:
    # Every word has one piece: a, b or [UNK].
    path = vocabularies.write(tmp_path, ["a", "b"])
    ids = tokenizers.WordPieceTokenizer(path, False).tokenize(texts)
    np.testing.assert_array_equal(ids.row_splits, words.row_splits)


def test_a_word_of_more_than_200_characters_is_unknown(vocab_file):
  tokenizer = tokenizers.WordPieceTokenizer(vocab_file, do_lower_case=False)
  for character in "aé한😀":
    fits, long = character * 200, character * 201
    assert len(vocabularies.pieces(tokenizer, fits)) == 200
    assert vocabularies.pieces(tokenizer, f"the {long}. {long}") == (
      ["the", "[UNK]", ".", "[UNK]"]
    )


def test_an_overlong_word_is_unknown_whatever_the_vocabulary_holds(tmp_path):
  path = vocabularies.write(tmp_path, ["\ufffd", "a", "##a"])
  tokenizer = tokenizers.WordPieceTokenizer(path)
  assert vocabularies.pieces(tokenizer, "a" * 201 + " \ufffda") == [
    "[UNK]",
    "a",
  ]


def test_detokenize_joins_words_and_leaves_out_what_frames_a_text(tokenizer):
  texts = ["Hello tokenizations!", "", "un ##believ"]
  again = tokenizer.detokenize(tokenizer.tokenize(texts)).numpy().tolist()
  assert again == [b"hello tokenizations !", b"", b"un # # believ"]
  ids = tokenizer.vocabulary.ids
  row = [ids[t] for t in ("[CLS]", "the", "[MASK]", "##s", "[SEP]", "[PAD]")]
  texts = tokenizer.detokenize(tf.constant([row])).numpy().tolist()
  assert texts == [b"the [MASK]s"]


def test_a_token_that_cannot_be_looked_up_is_refused(tmp_path):
  path = vocabularies.write(tmp_path, ["a", "b" * 257])
  with pytest.raises(ValueError, match="vocab.txt, line 7: .* 257 bytes"):
    tokenizers.WordPieceTokenizer(path)


# Turkish lowers I to a dotless letter, if it is asked.
@pytest.mark.slow
def test_lower_case_is_the_same_in_any_locale():
  program = """
import tensorflow as tf
from keras_bert_impl.tokenizers.formats import tokenizer_options
from keras_bert_impl.tokenizers.graph import steps
options = tokenizer_options.WordPieceOptions()
words = steps.words_of(tf.constant(["TITLE İ IŞIK"]), options)
assert words.to_list() == [[b"title", b"i", b"isik"]], words
"""
  environment = os.environ | {"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8"}
  subprocess.run([sys.executable, "-c", program], env=environment, check=True)


@functools.cache
def _code_points():
  """Assigned code points; every 37th of the large uniform blocks."""
  codes = []
  for code in range(sys.maxunicode + 1):
    category = unicodedata.category(chr(code))
    if category in ("Cn", "Cs") or code in UNCERTAIN:
      continue
    is_uniform = category in ("Lo", "Co") and code > 0x3400
    if not is_uniform or code % 37 == 0:
      codes.append(code)
  return codes


def _random_texts(count):
  """Byte strings: words of the vocabulary, odd characters, broken UTF-8."""
  rng = random.Random(7)
  known = [chr(code) for code in _code_points() if _is_old(chr(code))]
  marks = [c for c in known if unicodedata.category(c)[0] in "MZCP"]
  pools = (
    vocabularies.CHARACTERS,
    vocabularies.CHARACTERS,
    vocabularies.WORDS,
    marks,
    known,
    [chr(code) for code in range(128)],
  )
  texts = []
  for _ in range(count):
    text = "".join(
      rng.choice(rng.choice(pools)) for _ in range(rng.randrange(40))
    ).encode()
    if rng.random() < 0.3:
      text = bytearray(text + bytes(3))
      for _ in range(3):
        text[rng.randrange(len(text))] = rng.randrange(256)
    texts.append(bytes(text))
  texts += [rng.randbytes(rng.randrange(60)) for _ in range(count // 4)]
  return [text for text in texts if _is_known(text)]


def _is_known(text):
  """Whether every Python and every ICU know all of its characters."""
  return all(map(_is_old, text.decode("utf-8", "ignore")))


def _is_old(character):
  # What stands next to a capital sigma decides its lower case, so that a single
  # character of another Unicode version changes its neighbours too.
  return unicodedata.ucd_3_2_0.category(character) != "Cn"
