r"""Compiles a training step for TPU chips on a machine that has none.

    python official_tasks/check_tpu.py --bert_config_file=bert_config.json \
      --train_batch_size=128 --topology=v5e:2x2

takes the flags of run_pretraining.py, reads no records, and prints what the
step takes of each chip. The exit status is 1 if it does not fit, or holds what
cannot run there; what would fit is said then. It needs the extra `tpu-check`.
"""

import dataclasses

from etils import epy

from keras_bert_impl import features, options
from keras_bert_impl.training import config as config_lib
from official_tasks import run_pretraining
from official_tasks.command_line import common
from tfrecords import masking_config

with epy.lazy_imports():
  import keras
  import tensorflow as tf

  from keras_bert_impl.checkpoints import description
  from keras_bert_impl.training import (
    distribution,
    experiment,
    replica_program,
    report,
  )
  from official_tasks.pretraining import task as pretraining_task
  from official_tasks.pretraining import tpu_compiler
  from tfrecords.reading import reader
  from tfrecords.reading import records as records_lib

_PAIRED = ("bert", "albert")
_MAX_TRIALS = 2  # of an accumulation: each takes as long as the first
_SHARE = 0.95  # of the memory, that an estimate may fill


@dataclasses.dataclass(frozen=True)
class TopologyConfig:
  """What the step is compiled for."""

  topology: str = options.common(
    "v5e:2x2", "Chips to compile for, such as v5e:2x2 or v4:2x2x1."
  )


common.define_flags(TopologyConfig)


def main():
  """Compiles the step, or finds what would fit; returns the exit status."""
  data = common.from_flags(run_pretraining.DataConfig)
  training = common.from_flags(config_lib.TrainingConfig)
  if not data.bert_config_file:
    raise ValueError("--bert_config_file must be given.")
  topology = common.from_flags(TopologyConfig).topology
  masking = common.from_flags(masking_config.MaskingConfig)
  check = Check(data, masking, tpu_compiler.Topology(topology))
  try:
    print(check.table(training))
    return None
  except tpu_compiler.OutOfMemoryError as error:
    print(f"The step {error}\n", flush=True)
    print(check.advice(training, error))
    return common.EXIT_USER_ERROR


