"""Published tokenizers have the ids of those who defined them."""

import itertools
import pathlib
import shutil

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


def _differing(made, texts, expected):
  """Returns the texts whose ids are others than expected."""
  found = made.tokenize(texts).to_list()
  rows = zip(texts, found, expected, strict=True)
  return [text for text, got, ids in rows if got != ids]


@pytest.mark.acceptance
@pytest.mark.parametrize("name", ["modernbert_base", "gpt2"])
def test_500_texts_have_the_ids_of_the_library(folder, texts, name):
  path = str(folder / name / "tokenizer.json")
  library = reference.Tokenizer.from_file(path)
  encoded = library.encode_batch(texts, add_special_tokens=False)
  ours = tokenizers.load(path)
  for made in (ours, library_tokenizer.LibraryTokenizer(path, ours.options)):
    assert not _differing(made, texts, [each.ids for each in encoded])


@pytest.mark.acceptance
def test_500_texts_have_the_ids_of_the_original_chinese_bert(folder, texts):
  ours = tokenizers.load(folder / "chinese_bert")
  text = (folder / "chinese_bert/vocab.txt").read_text("utf-8")
  tokens = [line.strip() for line in text.split("\n")[:-1]]
  made = original.ReferenceTokenizer(tokens, do_lower_case=True)
  assert ours.vocab_size == len(tokens) == 21128
  assert not _differing(ours, texts, [*map(made.tokenize, texts)])


@pytest.mark.acceptance
def test_in_a_folder_of_transformers_chinese_bert_has_its_ids(
  folder, texts, tmp_path
):
  path = str(shutil.copy(folder / "chinese_bert/vocab.txt", tmp_path))
  named = '{"tokenizer_class": "BertTokenizer"}'
  (tmp_path / "tokenizer_config.json").write_text(named)
  # As BertTokenizer of transformers 5.24 makes it.
  lines = pathlib.Path(path).read_text("utf-8").split("\n")[:-1]
  vocab = dict(zip(lines, range(len(lines)), strict=True))
  model = reference.models.WordPiece(vocab, unk_token="[UNK]")
  library = reference.Tokenizer(model)
  library.normalizer = reference.normalizers.BertNormalizer()
  library.pre_tokenizer = reference.pre_tokenizers.BertPreTokenizer()
  encoded = library.encode_batch(texts, add_special_tokens=False)
  expected = [each.ids for each in encoded]
  ours = tokenizers.load(tmp_path)
  made = library_tokenizer.LibraryTokenizer(path, ours.options)
  assert not _differing(made, texts, expected)
  # A final sigma, and characters for private use: as in the original.
  differing = _differing(ours, texts, expected)
  assert differing == [text for text in texts if {*"Σ\ue000"} & {*text}]
