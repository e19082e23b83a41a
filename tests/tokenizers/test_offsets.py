"""Every piece knows where it stands in the text as it was given."""

import json
import os
import pathlib

import pytest
import sentencepiece
import tensorflow as tf

from keras_bert_impl import tokenizers
from keras_bert_impl.tokenizers import offsets
from tests.tokenizers import vocabularies

ALBERT = {"do_lower_case": True, "keep_accents": False, "remove_space": True}


def _pieces(tokenizer, text):
  """Returns [(token, its slice of the text)]."""
  [found] = offsets.tokenize_with_offsets(tokenizer, [text])
  assert found.ids.tolist() == tokenizer.tokenize([text]).to_list()[0]
  tokens = tokenizer.vocabulary.tokens
  return [
    (tokens[index], text[start:end])
    for index, start, end in zip(*(field.tolist() for field in found))
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


@pytest.mark.parametrize("text", ["", " \u3000 ", "\ud800", "\x00"])
def test_texts_without_text_have_no_offsets(
  text, wordpiece, byte_pair, sentence_piece
):
  everyone = [wordpiece["uncased"], byte_pair[False], sentence_piece["plain"]]
  for tokenizer in everyone:
    empty, full = offsets.tokenize_with_offsets(tokenizer, [text, "the"])
    assert len(empty.starts) == len(empty.ends) == len(empty.ids)
    assert full.starts[0] == 0
    assert full.ends[-1] == 3
  assert offsets.tokenize_with_offsets(wordpiece["cased"], []) == []


def test_half_a_character_counts_as_one(wordpiece, byte_pair, sentence_piece):
  for tokenizer in (
    wordpiece["cased"],
    byte_pair[True],
    sentence_piece["plain"],
  ):
    [found] = offsets.tokenize_with_offsets(tokenizer, ["\ud83d the"])
    assert found.ends[-1] == 5


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


def _groups(found):
  """Yields (first, last) of runs of pieces whose characters overlap."""
  first = 0
  for index in range(1, len(found.ids) + 1):
    if (
      index == len(found.ids)
      or found.starts[index] >= found.ends[first:index].max()
    ):
      yield first, index
      first = index


@pytest.mark.parametrize(
  "name",
  [
    "composed",
    "roberta",
    "albert",
    *(
      pytest.param(name, marks=pytest.mark.slow)
      for name in ("uncased", "cased", "multilingual", "xlnet")
    ),
  ],
)
def test_slices_of_real_text_normalise_to_their_pieces(name):
  folder = os.environ.get("KERAS_BERT_DATA")
  if not folder:
    pytest.skip("KERAS_BERT_DATA is not set")
  folder = pathlib.Path(folder)
  file, options = TOKENIZERS[name]
  tokenizer = tokenizers.load(str(folder / "vocab" / file), **options)
  texts = _real_texts(folder)
  tokens = tokenizer.token_texts
  unknown = tokenizer.vocabulary.role_ids.get("unk")
  expected, slices = [], []
  for text, found in zip(
    texts, offsets.tokenize_with_offsets(tokenizer, texts)
  ):
    assert (found.starts[1:] >= found.starts[:-1]).all()
    assert (found.ends[1:] >= found.ends[:-1]).all()
    assert (found.ends >= found.starts).all()
    for first, last in _groups(found):
      ids = found.ids[first:last].tolist()
      slice = text[found.starts[first] : found.ends[last - 1]]
      if unknown in ids:
        assert slice.strip()
        continue
      content = b"".join(tokens[index] for index in ids)
      if tokenizer.vocabulary.kind == "wordpiece":
        content = content.removeprefix(b"##").replace(b"##", b"")
      expected.append(content.replace(b" ", b""))
      slices.append(slice)
  assert len(slices) > 100_000
  wrong = [
    (slice, content, normalized)
    for slice, content, normalized in zip(
      slices, expected, _normalized(tokenizer, slices)
    )
    if normalized != content
  ]
  assert not wrong, (len(wrong), wrong[:20])
