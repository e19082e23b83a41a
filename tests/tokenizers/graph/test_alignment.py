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
def made(tmp_path_factory):
  """Returns {name: tokenizer}."""
  words, pairs, pieces = (
    vocabularies.WRITERS[kind](tmp_path_factory.mktemp(kind))
    for kind in ("wordpiece", "byte_bpe", "sentencepiece")
  )
  return {
    "uncased": tokenizers.load(words, do_lower_case=True),
    "cased": tokenizers.load(words, do_lower_case=False),
    "korean": tokenizers.load(words, compose_hangul=True),
    "bytes": tokenizers.load(pairs),
    "prefixed": tokenizers.load(pairs, add_prefix_space=True),
    "plain": tokenizers.load(pieces),
    "albert": tokenizers.load(pieces, **ALBERT, split_digit_commas=True),
  }


# A long run of deleted characters: each took seconds when the time grew with
# the square of its length.
RUN = "\u200b" * 20_000
DECOMPOSED = "\u1112\u1161\u11ab\u1100\u116e\u11a8"  # 한국
UNKNOWN = "\u2603x\u2603"
# What looks like a special token is text.
SPECIAL = "[MASK]x"


def same(text):
  return [(piece, piece) for piece in text.split()]


@pytest.mark.parametrize(
  "kind, text, pieces",
  [
    (
      "uncased",
      "  Hello,\tUNbelievable\u3000",
      [
        *(("hello", "Hello"), (",", ",")),
        *(("un", "UN"), ("##believ", "believ"), ("##able", "able")),
      ],
    ),
    (
      "uncased",
      "NAi\u0308VE caf\u00e9 xi\u0308.",
      [
        ("naive", "NAi\u0308VE"),
        *(("c", "c"), ("##a", "a"), ("##f", "f"), ("##e", "\u00e9")),
        *(("x", "x"), ("##i", "i\u0308"), (".", ".")),
      ],
    ),
    # Where accents stay, they may be pieces of their own.
    (
      "cased",
      "ao\u0301",
      [("a", "a"), ("##o", "o"), ("##\u0301", "\u0301")],
    ),
    (
      "uncased",
      "\x00wo\u200brld\x07 \ufeffthe",
      [("world", "wo\u200brld"), ("the", "the")],
    ),
    (
      "uncased",
      f"{RUN}hello{RUN} e{RUN}\u0301" + f" a {RUN}" * 17,
      [("hello", "hello"), ("e", f"e{RUN}\u0301"), *[("a", "a")] * 17],
    ),
    (
      "uncased",
      f"the {UNKNOWN}, ({UNKNOWN}) {'y' * 201}! {UNKNOWN}",
      [
        *(("the", "the"), ("[UNK]", UNKNOWN), (",", ",")),
        *(("(", "("), ("[UNK]", UNKNOWN), (")", ")")),
        *(("[UNK]", "y" * 201), ("!", "!"), ("[UNK]", UNKNOWN)),
      ],
    ),
    (
      "uncased",
      SPECIAL,
      [("[", "["), ("mask", "MASK"), ("]", "]"), ("x", "x")],
    ),
    (
      "korean",
      f"한국어 a{DECOMPOSED}x",
      [
        *(("한국", "한국"), ("##어", "어"), ("a", "a")),
        *(("##한", DECOMPOSED[:3]), ("##국", DECOMPOSED[3:]), ("##x", "x")),
      ],
    ),
    (
      "uncased",
      "한국",
      [
        (f"{'##' if place else ''}{letter}", "한국"[place // 3])
        for place, letter in enumerate(DECOMPOSED)
      ],
    ),
    ("cased", "x中国語y", same("x 中 国 語 y")),
    # The sigma at the end of a word is another letter.
    (
      "uncased",
      "AΣ, ΣA",
      [("a", "A"), ("##ς", "Σ"), (",", ","), ("σ", "Σ"), ("##a", "A")],
    ),
    (
      "bytes",
      "the the 中x",
      [
        *(("t", "t"), ("he", "he"), ("Ġthe", "the")),
        *(("Ġ", " "), ("ä¸Ń", "中"), ("x", "x")),
      ],
    ),
    # Each of the bytes of a character has all of it.
    ("bytes", "😀é", [*((c, "😀") for c in "ðŁĺĢ"), ("Ã©", "é")]),
    # A blank that is put before the text takes no place.
    ("prefixed", "the world", [("Ġthe", "the"), ("Ġworld", "world")]),
    ("prefixed", " the", [("Ġthe", "the")]),
    ("prefixed", "\nx", [("Ġ", ""), ("Ċ", "\n"), ("x", "x")]),
  ],
)
def test_pieces_have_their_slices_of_the_text(made, kind, text, pieces):
  assert _pieces(made[kind], text) == pieces


@pytest.mark.parametrize(
  "kind, text, joined, unknown",
  [
    # Composed, decomposed and full-width characters.
    ("plain", "Tｈe  ｏﬃ e\u0301", "Tｈeｏﬃﬃﬃe\u0301", []),
    # What is unknown is what its neighbours leave.
    ("plain", "The ☃☃cat☃ ☃ sat", "The☃☃cat☃☃sat", ["☃☃", "☃", "☃"]),
    # A control character that stays is no blank.
    ("plain", "\x85 the \x85 the", "\x85the\x85the", ["\x85", "\x85"]),
    # Two characters become one.
    ("albert", "``The'' sat, 1,987,", "``The''sat,1,987,", ["``", "''"]),
  ],
)
def test_slices_of_sentence_pieces_make_up_the_text(
  made, kind, text, joined, unknown
):
  found = _pieces(made[kind], text)
  assert "".join(slice for _, slice in found) == joined
  assert [s for token, s in found if token == "<unk>"] == unknown


def test_letters_of_hangul_are_found_in_what_they_become(made):
  found = _pieces(made["plain"], "the ㅎㅏㅋㅋ. ㅠㅠ.")
  assert "".join(dict.fromkeys(s for _, s in found if s)) == "theㅎㅏㅋㅋ.ㅠㅠ"


def test_pieces_of_bytes_have_all_of_their_character(tmp_path):
  path = vocabularies.write_sentencepiece(tmp_path, byte_fallback=True)
  found = _pieces(tokenizers.load(path), "☃x 中")
  assert [s for _, s in found if s] == ["☃"] * 3 + ["x"] + ["中"] * 3


@pytest.mark.parametrize("kind", ["uncased", "bytes", "plain"])
def test_texts_without_text_have_no_offsets(made, kind):
  empty = ["", " \u3000 ", b"\xed\xa0\x80", "\x00"]
  ids, starts, ends = made[kind].tokenize_with_offsets([*empty, "the"])
  for rows in (starts, ends):
    np.testing.assert_array_equal(rows.row_splits, ids.row_splits)
    assert rows.dtype == tf.int32
  assert (starts[-1][0], ends[-1][-1]) == (0, 3)
  for rows in made[kind].tokenize_with_offsets([]):
    assert rows.to_list() == []


@pytest.mark.parametrize("kind", ["cased", "prefixed", "plain"])
def test_bytes_that_are_no_text_do_not_count(made, kind):
  text = b"\xed\xa0\xbd\xff the"
  _, starts, ends = made[kind].tokenize_with_offsets([text])
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


@pytest.mark.integration
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
