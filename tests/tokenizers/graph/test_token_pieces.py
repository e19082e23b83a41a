import pytest

from keras_bert_impl import tokenizers
from keras_bert_impl.tokenizers.graph import token_pieces
from tests.tokenizers import vocabularies

WORDS = "a ab ##b ##c 한 ##국 b c ( ##( 中 ##中".split()


@pytest.fixture(scope="module")
def wordpiece(tmp_path_factory):
  folder = tmp_path_factory.mktemp("wordpiece")
  return tokenizers.load(vocabularies.write(folder, WORDS), compose_hangul=True)


def texts_of(tokenizer, tokens, unit="word"):
  [pieces] = token_pieces.tokenize(tokenizer, [tokens], unit)
  names = tokenizer.vocabulary.tokens
  return [" ".join(names[index] for index in row) for row in pieces]


@pytest.mark.parametrize(
  "tokens, unit, expected",
  [
    (
      ["ab", "abc", "a(b", "?", "\u200b", " "],
      "word",
      ["ab", "ab ##c", "a ( b", "[UNK]", "", ""],
    ),
    # Inside of a word they continue it,
    ("ab 한국 cb", "character", [*"a|##b||한|##국||c|##b".split("|")]),
    # which ends at what stands alone in text
    ("a(b", "character", ["a", "(", "b"]),
    ("a中b", "character", ["a", "中", "b"]),
    # and not at what is deleted.
    ("a\u200bb", "character", ["a", "", "##b"]),
    # Without a continuation they keep their piece.
    ("aa?", "character", ["a", "a", "[UNK]"]),
  ],
)
def test_each_token_has_its_own_pieces(wordpiece, tokens, unit, expected):
  assert texts_of(wordpiece, tokens, unit) == expected


def test_byte_level_words_have_their_blank_and_inner_characters_none(tmp_path):
  tokenizer = tokenizers.load(vocabularies.write_byte_bpe(tmp_path))
  assert texts_of(tokenizer, ["the", "cat"]) == ["Ġthe", "Ġcat"]
  found = texts_of(tokenizer, "te é", "character")
  assert found == ["Ġt", "e", "", "Ġ Ã©"]


def test_sentencepiece_words_have_their_sign_and_inner_characters_none(
  tmp_path,
):
  tokenizer = tokenizers.load(vocabularies.write_sentencepiece(tmp_path))
  for text in texts_of(tokenizer, ["the", "cat"]):
    assert text.startswith("▁")
  found = texts_of(tokenizer, "the s", "character")
  assert found[0].startswith("▁") and found[1:4] == ["h", "e", ""]
  assert found[4].startswith("▁")


def test_sentences_do_not_continue_each_other(wordpiece):
  names = wordpiece.vocabulary.tokens
  for unit, inner in (("word", "b"), ("character", "##b")):
    rows = token_pieces.tokenize(
      wordpiece, [["a"], ["b", "", "b"], [], ["b"]], unit
    )
    found = [["".join(names[i] for i in ids) for ids in row] for row in rows]
    assert found == [["a"], ["b", "", inner], [], ["b"]]
  assert token_pieces.tokenize(wordpiece, []) == []


def test_what_looks_like_a_special_token_is_text(tmp_path):
  for write in (vocabularies.write, vocabularies.write_sentencepiece):
    tokenizer = tokenizers.load(write(tmp_path))
    special = set(tokenizer.vocabulary.special_ids)
    special.remove(tokenizer.vocabulary.unk_id)
    for token in tokenizer.vocabulary.special_ids:
      token = tokenizer.vocabulary.tokens[token]
      for pieces in token_pieces.tokenize(
        tokenizer, [["a", token]], "character"
      )[0]:
        assert not special & set(pieces.tolist())
    for path in tmp_path.iterdir():
      path.unlink()
