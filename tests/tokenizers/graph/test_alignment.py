"""Every piece knows where it stands in the text as it was given."""

import json
import os
import pathlib

import numpy as np
import pytest
import sentencepiece
import tensorflow as tf

from keras_bert_impl import tokenizers
from keras_bert_impl.tokenizers.graph import alignment
from tests.tokenizers import vocabularies

ALBERT = {"do_lower_case": True, "keep_accents": False, "remove_space": True}


def _pieces(tokenizer, text):
  """Returns [(token, its slice of the text)]."""
  found = tokenizer.tokenize_with_offsets([text])
  assert found[0].to_list() == tokenizer.tokenize([text]).to_list()
  tokens = tokenizer.vocabulary.tokens
  return [
    (tokens[index], text[start:end])
    for index, start, end in zip(*(rows.to_list()[0] for rows in found))
  ]


@pytest.fixture(scope="module")
def wordpiece(tmp_path_factory):
  path = vocabularies.write(tmp_path_factory.mktemp("wordpiece"))
  return {
    "uncased": tokenizers.load(path, do_lower_case=True),
    "cased": tokenizers.load(path, do_lower_case=False),
    "korean": tokenizers.load(path, do_lower_case=True, compose_hangul=True),
  }


@pytest.fixture(scope="module")
def byte_pair(tmp_path_factory):
  path = vocabularies.write_byte_bpe(tmp_path_factory.mktemp("bpe"))
  return {p: tokenizers.load(path, add_prefix_space=p) for p in (False, True)}


@pytest.fixture(scope="module")
def sentence_piece(tmp_path_factory):
  path = vocabularies.write_sentencepiece(tmp_path_factory.mktemp("spm"))
  return {
    "plain": tokenizers.load(path),
    "albert": tokenizers.load(path, **ALBERT, split_digit_commas=True),
  }


def test_blanks_case_and_punctuation_do_not_count(wordpiece):
  assert _pieces(wordpiece["uncased"], "  Hello,\tUNbelievable\u3000") == [
    ("hello", "Hello"),
    (",", ","),
    ("un", "UN"),
    ("##believ", "believ"),
    ("##able", "able"),
  ]


def test_a_piece_has_the_accents_of_its_characters(wordpiece):
  text = "NAi\u0308VE caf\u00e9 xi\u0308."
  assert _pieces(wordpiece["uncased"], text) == [
    ("naive", "NAi\u0308VE"),
    *(("c", "c"), ("##a", "a"), ("##f", "f"), ("##e", "\u00e9")),
    ("x", "x"),
    ("##i", "i\u0308"),
    (".", "."),
  ]
  # Where accents stay, they may be pieces of their own.
  assert _pieces(wordpiece["cased"], "ao\u0301") == [
    ("a", "a"),
    ("##o", "o"),
    ("##\u0301", "\u0301"),
  ]


def test_deleted_characters_belong_to_the_piece_around_them(wordpiece):
  assert _pieces(wordpiece["uncased"], "\x00wo\u200brld\x07 \ufeffthe") == [
    ("world", "wo\u200brld"),
    ("the", "the"),
  ]


@pytest.mark.parametrize("deleted", ["\0", "\u200b", "\U000e0001"])
def test_long_runs_of_deleted_characters_take_no_longer(wordpiece, deleted):
  run = deleted * 20_000
  # Twenty runs, of which each took seconds when it took the square of itself.
  text = f"{run}hello{run} e{run}\u0301" + f" a {run}" * 17
  assert _pieces(wordpiece["uncased"], text) == [
    ("hello", "hello"),
    ("e", f"e{run}\u0301"),
    *[("a", "a")] * 17,
  ]


def test_an_unknown_word_is_all_of_the_word(wordpiece):
  unknown = "\u2603x\u2603"
  text = f"the {unknown}, ({unknown}) {'y' * 201}! {unknown}"
  assert _pieces(wordpiece["uncased"], text) == [
    ("the", "the"),
    ("[UNK]", unknown),
    (",", ","),
    ("(", "("),
    ("[UNK]", unknown),
    (")", ")"),
    ("[UNK]", "y" * 201),
    ("!", "!"),
    ("[UNK]", unknown),
  ]


def test_what_looks_like_a_special_token_is_text(wordpiece):
  assert _pieces(wordpiece["uncased"], "[MASK]x") == [
    ("[", "["),
    ("mask", "MASK"),
    ("]", "]"),
    ("x", "x"),
  ]


def test_hangul_is_found_whole_and_in_jamo(wordpiece):
  decomposed = "\u1112\u1161\u11ab\u1100\u116e\u11a8"  # the same two syllables
  assert _pieces(wordpiece["korean"], f"한국어 a{decomposed}x") == [
    ("한국", "한국"),
    ("##어", "어"),
    ("a", "a"),
    ("##한", decomposed[:3]),
    ("##국", decomposed[3:]),
    ("##x", "x"),
  ]
  jamo = _pieces(wordpiece["uncased"], "한국")
  assert [slice for _, slice in jamo] == ["한"] * 3 + ["국"] * 3


