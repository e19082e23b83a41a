"""A step compiled for TPU chips, on a machine without them."""

import importlib.util
import re
import sys

import pytest
import tensorflow as tf

from keras_bert_impl.optimizers import adamw
from keras_bert_impl.runs.pretraining import tpu_compiler
from keras_bert_impl.tasks.basics import pretraining
from keras_bert_impl.tasks.pretraining import masked_lm
from keras_bert_impl.training import replica_program, training_config
from tests import architectures
from tests.official_tasks import scripts
from tests.training import replica_equality

pytestmark = pytest.mark.integration

needs_compiler = pytest.mark.skipif(
  importlib.util.find_spec("libtpu") is None
  or importlib.util.find_spec("jax") is None,
  reason="the extra tpu-check is not installed",
)
FAMILIES = {
  "bert": {},
  "roberta": {},
  "albert": {"embedding_size": 8, "num_hidden_groups": 1},
  "electra": {"embedding_size": 8},
  "deberta_v3": architectures.DEBERTA,
}


def check_all(folder, **cases):
  """Runs the script in one process; returns its outcomes by case.

  A case has the flags that differ from the usual ones.
  """
  commands = {}
  for case, flags in cases.items():
    objective = flags.get("objective", "bert")
    scripts.write_model_files(
      folder / objective, max_position_embeddings=512, **FAMILIES[objective]
    )
    commands[case] = {
      "bert_config_file": folder / objective / "bert_config.json",
      "max_seq_length": scripts.LENGTH,
      "max_predictions_per_seq": 5,
      "train_batch_size": 32,
      "topology": "v5e:2x2",
    } | flags
  return scripts.run_all("check_tpu", commands)


def figure(table, name):
  """Returns the number in the row `name` of a table."""
  return float(re.search(rf"^{name} +([\d.e+]+)", table, re.MULTILINE).group(1))


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
  return check_all(
    tmp_path_factory.mktemp("tpu"),
    packed={"objective": "roberta", "pack_sequences": True},
    topology={"topology": "v5e:7x9x9"},
    pairs={"objective": "albert", "pack_sequences": True},
    batch={"train_batch_size": 30},
  )


@needs_compiler
def test_a_step_of_packed_rows_compiles(outcomes):
  compiles(*outcomes["packed"])


@pytest.mark.slow
@needs_compiler
def test_a_step_of_every_family_compiles(tmp_path):
  """Adds pairs, recomputation and the layers of other families."""
  steps = {
    name: {
      "objective": name,
      "rematerialize": True,
      "pack_sequences": name == "electra",
    }
    for name in FAMILIES
  }
  for outcome in check_all(tmp_path, **steps).values():
    compiles(*outcome)


def compiles(status, out, err):
  assert status == 0, err
  assert "at 8 x 32 for 4 x TPU v5 lite (v5e:2x2)" in out
  assert figure(out, "FLOPs per step") > 1e6
  assert figure(out, "available memory") == 15.75
  # One of the denominators, one or more of gradients and metrics.
  assert figure(out, "all-reduces") >= 2
  assert re.search(r"^unsupported ops +none$", out, re.MULTILINE)


@pytest.mark.acceptance
@needs_compiler
def test_what_does_not_fit_ends_with_what_would(tmp_path):
  # The last layer alone computes only the states that the heads read.
  scripts.write_model_files(
    tmp_path / "deep", max_position_embeddings=512, num_hidden_layers=2
  )
  large = {
    "bert_config_file": tmp_path / "deep" / "bert_config.json",
    "train_batch_size": 2**15,
    "max_seq_length": 512,
    "dtype": "bfloat16",
  }
  outcomes = check_all(tmp_path, large=large)
  status, out, err = outcomes["large"]
  assert status == 1, err
  assert re.search(r"The step does not fit: [\d.]+ of 15.75 GiB", out)
  [number] = re.findall(
    r"It fits with --gradient_accumulation_steps=(\d+) \(compiled\)", out
  )
  assert int(number) > 1
  batch = re.search(r"without other changes: about (\d+)", out)
  assert 0 < int(batch.group(1)) < 2**15


@needs_compiler
@pytest.mark.parametrize(
  "case, message",
  [
    ("topology", "topology ('v5e:7x9x9')"),
    ("pairs", "learns from sentence pairs"),
    ("batch", "must be a multiple"),
  ],
)
def test_a_mistake_is_told_in_a_line(outcomes, case, message):
  status, _, err = outcomes[case]
  assert status == 1
  assert message in scripts.error_line(err)


def test_without_the_extra_it_says_so(monkeypatch):
  monkeypatch.setitem(sys.modules, "libtpu", None)
  with pytest.raises(ValueError, match="keras-bert-impl.tpu-check."):
    tpu_compiler.Topology("v5e:2x2")


class PrintingTask(masked_lm.MaskedLanguageModelTask):
  def losses(self, batch, outputs):
    losses = super().losses(batch, outputs)
    text = tf.strings.as_string(losses["masked_lm"])
    length = tf.cast(tf.strings.length(text), tf.float32)
    return {**losses, "masked_lm": losses["masked_lm"] + 0 * length}


def trace(task_class):
  [batch] = replica_equality.dataset(1)
  return replica_program.trace(
    task_class(
      replica_equality.encoder_config(0.1, num_hidden_layers=1),
      pretraining.PretrainingData(sentence_loss="next_sentence"),
    ),
    lambda model: adamw.AdamW(0.1),
    {name: tf.TensorSpec(x.shape, x.dtype) for name, x in batch.items()},
    4,
    training_config.TrainingConfig(train_batch_size=32),
  )


def test_an_op_that_cannot_run_is_named():
  with pytest.raises(
    replica_program.UnsupportedOpError,
    match="would not run on a TPU: AsString",
  ):
    trace(PrintingTask)


def test_the_program_sums_over_the_replicas():
  program = trace(masked_lm.MaskedLanguageModelTask)
  assert program.num_inputs == 8
  # Each gradient, two denominators and the metrics.
  reductions = program.stablehlo.count('"stablehlo.all_reduce"')
  assert reductions > 20
  assert "dense<[[0, 1, 2, 3]]>" in program.stablehlo
  assert "stablehlo.replica_id" in program.stablehlo  # for the rows that draw
