"""Folders of the small models."""

import functools

import pytest

from tests.kinds.generation import small_models


@pytest.fixture(name="folder_of", scope="session")
def fixture_folder_of(tmp_path_factory):
  """Returns a function from a name of `small_models` to its folder."""

  @functools.cache
  def make(name):
    return small_models.make(name, tmp_path_factory.mktemp(name) / "model")

  return make


@pytest.fixture(name="gpt")
def fixture_gpt(folder_of):
  return folder_of("gpt")


@pytest.fixture(name="t5")
def fixture_t5(folder_of):
  return folder_of("t5")