def test_ideographs_are_found_one_by_one(wordpiece):
  assert _pieces(wordpiece["cased"], "x中国語y") == [
    (token, token) for token in "x中国語y"
  ]


def test_a_letter_that_depends_on_its_neighbours_is_found(wordpiece):
  # The sigma at the end of a word is another letter.
  assert _pieces(wordpiece["uncased"], "AΣ, ΣA") == [
    ("a", "A"),
    ("##ς", "Σ"),
    (",", ","),
    ("σ", "Σ"),
    ("##a", "A"),
  ]


def test_bytes_are_given_their_characters(byte_pair):
  assert _pieces(byte_pair[False], "the the 中x") == [
    ("t", "t"),
    ("he", "he"),
    ("Ġthe", "the"),
    ("Ġ", " "),
    ("ä¸Ń", "中"),
    ("x", "x"),
  ]
  # Each of the bytes of a character has all of it.
  assert [slice for _, slice in _pieces(byte_pair[False], "😀é")] == [
    *("😀" * 4),
    "é",
  ]


def test_a_blank_put_before_the_text_takes_no_place(byte_pair):
  assert _pieces(byte_pair[True], "the world") == [
    ("Ġthe", "the"),
    ("Ġworld", "world"),
  ]
  assert _pieces(byte_pair[True], " the") == [("Ġthe", "the")]
  assert _pieces(byte_pair[True], "\nx") == [("Ġ", ""), ("Ċ", "\n"), ("x", "x")]


def test_sentence_pieces_are_found_in_what_was_composed(sentence_piece):
  found = _pieces(sentence_piece["plain"], "Tｈe  ｏﬃ e\u0301")
  assert "".join(slice for _, slice in found) == "Tｈeｏﬃﬃﬃe\u0301"
  assert found[-1][1] == "e\u0301"


def test_an_unknown_sentence_piece_is_what_its_neighbours_leave(sentence_piece):
  plain = sentence_piece["plain"]
  found = _pieces(plain, "The ☃☃cat\u2603 ☃ sat")
  assert [s for token, s in found if token == "<unk>"] == ["☃☃", "☃", "☃"]
  assert "".join(s for _, s in found) == "The☃☃cat☃☃sat"


def test_a_control_character_that_stays_is_no_blank(sentence_piece):
  pieces = _pieces(sentence_piece["plain"], "\x85 the \x85 the")
  found = [text for _, text in pieces if text]
  assert found == ["\x85", "the", "\x85", "the"]


def test_quotes_of_two_characters_become_one_piece(sentence_piece):
  found = _pieces(sentence_piece["albert"], "the ``Cat'' sat, 1,987,")
  assert "".join(s for _, s in found) == "the``Cat''sat,1,987,"
  assert "``" in [s for _, s in found]


def test_letters_of_hangul_are_found_in_what_they_become(sentence_piece):
  found = _pieces(sentence_piece["plain"], "the ㅎㅏㅋㅋ. ㅠㅠ.")
  assert "".join(dict.fromkeys(s for _, s in found if s)) == "theㅎㅏㅋㅋ.ㅠㅠ"


def test_pieces_of_bytes_have_all_of_their_character(tmp_path):
  path = vocabularies.write_sentencepiece(tmp_path, byte_fallback=True)
  found = _pieces(tokenizers.load(path), "☃x 中")
  assert [s for _, s in found if s] == ["☃"] * 3 + ["x"] + ["中"] * 3


@pytest.mark.parametrize("text", ["", " \u3000 ", b"\xed\xa0\x80", "\x00"])
def test_texts_without_text_have_no_offsets(
  text, wordpiece, byte_pair, sentence_piece
):
  everyone = [wordpiece["uncased"], byte_pair[False], sentence_piece["plain"]]
  for tokenizer in everyone:
    ids, starts, ends = tokenizer.tokenize_with_offsets([text, "the"])
    for rows in (starts, ends):
      np.testing.assert_array_equal(rows.row_splits, ids.row_splits)
      assert rows.dtype == tf.int32
    assert starts[1][0] == 0
    assert ends[1][-1] == 3
    for rows in tokenizer.tokenize_with_offsets([]):
      assert rows.to_list() == []


def test_bytes_that_are_no_text_do_not_count(
  wordpiece, byte_pair, sentence_piece
):
  for tokenizer in (
    wordpiece["cased"],
    byte_pair[True],
    sentence_piece["plain"],
  ):
    _, starts, ends = tokenizer.tokenize_with_offsets([b"\xed\xa0\xbd\xff the"])
    assert starts[0][-1] >= 1
    assert ends[0][-1] == 4


