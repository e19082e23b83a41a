"""Checks whether a training step fits into the memory of TPU chips."""

import dataclasses

import keras
import tensorflow as tf

from keras_bert_impl import features
from keras_bert_impl.checkpoints.descriptions import google_config
from keras_bert_impl.optimizers import optimization
from keras_bert_impl.runs.pretraining import tpu_compiler
from keras_bert_impl.tasks.basics import pretraining
from keras_bert_impl.training import (
  distribution,
  experiment,
  replica_program,
  run_results,
)

_MAX_TRIALS = 2  # compilations of other accumulations; each takes minutes
_SHARE = 0.95  # of the memory that an estimate may use


class Check:
  """Compiles the training steps of an objective for a TPU topology.

  Args:
    config: `pretraining_config.PretrainingConfig`; it needs no records.
    topology: `tpu_compiler.Topology`.
    is_packed: bool, whether rows hold several texts.

  Raises:
    ValueError: the objective needs sentence pairs, which cannot be packed.
  """

  def __init__(self, config, topology, is_packed=False):
    self.data = config.data
    self.masking = config.masking.completed(config.data.objective)
    self.topology = topology
    objective = config.objective
    sentence_loss = None if is_packed else objective.sentence_loss
    if is_packed and objective.needs_pairs:
      raise ValueError(
        f"pack_sequences needs texts, but objective {config.data.objective!r}"
        " learns from sentence pairs."
      )
    self._form = features.RecordForm(
      is_masked=objective.masking_policy is not None,
      use_pairs=sentence_loss is not None,
      is_packed=is_packed,
    )
    self.task = objective.task(
      google_config.read(config.data.bert_config_file),
      pretraining.PretrainingData(
        config.data.max_seq_length,
        sentence_loss=sentence_loss,
        is_packed=is_packed,
      ),
      config.options,
    )

  def table(self, training):
    """Compiles the step of a `TrainingConfig`; returns its costs as a table.

    Raises:
      OutOfMemoryError: the step does not fit.
      ValueError: the step has ops that a TPU cannot run, or the batch size
        cannot be divided among the chips.
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
    memory, reductions = compiled["memory"], compiled["reductions"]
    arguments, temporaries = (
      memory.argument_size_in_bytes,
      memory.temp_size_in_bytes,
    )
    # Other results reuse the memory of arguments.
    results = memory.output_size_in_bytes - memory.alias_size_in_bytes
    # XLA counts the body of a loop once. The first micro-batch is before the
    # loop, so it counts two micro-batches.
    number = training.gradient_accumulation_steps
    flops = compiled["flops"] * max(number / 2, 1)
    once = " (loop body once)" if number > 2 else ""
    return run_results.table(
      [
        ("arguments", _gib(arguments)),
        ("temporaries", _gib(temporaries)),
        ("total memory", _gib(arguments + temporaries + results)),
        ("available memory", _gib(topology.limit)),
        ("FLOPs per step", f"{flops:.3g}"),
        (f"bytes accessed{once}", _gib(compiled["bytes accessed"])),
        ("all-reduces", f"{len(reductions)}"),
        ("bytes reduced", _gib(sum(reductions))),
        ("unsupported ops", "none"),
        ("compiled in", f"{compiled['seconds']:.0f} s"),
      ],
      ("", "per chip" if topology.cores_per_chip == 1 else "per core"),
    )

  def advice(self, training, error):
    """Returns advice on how to make the step fit, str.

    Args:
      training: `TrainingConfig`.
      error: the `OutOfMemoryError`.
    """
    fixed, per_example = self._memory(training, error)
    rows = int((_SHARE * error.limit - fixed) / per_example)
    batch = rows * self.topology.num_devices
    batch *= training.gradient_accumulation_steps
    lines = [
      f"Largest --train_batch_size without other changes: about {max(batch, 0)}"
      " (estimated from the compiled step)."
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
    """Compiles with an accumulation that should fit; returns a report, str."""
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
    """Returns the config with the least accumulation that fits, or None."""
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
    """Returns estimates of the bytes of any batch, and the bytes per example.

    Weights, two moments, gradients and, with accumulation, their sums take the
    same memory at any batch size; all else grows with the micro-batch.
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
    keras.backend.clear_session()  # Restarts layer names.
    return program

  def _batch_spec(self, training):
    """Returns {name: tf.TensorSpec}, a chip's share of a batch."""
    distribution.check_batch(training, self.topology.num_devices)
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
    """Returns the number of examples of a chip's micro-batch, int."""
    return training.train_batch_size // (
      self.topology.num_devices * training.gradient_accumulation_steps
    )


def _spec(shape, dtype):
  """Returns a tensor spec, ragged if a dimension is None."""
  kind = tf.RaggedTensorSpec if None in shape else tf.TensorSpec
  return kind(shape, tf.as_dtype(dtype))


def _gib(number):
  return f"{number / tpu_compiler.GIB:.3f} GiB"
