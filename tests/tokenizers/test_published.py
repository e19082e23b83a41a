"""Published tokenizers have the ids of those who defined them."""

import itertools
import pathlib

import pytest
import tokenizers as reference

from keras_bert_impl import tokenizers
from keras_bert_impl.tokenizers import library_tokenizer
from tests.tokenizers import reference as original
from tests.tokenizers import vocabularies


@pytest.fixture(name="folder", scope="module")
def _folder():
  if not vocabularies.DATA:
    pytest.skip("KERAS_BERT_DATA is not set")
  return pathlib.Path(vocabularies.DATA) / "real_tokenizers"


@pytest.fixture(name="texts", scope="module")
def _texts(folder):
  """Texts of many scripts, Korean lines and lines of books."""
  data = folder.parent
  files = ("wordpiece.jsonl", "subword.jsonl")
  odd = [case["text"] for name in files for case in vocabularies.examples(name)]
  korean = data / "text/korean/rust_book_ko.txt"
  books = sorted((data / "text/gutenberg").glob("*.txt"))
  lines = [
    line
    for path in (korean, *books)
    for line in itertools.islice(path.open(encoding="utf-8-sig"), 500)
    if line.strip()
  ]
  texts = list(dict.fromkeys(odd))[:250] + lines[:: len(lines) // 250]
  return texts[:500]


def _check(made, texts, expected):
  found = made.tokenize(texts).to_list()
  differ = [
    text
    for text, got, ids in zip(texts, found, expected, strict=True)
    if got != ids
  ]
  assert not differ


@pytest.mark.acceptance
@pytest.mark.parametrize("name", ["modernbert_base", "gpt2"])
def test_500_texts_have_the_ids_of_the_library(folder, texts, name):
  path = str(folder / name / "tokenizer.json")
  library = reference.Tokenizer.from_file(path)
  encoded = library.encode_batch(texts, add_special_tokens=False)
  ours = tokenizers.load(path)
  for made in (ours, library_tokenizer.LibraryTokenizer(path, ours.options)):
    _check(made, texts, [each.ids for each in encoded])


@pytest.mark.acceptance
def test_500_texts_have_the_ids_of_the_original_chinese_bert(folder, texts):
  ours = tokenizers.load(folder / "chinese_bert")
  lines = (folder / "chinese_bert/vocab.txt").read_bytes().split(b"\n")
  tokens = [line.decode().strip() for line in lines[:-1]]
  made = original.ReferenceTokenizer(tokens, do_lower_case=True)
  assert ours.vocab_size == len(tokens) == 21128
  _check(ours, texts, [*map(made.tokenize, texts)])