def test_units_that_do_not_add_up_are_one_up_to_the_next_blank():
  # Alone, each character becomes nothing; together, "xyz".
  units = alignment.units_of(
    tf.constant(["ab cd"]),
    "(?s).",
    lambda texts: tf.where(tf.strings.length(texts) > 1, "xyz", ""),
  )
  assert units.to_list() == [[[3, 2], [0, 1], [3, 2], [0, 1]]]


def test_pieces_out_of_range_end_with_the_text():
  units = tf.ragged.constant([[[1, 1], [0, 1]], [], [[2, 1]]], inner_shape=(2,))
  begins = tf.ragged.constant([[-3, 1, 7], [0, 5], [1]])
  stops = tf.ragged.constant([[9, 4, 8], [1, 6], [3]])
  starts, ends = alignment.to_characters(begins, stops, units)
  assert starts.to_list() == [[0, 1, 1], [0, 0], [0]]
  assert ends.to_list() == [[1, 1, 1], [0, 0], [1]]


TOKENIZERS = {
  "uncased": ("google_uncased/vocab.txt", {"do_lower_case": True}),
  "cased": ("google_cased/vocab.txt", {"do_lower_case": False}),
  "multilingual": ("google_multi_cased/vocab.txt", {"do_lower_case": False}),
  "composed": (
    "google_multi_cased/vocab.txt",
    {"do_lower_case": True, "compose_hangul": True},
  ),
  "roberta": ("roberta/vocab.json", {}),
  "xlnet": ("xlnet/spiece.model", {}),
  "albert": (
    "albert_vi_30k/30k-clean.model",
    {**ALBERT, "split_digit_commas": True},
  ),
}


def _real_texts(folder):
  texts = []
  for language in ("en", "de"):
    path = folder / "tasks/xquad" / f"xquad.{language}.json"
    data = json.loads(path.read_text(encoding="utf-8"))["data"]
    texts += [p["context"] for entry in data for p in entry["paragraphs"]]
  korean = (folder / "text/korean/rust_book_ko.txt").read_text("utf-8")
  return texts + korean.split("\n")[:3000]


def _normalized(tokenizer, slices):
  """Returns bytes of slices as pieces are looked up in them, without blanks."""
  normalized = tokenizer.normalize(tf.constant(slices)).numpy().tolist()
  if tokenizer.vocabulary.kind == "sentencepiece":
    model = sentencepiece.SentencePieceProcessor(
      model_proto=tokenizer.vocabulary.model
    )
    texts = model.normalize([text.decode() for text in normalized])
    normalized = [text.replace("▁", " ").encode() for text in texts]
  return [text.replace(b" ", b"") for text in normalized]


def _groups(starts, ends):
  """Yields (first, last) of runs of pieces whose characters overlap."""
  first = 0
  for index in range(1, len(starts) + 1):
    if index == len(starts) or starts[index] >= ends[first:index].max():
      yield first, index
      first = index


@pytest.mark.parametrize(
  "name, share",
  [
    *((name, 20) for name in ("composed", "roberta", "albert")),
    # All of the text, and every vocabulary.
    *(pytest.param(name, 1, marks=pytest.mark.slow) for name in TOKENIZERS),
  ],
)
def test_slices_of_real_text_normalise_to_their_pieces(name, share):
  folder = os.environ.get("KERAS_BERT_DATA")
  if not folder:
    pytest.skip("KERAS_BERT_DATA is not set")
  folder = pathlib.Path(folder)
  file, options = TOKENIZERS[name]
  tokenizer = tokenizers.load(str(folder / "vocab" / file), **options)
  texts = _real_texts(folder)[::share]
  tokens = tokenizer.token_texts
  unknown = tokenizer.vocabulary.role_ids.get("unk")
  expected, slices = [], []
  for text, ids, starts, ends in zip(
    texts,
    *(rows.to_list() for rows in tokenizer.tokenize_with_offsets(texts)),
    strict=True,
  ):
    starts, ends = np.array(starts, int), np.array(ends, int)
    assert (starts[1:] >= starts[:-1]).all()
    assert (ends[1:] >= ends[:-1]).all()
    assert (ends >= starts).all()
    for first, last in _groups(starts, ends):
      pieces = ids[first:last]
      slice = text[starts[first] : ends[last - 1]]
      if unknown in pieces:
        assert slice.strip()
        continue
      content = b"".join(tokens[index] for index in pieces)
      if tokenizer.vocabulary.kind == "wordpiece":
        content = content.removeprefix(b"##").replace(b"##", b"")
      expected.append(content.replace(b" ", b""))
      slices.append(slice)
  assert len(slices) > 100_000 // share
  wrong = [
    (slice, content, normalized)
    for slice, content, normalized in zip(
      slices, expected, _normalized(tokenizer, slices)
    )
    if normalized != content
  ]
  assert not wrong, (len(wrong), wrong[:20])
