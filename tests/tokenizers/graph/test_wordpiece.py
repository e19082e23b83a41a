import functools
import json
import os
import pathlib
import random
import subprocess
import sys
import unicodedata

import pytest
import tensorflow as tf

from keras_bert_impl import tokenizers
from keras_bert_impl.tokenizers.formats import tokenizer_options
from keras_bert_impl.tokenizers.graph import steps
from tests.tokenizers import reference, vocabularies

DATA = os.environ.get("KERAS_BERT_DATA")
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


def _tokens(tokenizer, ids):
  return [tokenizer.vocabulary.tokens[index] for index in ids]


def _pieces(tokenizer, text):
  return _tokens(tokenizer, tokenizer.tokenize([text])[0].numpy())


@pytest.mark.skipif(not DATA, reason="KERAS_BERT_DATA is not set")
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
  path = pathlib.Path(DATA).parent / "parity/tokenizers/wordpiece.jsonl"
  with open(path, encoding="utf-8") as file:
    examples = [json.loads(line) for line in file]
  tokenizer = tokenizers.WordPieceTokenizer(
    os.path.join(DATA, "vocab", folder, "vocab.txt"), do_lower_case
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
  texts = _random_texts(4000)
  for text, ids in zip(texts, tokenizer.tokenize(texts).to_list(), strict=True):
    assert ids == expected.tokenize(text), text


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_every_character_is_treated_as_by_the_reference(options):
  texts = [f"a{chr(code)}b" for code in _code_points()]
  expected = reference.ReferenceTokenizer(
    ["[UNK]"], options.do_lower_case, options.compose_hangul
  )
  words = steps.words_of(tf.constant(texts), options).to_list()
  for text, got in zip(texts, words, strict=True):
    assert [word.decode() for word in got] == expected.words(text), repr(text)


def test_the_lookup_splits_at_no_other_characters_than_normalisation(tmp_path):
  tokenizer = tokenizers.WordPieceTokenizer(
    vocabularies.write(tmp_path, ["a", "b"]), do_lower_case=False
  )
  texts = tf.constant([f"a{chr(code)}b" for code in _code_points()])
  words = steps.words_of(texts, tokenizer.options)
  ids = tokenizer.tokenize(texts)
  # Every word has one piece: a, b or [UNK].
  assert ids.row_lengths().numpy().tolist() == (
    words.row_lengths().numpy().tolist()
  )


def test_the_longest_piece_wins_and_a_word_is_whole_or_unknown(tokenizer):
  assert _pieces(tokenizer, "Unbelievable tokenizations ☃") == (
    ["un", "##believ", "##able", "token", "##ization", "##s", "[UNK]"]
  )


@pytest.mark.parametrize("character", ["a", "é", "한", "😀"])
def test_a_word_of_more_than_200_characters_is_unknown(vocab_file, character):
  tokenizer = tokenizers.WordPieceTokenizer(vocab_file, do_lower_case=False)
  fits, long = character * 200, character * 201
  assert len(_pieces(tokenizer, fits)) == 200
  assert _pieces(tokenizer, f"the {long}. {long}") == (
    ["the", "[UNK]", ".", "[UNK]"]
  )


def test_an_overlong_word_is_unknown_whatever_the_vocabulary_holds(tmp_path):
  path = vocabularies.write(tmp_path, ["\ufffd", "a", "##a"])
  tokenizer = tokenizers.WordPieceTokenizer(path)
  assert _pieces(tokenizer, "a" * 201 + " \ufffda") == ["[UNK]", "a"]


def test_empty_texts_and_batches_have_no_pieces(tokenizer):
  assert tokenizer.tokenize(["", " \t\n", "\0"]).to_list() == [[], [], []]
  empty = tokenizer.tokenize(tf.constant([], tf.string))
  assert empty.to_list() == []
  ids, word_ids = tokenizer.tokenize_with_word_ids(["", ""])
  assert ids.to_list() == word_ids.to_list() == [[], []]


def test_hangul_stays_whole_only_when_composed(vocab_file):
  lowered = tokenizers.WordPieceTokenizer(vocab_file)
  composed = tokenizers.WordPieceTokenizer(vocab_file, compose_hangul=True)
  assert _pieces(composed, "한국어 Café") == (
    ["한국", "##어", "c", "##a", "##f", "##e"]
  )
  assert _pieces(lowered, "한") == ["\u1112", "##\u1161", "##\u11ab"]


def test_word_ids_tell_which_pieces_belong_together(tokenizer):
  ids, word_ids = tokenizer.tokenize_with_word_ids(
    ["", "tokenization, ☃ playing", "the"]
  )
  assert _tokens(tokenizer, ids[1].numpy()) == (
    ["token", "##ization", ",", "[UNK]", "play", "##ing"]
  )
  assert word_ids.dtype == tf.int32
  assert word_ids.to_list() == [[], [0, 0, 1, 2, 3, 3], [0]]


def test_detokenize_joins_the_pieces_of_a_word(tokenizer):
  texts = ["Hello tokenizations!", "", "un ##believ"]
  again = tokenizer.detokenize(tokenizer.tokenize(texts)).numpy().tolist()
  assert again == [b"hello tokenizations !", b"", b"un # # believ"]


def test_detokenize_leaves_out_what_frames_a_text(tokenizer):
  ids = tokenizer.vocabulary.ids
  row = [ids[t] for t in ("[CLS]", "the", "[MASK]", "##s", "[SEP]", "[PAD]")]
  texts = tokenizer.detokenize(tf.constant([row])).numpy().tolist()
  assert texts == [b"the [MASK]s"]


def test_a_token_that_cannot_be_looked_up_is_refused(tmp_path):
  path = vocabularies.write(tmp_path, ["a", "b" * 257])
  with pytest.raises(ValueError, match="vocab.txt, line 7: .* 257 bytes"):
    tokenizers.WordPieceTokenizer(path)


def test_reading_a_vocabulary_needs_neither_tensorflow_nor_its_text_ops():
  program = (
    "import sys; from keras_bert_impl.tokenizers.formats import vocabularies; "
    "sys.exit('tensorflow' in sys.modules)"
  )
  assert subprocess.run([sys.executable, "-c", program]).returncode == 0


# What this adds to the tests of SavedModels: a process without the files, in
# another locale.
@pytest.mark.slow
def test_a_saved_model_needs_no_vocabulary_file_and_no_locale(tmp_path):
  vocab_file = vocabularies.write(tmp_path)
  tokenizer = tokenizers.WordPieceTokenizer(vocab_file)
  texts = ["Hello World, TITLE İ IŞIK", "the [MASK] 한국 \u0130\u0131", ""]
  expected = tokenizer.tokenize(texts)
  _save(tokenizer, str(tmp_path / "model"))
  os.remove(vocab_file)
  # Turkish lowers I to a dotless letter, if it is asked.
  environment = os.environ | {"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8"}
  result = subprocess.run(
    [sys.executable, "-c", _SERVE, str(tmp_path / "model"), json.dumps(texts)],
    env=environment,
    capture_output=True,
    text=True,
  )
  assert result.returncode == 0, result.stderr
  answer = json.loads(result.stdout)
  assert answer["ids"] == expected.flat_values.numpy().tolist()
  assert answer["row_splits"] == expected.row_splits.numpy().tolist()
  assert answer["detokenized"] == "hello world , title i"
  assets = tmp_path / "model" / "assets" / "vocab.txt"
  assert tuple(assets.read_text().split()) == tokenizer.vocabulary.tokens


# Loads the way TensorFlow Serving does, without the project's code.
_SERVE = """
import json, sys
import tensorflow as tf
import tensorflow_text
with tf.compat.v1.Session(graph=tf.Graph()) as session:
  loaded = tf.compat.v1.saved_model.load(session, ["serve"], sys.argv[1])
  signature = loaded.signature_def["serving_default"]
  outputs = session.run(
    {name: info.name for name, info in signature.outputs.items()},
    {signature.inputs["texts"].name: json.loads(sys.argv[2])})
outputs = {name: value.tolist() for name, value in outputs.items()}
outputs["detokenized"] = outputs["detokenized"][0].decode()[:21]
print(json.dumps(outputs))
"""


def _save(tokenizer, directory):
  module = tf.Module()
  module.tokenizer = tokenizer

  @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "texts")])
  def serve(texts):
    ids = tokenizer.tokenize(texts)
    return {
      "ids": ids.flat_values,
      "row_splits": ids.row_splits,
      "detokenized": tokenizer.detokenize(ids),
    }

  tf.saved_model.save(module, directory, signatures=serve)


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


def test_a_roberta_on_a_wordpiece_vocabulary_is_framed_as_its_tokenizer_says(
  tmp_path,
):
  """The layout of klue/roberta-base."""
  vocabularies.write(tmp_path)
  settings = {"tokenizer_class": "BertTokenizer", "do_lower_case": False}
  (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
  (tmp_path / "config.json").write_text(json.dumps({"model_type": "roberta"}))
  tokenizer = tokenizers.load(tmp_path)
  pair = tokenizer("hello", "world")
  tokens = [tokenizer.vocabulary.tokens[i] for i in pair["input_ids"].numpy()]
  assert tokens[0] == "[CLS]"
  assert tokens.count("[SEP]") == 2
  assert pair["segment_ids"].numpy()[-1] == 1
