"""--init_checkpoint: from any format, and what is said about it."""

import dataclasses
import pathlib

import numpy as np
import pytest

from keras_bert_impl import configs, heads, models
from keras_bert_impl.checkpoints import writing
from keras_bert_impl.checkpoints.descriptions import description
from keras_bert_impl.checkpoints.naming import mappings
from keras_bert_impl.tokenizers.formats import vocabularies
from tests.official_tasks import scripts
from tests.official_tasks.test_run_pretraining import (
  final_state,
  flags,
  write_data,
)

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module", name="data")
def fixture_data(tmp_path_factory):
  return write_data(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module", name="model")
def fixture_model(data):
  config = configs.EncoderConfig.from_json_file(data / "bert_config.json")
  return models.PretrainingModel(config)


def write_safetensors(folder, model, head, **changes):
  """Writes the encoder of `model`, or all of it, as transformers would."""
  tensors = mappings.Arrays({weight.path: weight for weight in model.weights})
  config = dataclasses.replace(model.config, **changes)
  folder.mkdir(exist_ok=True)
  writing.write_safetensors(
    folder, tensors, description.Description(config, head), 10**9
  )
  return folder


@pytest.fixture(scope="module", name="folder")
def fixture_folder(data, model, tmp_path_factory):
  """Folder of checkpoints to start from, and of the folders of runs."""
  folder = tmp_path_factory.mktemp("checkpoints")
  write_safetensors(folder / "whole", model, heads.PRETRAINING)
  other = write_safetensors(
    folder / "other", model, heads.ENCODER, num_attention_heads=4
  )
  tokens = vocabularies.Vocabulary.load(data / "vocab.txt").tokens
  swapped = (*tokens[:-2], tokens[-1], tokens[-2])
  vocabularies.Vocabulary(swapped).save(other / "vocab.txt")
  return folder


@pytest.fixture(scope="module", name="outcomes")
def fixture_outcomes(data, folder):
  """{checkpoint or run: (status, stdout, stderr)}, in runs/ of the folder."""
  paths = {"whole": "whole", "other": "other", "part": "other"}
  return scripts.run_all(
    "run_pretraining",
    {
      # The rate of the first step is zero: what is saved is what was loaded.
      name: flags(
        data,
        folder / "runs" / name,
        init_checkpoint=folder / path,
        num_train_steps=1,
        num_warmup_steps=1,
        allow_partial=name == "part",
      )
      for name, path in paths.items()
    },
  )


def check_loaded(outcomes, folder, name, weights):
  """Checks that a run has started from weights; returns its state and log."""
  status, _, err = outcomes[name]
  assert status == 0, err
  state = final_state(folder / "runs" / name, step=1)
  for weight in weights:
    np.testing.assert_array_equal(state[weight.path], weight, weight.path)
  return state, err


def test_safetensors_start_a_run_and_all_is_said_of_them(
  outcomes, folder, model
):
  _, err = check_loaded(outcomes, folder, "whole", model.weights)
  expected = f"{len(model.weights)} loaded; 0 new; 0 left over."
  assert f"{folder}/whole/model.safetensors: {expected}" in err
  assert "Unlike in" not in err and "The vocabulary of this" not in err


def test_heads_that_are_missing_stop_a_run_unless_a_part_is_enough(
  outcomes, folder, model
):
  refused, _, err = outcomes["other"]
  assert refused == 1
  line = scripts.error_line(err)
  of_heads = [w.path for w in model.weights if w.path.startswith("cls/")]
  assert len(of_heads) == 7
  assert all(f"{path} is missing" in line for path in of_heads)
  assert "--allow_partial" in line
  assert not (folder / "runs/other").exists()
  state, err = check_loaded(outcomes, folder, "part", model.encoder.weights)
  assert set(of_heads) <= set(state)
  # Other heads of attention and another vocabulary do not pass silently.
  assert "num_attention_heads is 2, not 4" in err
  assert "The vocabulary of this run is not the one beside" in err


def test_weights_of_other_programs_are_scored_on_raw_text(data, tmp_path):
  preset = pathlib.Path(__file__).parents[1] / "data/keras_hub/bert_masked_lm"
  usual = {"do_eval": True, "eval_text_file": data / "text.txt"}
  hub = usual | {"init_checkpoint": preset, "max_seq_length": 12}
  commands = {
    "hub": hub,
    "no weights": usual,
    "no text": hub | {"eval_text_file": tmp_path / "none.txt"},
    "short text": hub | {"eval_text_file": tmp_path / "short.txt"},
  }
  (tmp_path / "short.txt").write_text("A cat.\n")
  outcomes = scripts.run_all(
    "run_pretraining",
    {k: x | {"output_dir": tmp_path / k} for k, x in commands.items()},
  )
  status, out, err = outcomes["hub"]
  assert status == 0, err
  found = scripts.results(tmp_path / "hub")["eval"]["standard"]
  assert f"{found['bits_per_byte']:.3f}" in out
  assert f"{found['bits_per_byte']:.3f}" in scripts.report(tmp_path / "hub")
  for name, words in (
    ("no weights", "give --init_checkpoint"),
    ("no text", "none.txt"),
    ("short text", "must fill a row of max_seq_length (12)"),
  ):
    status, _, err = outcomes[name]
    assert status == 1 and words in scripts.error_line(err)
