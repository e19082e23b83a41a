"""Tokenizers and checkpoints that the tests of kinds have in common."""

import pytest

from keras_bert_impl import tokenizers
from tests.estimators.conftest import fixture_checkpoint  # noqa: F401
from tests.kinds.answers.questions import TOKENS
from tests.serving.conftest import tokenizer_of  # noqa: F401
from tests.tokenizers import vocabularies


@pytest.fixture(scope="session")
def tokenizers_of_kinds(tmp_path_factory):
  """{kind: tokenizer} of the same few words."""
  writers = {
    "wordpiece": vocabularies.write,
    "byte_bpe": vocabularies.write_byte_bpe,
    "sentencepiece": vocabularies.write_sentencepiece,
  }
  return {
    kind: tokenizers.load(write(tmp_path_factory.mktemp(kind)))
    for kind, write in writers.items()
  }


@pytest.fixture(scope="session")
def tokenizer(tokenizers_of_kinds):
  """That of word pieces."""
  return tokenizers_of_kinds["wordpiece"]


@pytest.fixture(scope="session")
def wordpiece(tmp_path_factory):
  """One whose words are those of `questions`."""
  path = vocabularies.write(tmp_path_factory.mktemp("questions"), TOKENS)
  return tokenizers.load(path, do_lower_case=True)