class Check:
  """The steps of an objective on the chips of a topology.

  Args:
    data: `run_pretraining.DataConfig`.
    masking: `MaskingConfig`.
    topology: `tpu_compiler.Topology`.
  """

  def __init__(self, data, masking, topology):
    self.data = data
    self.masking = masking.completed(data.objective)
    self.topology = topology
    records = _no_records(data.objective)
    self.task = pretraining_task.make(
      data,
      self.masking,
      description.read_bert_config(data.bert_config_file),
      None,
      records,
      records,
      {},
    )

  def table(self, training):
    """Compiles the step of a `TrainingConfig`; returns what it takes.

    Raises:
      OutOfMemoryError: it does not fit.
      ValueError: it holds what cannot run, or the batch cannot be divided.
    """
    topology = self.topology
    program = self._trace(training)
    print(
      f"Compiling --objective={self.data.objective} at"
      f" {self._micro_batch(training)} x {self.data.max_seq_length} for"
      f" {topology.num_devices} x {topology.kind} ({topology.name}): minutes"
      " for a model like BERT-Base.",
      flush=True,
    )
    compiled = topology.compile(program)
    # XLA counts the body of a loop once: of the micro-batches, the first, which
    # stands before the loop, and one more.
    number = training.gradient_accumulation_steps
    flops = compiled.flops * max(number / 2, 1)
    once = " (loop body once)" if number > 2 else ""
    return report.table(
      [
        ("arguments", _gib(compiled.argument_bytes)),
        ("temporaries", _gib(compiled.temporary_bytes)),
        ("memory in all", _gib(compiled.total_bytes)),
        ("memory there is", _gib(topology.limit)),
        ("FLOPs per step", f"{flops:.3g}"),
        (f"bytes accessed{once}", _gib(compiled.bytes_accessed)),
        ("all-reduces", f"{compiled.num_all_reduces}"),
        ("bytes reduced", _gib(compiled.all_reduce_bytes)),
        ("ops that would not run", "none"),
        ("compiled in", f"{compiled.seconds:.0f} s"),
      ],
      ("", "per chip" if topology.cores_per_chip == 1 else "per core"),
    )

  def advice(self, training, error):
    """Returns what would fit where the step of a `TrainingConfig` does not.

    Args:
      training: `TrainingConfig`.
      error: the `OutOfMemoryError`.
    """
    fixed, per_example = self._memory(training, error)
    rows = int((_SHARE * error.limit - fixed) / per_example)
    batch = rows * self.topology.num_devices
    batch *= training.gradient_accumulation_steps
    lines = [
      f"Largest --train_batch_size as it is: about {max(batch, 0)} (estimated"
      " from what was compiled)."
    ]
    lines += [
      f"{flag} takes less memory (not compiled)."
      for flag, is_given in (
        ("--rematerialize", training.rematerialize),
        ("--dtype=bfloat16", training.dtype == "bfloat16"),
      )
      if not is_given
    ]
    return "\n".join([self._fitting_accumulation(training, error), *lines])

  def _fitting_accumulation(self, training, error):
    """Compiles with the accumulation that is estimated to fit; tells of it."""
    for _ in range(_MAX_TRIALS):
      training = self._with_accumulation(training, error)
      if training is None:
        break
      flag = (
        f"--gradient_accumulation_steps={training.gradient_accumulation_steps}"
      )
      print(f"By estimate it would fit with {flag}.", flush=True)
      try:
        return f"It fits with {flag} (compiled):\n\n{self.table(training)}\n"
      except tpu_compiler.OutOfMemoryError as again:
        error = again
    return "No --gradient_accumulation_steps was found that fits."

  def _with_accumulation(self, training, error):
    """Returns the config with the least that is estimated to fit, or None."""
    rows = training.train_batch_size // self.topology.num_devices
    for number in range(training.gradient_accumulation_steps + 1, rows + 1):
      if rows % number == 0:
        trial = dataclasses.replace(
          training, gradient_accumulation_steps=number
        )
        _, per_example = self._memory(training, error)
        fixed, _ = self._memory(trial, error)
        used = fixed + per_example * self._micro_batch(trial)
        if used <= _SHARE * error.limit:
          return trial
    return None

  def _memory(self, training, error):
    """Returns estimates of the bytes of any batch, and of each example in it.

    Weights, two moments and the gradients, in accumulation their sums too, take
    the same at any batch; all else grows with the micro-batch.
    """
    copies = 4 + (training.gradient_accumulation_steps > 1)
    fixed = 4.0 * copies * self._num_parameters
    rows = self._micro_batch(training)
    return fixed, max(error.used - fixed, 1.0) / rows

  def _trace(self, training):
    experiment.set_dtype_policy(training)
    program = replica_program.trace(
      self.task,
      lambda model: experiment.make_optimizer(training, model),
      self._batch_spec(training),
      self.topology.num_devices,
      training,
    )
    self._num_parameters = program.num_parameters
    keras.backend.clear_session()  # Names of layers begin anew.
    return program

  def _batch_spec(self, training):
    """Returns {name: tf.TensorSpec} of what a chip gets for a step."""
    distribution.check_divisible(
      training.train_batch_size,
      self.topology.num_devices,
      training.gradient_accumulation_steps,
    )
    rows = training.train_batch_size // self.topology.num_devices
    if self.data.objective == "left_to_right":
      record = {features.INPUT_IDS: tf.RaggedTensorSpec([rows, None], tf.int64)}
    else:
      record = {
        name: tf.TensorSpec([rows, *feature.shape], feature.dtype)
        for name, feature in features.masked_record(
          self.data.max_seq_length,
          self.masking["max_predictions_per_seq"],
          self.data.objective in _PAIRED,
        ).items()
      }
    prepare = tf.function(self.task.prepare, autograph=False)
    batch = prepare.get_concrete_function(record, tf.TensorSpec([2], tf.int32))
    return {
      name: tf.TensorSpec(x.shape, x.dtype)
      for name, x in batch.structured_outputs.items()
    }

  def _micro_batch(self, training):
    """Returns int, examples that a chip takes at a time."""
    return training.train_batch_size // (
      self.topology.num_devices * training.gradient_accumulation_steps
    )


def _no_records(objective):
  """Returns `reader.Records` without any, of the form of an objective."""
  form = records_lib.RecordForm(
    is_masked=objective != "left_to_right", use_pairs=objective in _PAIRED
  )
  return reader.Records((), form, limits=None, segments=())


def _gib(number):
  return f"{number / tpu_compiler.GIB:.3f} GiB"


if __name__ == "__main__":
  common.run(main)
