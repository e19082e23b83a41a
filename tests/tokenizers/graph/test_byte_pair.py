import ast
import json
import os
import pathlib
import random

import pytest
import tokenizers as library

from keras_bert_impl import tokenizers
from keras_bert_impl.tokenizers.formats import byte_alphabet
from tests.tokenizers import vocabularies

ROOT = pathlib.Path(__file__).parents[3]


@pytest.fixture(name="vocab_file", scope="module")
def _vocab_file(tmp_path_factory):
  return vocabularies.write_byte_bpe(tmp_path_factory.mktemp("vocabulary"))


@pytest.fixture(name="tokenizer", scope="module")
def _tokenizer(vocab_file):
  return tokenizers.BytePairTokenizer(vocab_file)


def test_ids_equal_those_of_roberta():
  examples = vocabularies.examples("subword.jsonl")
  tokenizer = tokenizers.BytePairTokenizer(
    os.path.join(vocabularies.DATA, "vocab/roberta/vocab.json")
  )
  texts = [example["text"] for example in examples]
  ids = tokenizer.tokenize(texts)
  for example, got in zip(examples, ids.to_list(), strict=True):
    assert got == example["roberta_bpe"], example["text"]
  decoded = tokenizer.detokenize(ids).numpy().tolist()
  assert decoded == [text.encode() for text in texts]


@pytest.mark.parametrize("add_prefix_space", [False, True])
def test_ids_equal_those_of_the_library_on_any_text(
  vocab_file, add_prefix_space
):
  merges_file = os.path.join(os.path.dirname(vocab_file), "merges.txt")
  expected = library.Tokenizer(
    library.models.BPE.from_file(vocab_file, merges_file)
  )
  expected.pre_tokenizer = library.pre_tokenizers.ByteLevel(
    add_prefix_space=add_prefix_space
  )
  tokenizer = tokenizers.BytePairTokenizer(
    vocab_file, add_prefix_space=add_prefix_space
  )
  texts = vocabularies.random_texts(
    1500,
    11,
    " \n\t\u00a0\u3000\x85\x1c\u2028",
    ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'", "'S", "'v", "l"],
    "the cat sat hello world in 19 中文 é 한 aaaa".split(),
  )
  ids = tokenizer.tokenize(texts).to_list()
  for text, got in zip(texts, ids, strict=True):
    assert got == expected.encode(text).ids, ascii(text)


WORDS = {
  "a cat": ["a", " cat"],
  "it's we'll 'tis": ["it", "'s", " we", "'ll", " '", "tis"],
  "'s'sx's": ["'s", "'s", "x", "'s"],
  "IT'S '": ["IT", "'", "S", " '"],
  "!'s": ["!'", "s"],
  "a  b": ["a", " ", " b"],
  "a \n b": ["a", " \n", " b"],
  "a \nb": ["a", " ", "\n", "b"],
  "a  ": ["a", "  "],
  "\u00a0's \u3000a": ["\u00a0", "'s", " ", "\u3000", "a"],
  "12ab ½!?": ["12", "ab", " ½", "!?"],
  "中文 x_y": ["中文", " x", "_", "y"],
}


def test_words_are_those_of_the_original_pattern(tmp_path):
  # Whatever is a token as a whole shows where words begin: no merge crosses.
  words = [word for row in WORDS.values() for word in row]
  tokenizer = tokenizers.BytePairTokenizer(
    vocabularies.write_byte_bpe(tmp_path, _merges_of(words))
  )
  ids = tokenizer.tokenize([*WORDS]).to_list()
  texts = [[tokenizer.token_texts[i].decode() for i in row] for row in ids]
  assert texts == [*WORDS.values()]


def _merges_of(words):
  """Merges that make each of the words one token, from its left to its end."""
  merges = {}
  for word in words:
    characters = _in_alphabet(word)
    for end in range(1, len(characters)):
      merges[f"{characters[:end]} {characters[end]}"] = None
  return list(merges)


