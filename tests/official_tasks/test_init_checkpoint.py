"""--init_checkpoint: from any format, and what is said about it."""

import dataclasses

import numpy as np
import pytest

from keras_bert_impl import configs, heads, models
from keras_bert_impl.checkpoints import writing
from keras_bert_impl.checkpoints.descriptions import description
from keras_bert_impl.checkpoints.naming import mappings
from keras_bert_impl.tokenizers.formats import vocabularies
from tests.official_tasks import scripts
from tests.official_tasks.test_run_pretraining import final_state, flags


@pytest.fixture(scope="module", name="data")
def fixture_data(tmp_path_factory):
  """Folder with vocab.txt, bert_config.json and records."""
  folder = tmp_path_factory.mktemp("data")
  scripts.write_model_files(folder)
  scripts.write_records(folder)
  return folder


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


def one_step(data, output_dir, **values):
  # The rate of the first step is zero: what is saved is what was loaded.
  return flags(
    data, output_dir, num_train_steps=1, num_warmup_steps=1, **values
  )


def assert_has(state, weights):
  for weight in weights:
    np.testing.assert_array_equal(state[weight.path], weight, weight.path)


def test_safetensors_start_a_run_and_all_is_said_of_them(data, model, tmp_path):
  source = write_safetensors(tmp_path / "model", model, heads.PRETRAINING)
  status, _, err = scripts.run(
    "run_pretraining",
    **one_step(data, tmp_path / "out", init_checkpoint=source),
  )
  assert status == 0, err
  assert_has(final_state(tmp_path / "out", step=1), model.weights)
  expected = f"{len(model.weights)} loaded; 0 new; 0 left over."
  assert f"{source}/model.safetensors: {expected}" in err
  assert "Unlike in" not in err and "The vocabulary of this" not in err


def test_a_keras_file_starts_a_run(data, model, tmp_path):
  model.save(tmp_path / "model.keras")
  status, _, err = scripts.run(
    "run_pretraining",
    **one_step(
      data, tmp_path / "out", init_checkpoint=tmp_path / "model.keras"
    ),
  )
  assert status == 0, err
  assert_has(final_state(tmp_path / "out", step=1), model.weights)


def test_heads_that_are_missing_stop_a_run_unless_a_part_is_enough(
  data, model, tmp_path
):
  source = write_safetensors(tmp_path / "model", model, heads.ENCODER)
  refused, accepted = scripts.run_each(
    "run_pretraining",
    [
      one_step(data, tmp_path / "refused", init_checkpoint=source),
      one_step(
        data,
        tmp_path / "accepted",
        init_checkpoint=source,
        allow_partial=True,
      ),
    ],
  )
  assert refused[0] == 1
  line = scripts.error_line(refused[1])
  of_heads = [w.path for w in model.weights if w.path.startswith("cls/")]
  assert len(of_heads) == 7
  assert all(f"{path} is missing" in line for path in of_heads)
  assert "--allow_partial" in line
  assert not (tmp_path / "refused").exists()
  assert accepted[0] == 0, accepted[1]
  state = final_state(tmp_path / "accepted", step=1)
  assert_has(state, model.encoder.weights)
  assert set(of_heads) <= set(state)


def test_other_heads_and_another_vocabulary_do_not_pass_silently(
  data, model, tmp_path
):
  source = write_safetensors(
    tmp_path / "model", model, heads.PRETRAINING, num_attention_heads=4
  )
  tokens = vocabularies.Vocabulary.load(data / "vocab.txt").tokens
  swapped = (*tokens[:-2], tokens[-1], tokens[-2])
  vocabularies.Vocabulary(swapped).save(source / "vocab.txt")
  status, _, err = scripts.run(
    "run_pretraining",
    **one_step(data, tmp_path / "out", init_checkpoint=source),
  )
  assert status == 0, err
  assert "num_attention_heads is 2, not 4" in err
  assert "The vocabulary of this run is not the one beside" in err


def test_bad_checkpoints_stop_a_run_with_one_line(data, model, tmp_path):
  pickle = tmp_path / "pytorch_model.bin"
  pickle.write_bytes(b"\x80\x04.")
  source = write_safetensors(tmp_path / "model", model, heads.PRETRAINING)
  truncated = source / "model.safetensors"
  truncated.write_bytes(truncated.read_bytes()[:100])
  cases = {
    pickle: "is damaged, or holds more than a state dict",
    truncated: "is damaged",
    tmp_path / "absent": "There is no checkpoint",
  }
  outcomes = scripts.run_each(
    "run_pretraining",
    [one_step(data, tmp_path / "out", init_checkpoint=path) for path in cases],
  )
  for (status, err), (path, message) in zip(outcomes, cases.items()):
    assert status == 1
    line = scripts.error_line(err)
    assert str(path) in line and message in line
