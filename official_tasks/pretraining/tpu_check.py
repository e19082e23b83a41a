"""Checks whether a training step fits on TPU chips, or how to make it fit."""

import dataclasses

import keras
import tensorflow as tf

from keras_bert_impl import features
from keras_bert_impl.checkpoints import google_config
from keras_bert_impl.tasks import pretraining
from keras_bert_impl.training import (
  distribution,
  experiment,
  optimization,
  replica_program,
  report,
)
from official_tasks.pretraining import tpu_compiler

_MAX_TRIALS = 2  # of an accumulation: each takes as long as the first
_SHARE = 0.95  # of the memory, that an estimate may fill


class Check:
  """Compiles the training steps of an objective for a TPU topology.

  Args:
    config: `config.PretrainingConfig`; it names no records.
    topology: `tpu_compiler.Topology`.
  """

  def __init__(self, config, topology):
    self.data = config.data
    self.masking = config.masking.completed(config.data.objective)
    self.topology = topology
    objective = config.objective
    is_masked = objective.masking_policy is not None
    self._form = features.RecordForm(
      is_masked, use_pairs=objective.sentence_loss is not None
    )
    self.task = objective.make_task(
      google_config.read(config.data.bert_config_file),
      pretraining.PretrainingData(
        config.data.max_seq_length, sentence_loss=objective.sentence_loss
      ),
      config.options,
    )

  def table(self, training):
    """Compiles the step of a `TrainingConfig`; returns a table of its needs.

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
    """Returns advice on what would fit, if the step does not.

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
    """Compiles with the accumulation that should fit; returns the lines."""
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
    """Returns the config with the least accumulation to fit, or None."""
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
    """Estimates the bytes of every batch, and those of each example in it.

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
      lambda model: optimization.make_optimizer(training, model),
      self._batch_spec(training),
      self.topology.num_devices,
      training,
    )
    self._num_parameters = program.num_parameters
    keras.backend.clear_session()  # Names of layers begin anew.
    return program

  def _batch_spec(self, training):
    """Returns {name: tf.TensorSpec} of a chip's rows of a step."""
    distribution.check_divisible(
      training.train_batch_size,
      self.topology.num_devices,
      training.gradient_accumulation_steps,
    )
    rows = training.train_batch_size // self.topology.num_devices
    record = {
      name: _spec([rows, *feature.shape], feature.dtype)
      for name, feature in features.record(
        self._form,
        self.data.max_seq_length,
        self.masking["max_predictions_per_seq"],
      ).items()
    }
    prepare = tf.function(self.task.prepare, autograph=False)
    batch = prepare.get_concrete_function(record, tf.TensorSpec([2], tf.int32))
    return {
      name: tf.TensorSpec(x.shape, x.dtype)
      for name, x in batch.structured_outputs.items()
    }

  def _micro_batch(self, training):
    """Returns the number of examples that a chip computes at a time, int."""
    return training.train_batch_size // (
      self.topology.num_devices * training.gradient_accumulation_steps
    )


def _spec(shape, dtype):
  """Returns the spec of a tensor, of a ragged one if a length is None."""
  kind = tf.RaggedTensorSpec if None in shape else tf.TensorSpec
  return kind(shape, tf.as_dtype(dtype))


def _gib(number):
  return f"{number / tpu_compiler.GIB:.3f} GiB"