def _in_alphabet(word):
  return "".join(byte_alphabet.CHARACTERS[b] for b in word.encode())


def test_the_first_merge_of_the_file_comes_first_and_from_the_left(tmp_path):
  merges = ["b c", "a b", "ab c", "x x", "xx x", "xx xx"]
  path = vocabularies.write_byte_bpe(tmp_path, merges)
  tokenizer = tokenizers.BytePairTokenizer(path)
  for text, pieces in {
    "abc ab": "a bc Ġ ab",
    "xxx": "xxx",
    "xxxxx": "xx xxx",
    "bxxxxb": "b xxxx b",
  }.items():
    assert vocabularies.pieces(tokenizer, text) == pieces.split()


def test_any_bytes_survive_encoding_and_decoding(tokenizer):
  rng = random.Random(3)
  texts = [rng.randbytes(rng.randrange(50)) for _ in range(300)]
  texts += [b"", b"\0", b"a\0b", b"\xef\xbb\xbfa", b"\xe4\xb8"]
  texts.append(bytes(range(256)))
  ids = tokenizer.tokenize(texts)
  assert tokenizer.detokenize(ids).numpy().tolist() == texts


def test_a_prefixed_blank_makes_the_first_word_like_the_others(vocab_file):
  tokenizer = tokenizers.BytePairTokenizer(vocab_file, add_prefix_space=True)
  texts = ["the cat", " the cat", "", "\nthe"]
  assert vocabularies.pieces(tokenizer, texts[0]) == ["Ġthe", "Ġcat"]
  assert vocabularies.pieces(tokenizer, texts[1]) == ["Ġthe", "Ġcat"]
  assert vocabularies.pieces(tokenizer, texts[2]) == []
  decoded = tokenizer.detokenize(tokenizer.tokenize(texts)).numpy().tolist()
  assert decoded == [b"the cat", b"the cat", b"", b"\nthe"]


def test_merges_may_stand_elsewhere_or_be_none(vocab_file, tmp_path):
  path = vocabularies.write_byte_bpe(tmp_path, [])
  tokenizer = tokenizers.BytePairTokenizer(path)
  assert vocabularies.pieces(tokenizer, "a b") == ["a", "Ġ", "b"]
  merges = pathlib.Path(vocab_file).with_name("merges.txt")
  (tmp_path / "other.txt").write_bytes(merges.read_bytes())
  tokenizer = tokenizers.BytePairTokenizer(vocab_file, tmp_path / "other.txt")
  assert vocabularies.pieces(tokenizer, " the") == ["Ġthe"]


def test_a_vocabulary_of_another_kind_is_refused(tmp_path):
  path = pathlib.Path(vocabularies.write_byte_bpe(tmp_path, []))
  ids = json.loads(path.read_text())
  ids["instead"] = ids.pop("Ġ")
  path.write_text(json.dumps(ids))
  with pytest.raises(ValueError, match="vocab.json has no token with 'Ġ'"):
    tokenizers.BytePairTokenizer(path)


def imported(module, found):
  """Adds the modules that are loaded with one of ours to the set `found`."""
  path = ROOT / f"{module.replace('.', '/')}.py"
  path = path if path.exists() else path.with_suffix("") / "__init__.py"
  if module in found or not path.exists():
    found.add(module)
    return
  found.add(module)
  for node in ast.parse(path.read_text("utf-8")).body:
    if isinstance(node, ast.Import):
      found.update(alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
      for alias in node.names:
        imported(f"{node.module}.{alias.name}", found)


@pytest.mark.parametrize(
  "module, absent",
  [
    ("graph.byte_pair", "tensorflow_text"),
    ("formats.vocabularies", "tensorflow"),
  ],
)
def test_it_imports_no_more_than_it_needs(module, absent):
  found = set()
  imported(f"keras_bert_impl.tokenizers.{module}", found)
  assert "keras_bert_impl.tokenizers.formats.characters" in found
  assert absent not in found
