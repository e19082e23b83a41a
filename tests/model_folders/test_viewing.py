"""Trained models are shown texts as they read them."""

import json

from keras_bert_impl import configs
from keras_bert_impl.model_folders import model_files, viewing
from keras_bert_impl.tasks.basics import fine_tuning
from keras_bert_impl.tasks.tags import (
  token_classification,
  token_classification_rows,
  token_classification_scores,
)
from tests.official_tasks import scripts, test_export_saved_model
from tests.visualization import test_page

SENTENCES = scripts.ROOT / "tests/data/sentences"
TAGGED = scripts.ROOT / "tests/data/tagged/roberta"
TAGS = ("B-A", "I-A", "O")


def shown(folder, text, **options):
  """Returns the content of a text's page."""
  viewer = viewing.open_viewer(
    model_files.ModelFilesConfig(), str(folder), **options
  )
  return json.loads(test_page.stored(viewer.view(text).html, "content"))


def test_a_tagger_of_characters_sees_each_by_itself(tmp_path):
  scripts.write_model_files(tmp_path)
  config = configs.EncoderConfig.from_json_file(tmp_path / "bert_config.json")
  test_export_saved_model.write_run(
    tmp_path,
    fine_tuning.FineTuning(
      token_classification_rows.TagPreprocessor(
        16, TAGS, token_unit="character"
      ),
      token_classification.TokenClassificationTask(config, TAGS),
      token_classification_scores.TagEvaluator(TAGS),
    ),
  )
  found = shown(tmp_path, "고양이 a")
  texts = [text for text, _, _ in found["tokens"]]
  assert texts == ["[CLS]", *"고양이a", "[SEP]"]
  labels = [label.partition(":")[0] for label, _, _ in found["predictions"]]
  assert labels == [*"고양이a"]


def test_a_tagger_of_raw_text_sees_its_own_pieces():
  found = shown(TAGGED, "the cat, the mat")
  texts = [text for text, _, _ in found["tokens"]]
  assert texts[1:-1] == ["the", "cat", ",", "the", "mat"]


def test_a_sentence_encoder_sees_its_prompt():
  found = shown(SENTENCES, "the cat", length=8)
  texts = [text for text, _, _ in found["tokens"]]
  assert texts[1:-1] == ["Query", ":", "the", "cat"]
