"""The vocabulary that tests of writing have in common."""

import pytest

from tests.tfrecords import corpus


@pytest.fixture(name="vocab_file", scope="session")
def fixture_vocab_file(tmp_path_factory):
  return corpus.write_vocabulary(tmp_path_factory.mktemp("model"))
