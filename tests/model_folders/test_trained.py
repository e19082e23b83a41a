"""What a run has left says what its model is for, or why it cannot."""

import json
import pathlib

import pytest

from keras_bert_impl import configs, kinds, models
from keras_bert_impl.checkpoints.formats import tf_format
from keras_bert_impl.kinds import opening
from keras_bert_impl.kinds.tags import tag_kind
from keras_bert_impl.model_folders import task_file, trained_models


@pytest.mark.parametrize(
  "content, message",
  [
    ({"max_seq_length": "128"}, "max_seq_length in .*task.json .* an integer"),
    ({"labels": "yes,no"}, "labels in .*task.json must be a list"),
    ({"labels": ["yes", 1]}, "each of labels in .*task.json must be a text"),
    (
      {"head": "token_classification", "labels": None},
      "labels .None. in .*task.json must be the names",
    ),
    ({"bilstm_width": 10**9}, "bilstm_width .10{9}. must be .*task.json"),
    ({"num_choices": 0}, "num_choices .0. must be .*task.json"),
    ([], "task.json must be an object"),
  ],
)
def test_a_task_of_other_types_is_refused(tmp_path, content, message):
  (tmp_path / "task.json").write_text(json.dumps(content))
  with pytest.raises(ValueError, match=message):
    task_file.read(tmp_path, kinds.all_kinds())


@pytest.mark.parametrize(
  "task, trained_on",
  [
    ({}, "words"),
    ({"token_unit": "word"}, "words"),
    ({"token_unit": "character"}, "characters"),
    ({"token_unit": "word", "trained_on": "text"}, "text"),
  ],
)
def test_a_tagger_of_before_was_trained_on_given_tokens(
  tmp_path, task, trained_on
):
  task = {"head": "token_classification", **task}
  (tmp_path / "task.json").write_text(json.dumps(task))
  assert found_options(tmp_path)["trained_on"] == trained_on


def found_options(folder):
  task = task_file.read(folder, kinds.all_kinds())
  task_class = tag_kind.KIND.tasks[task["head"]]
  return task_class.found_options({}, {}, task)


def test_a_tagger_trained_on_something_else_is_refused(tmp_path):
  task = {"head": "token_classification", "trained_on": "lines"}
  (tmp_path / "task.json").write_text(json.dumps(task))
  with pytest.raises(ValueError, match="'lines'. must be one of text, words"):
    found_options(tmp_path)


def test_a_head_that_is_not_known_is_refused(tmp_path):
  write_encoder(tmp_path)
  (tmp_path / "task.json").write_text('{"head": "tail"}')
  with pytest.raises(ValueError, match="head .'tail'. in .*must be one of"):
    opening.load(str(tmp_path))


def write_encoder(folder):
  config = configs.EncoderConfig(20, 8, 1, 2, 16, max_position_embeddings=8)
  model = models.TransformerEncoder(config)
  (folder / "bert_config.json").write_text(json.dumps(config.to_dict()))
  weights = {weight.path: weight for weight in model.weights}
  tf_format.write(folder / "model.ckpt-1", weights)


def test_a_folder_without_a_run_has_no_task(tmp_path):
  assert task_file.read(tmp_path) == {}
  assert trained_models.find_folder(str(tmp_path)) == str(tmp_path)


def test_the_best_run_of_a_search_has_a_name(tmp_path):
  results = tmp_path / "results.json"
  results.write_text('{"best": {"name": "seed=2"}}')
  folder = trained_models.find_folder(str(tmp_path))
  assert folder == str(tmp_path / "runs" / "seed=2")
  results.write_text('{"best": {"name": 2}}')
  with pytest.raises(ValueError, match="name in best in .*results.json"):
    trained_models.find_folder(str(tmp_path))


def test_a_beam_of_answers_answers_questions():
  parity = pathlib.Path(__file__).parents[1] / "data/parity"
  trained = opening.load(str(parity / "xlnet_answer_beam"))
  assert trained.head == "question_answering"
  assert isinstance(trained.model, models.AnswerBeam)
  config = trained.model.get_config()
  assert (config["start_n_top"], config["end_n_top"]) == (3, 4)
  encoder = opening.load(str(parity / "xlnet_answer_beam"), "encoder")
  assert isinstance(encoder.model, models.XLNetEncoder)
  with pytest.raises(ValueError, match="give one of encoder, question_answer"):
    opening.load(str(parity / "xlnet_answer_beam"), "fill_mask")
