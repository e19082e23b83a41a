"""Trained models are shown texts as they read them."""

import json
import pathlib

import pytest

from keras_bert_impl.model_folders import model_files
from keras_bert_impl.visualization import viewing
from tests.model_folders import runs
from tests.visualization import test_page

DATA = pathlib.Path(__file__).parents[1] / "data"


def shown(folder, text, **options):
  """Returns the content of a text's page."""
  viewer = viewing.open_viewer(
    model_files.ModelFilesConfig(), str(folder), **options
  )
  return json.loads(test_page.stored(viewer.view(text).html, "content"))


def test_a_tagger_of_characters_sees_each_by_itself(tmp_path):
  runs.write(tmp_path, "characters")
  found = shown(tmp_path, "고양이 a")
  texts = [text for text, _, _ in found["tokens"]]
  assert texts == ["[CLS]", *"고양이a", "[SEP]"]
  labels = [label.partition(":")[0] for label, _, _ in found["predictions"]]
  assert labels == [*"고양이a"]


@pytest.mark.integration
def test_a_tagger_of_raw_text_sees_its_own_pieces():
  found = shown(DATA / "tagged/roberta", "the cat, the mat")
  texts = [text for text, _, _ in found["tokens"]]
  assert texts[1:-1] == ["the", "cat", ",", "the", "mat"]


def test_a_sentence_encoder_sees_its_prompt():
  found = shown(DATA / "sentences", "the cat", length=8)
  texts = [text for text, _, _ in found["tokens"]]
  assert texts[1:-1] == ["Query", ":", "the", "cat"]
