"""The training step of one replica as an XLA program.

TPUStrategy runs it on each chip: the step of `loop.TrainingLoop` on that chip's
rows, with all-reduces across the chips. Here it is only traced, on any machine,
for the chips' compiler.
"""

import contextlib
import dataclasses
import re

import tensorflow as tf
from tensorflow.compiler.tf2xla.ops import gen_xla_ops  # tf.raw_ops has none.

from keras_bert_impl.training import training_loop


class UnsupportedOpError(ValueError):
  """The step contains ops that XLA cannot compile."""


@dataclasses.dataclass(frozen=True)
class ReplicaProgram:
  """The XLA program of one replica's step.

  Attributes:
    stablehlo: str, the module as text. Its function `main` takes the batch and
      then the variables; it returns the metrics and then the new values of
      those variables that change, in the same order.
    num_parameters: int, trainable.
    num_inputs: int, arguments of `main` that are of the batch.
  """

  stablehlo: str
  num_parameters: int
  num_inputs: int


def trace(task, make_optimizer, batch_spec, num_replicas, config):
  """Returns the `ReplicaProgram` of a task.

  Args:
    task: `tasks.basics.task.Task`.
    make_optimizer: callable, from the model to its optimizer.
    batch_spec: {name: tf.TensorSpec [B / num_replicas, ...]}, of one replica.
    num_replicas: int.
    config: `TrainingConfig`.

  Raises:
    UnsupportedOpError: XLA cannot compile the step; names the ops.
  """
  strategy = _Replicas(num_replicas)
  model = task.build_model()
  loop = training_loop.TrainingLoop(
    task, model, make_optimizer(model), strategy, config
  )
  names = list(batch_spec)

  @tf.function(jit_compile=True, autograph=False)
  def step(*tensors):
    with _ReplicaContext(strategy):
      metrics = loop.train_step(dict(zip(names, tensors, strict=True)))
      return tf.stack(list(metrics.values()))

  try:
    write = step.experimental_get_compiler_ir(*batch_spec.values())
    stablehlo = write(stage="stablehlo")
  except (ValueError, tf.errors.OpError) as error:
    raise UnsupportedOpError(_explained(error)) from error
  size = sum(v.shape.num_elements() for v in loop.variables)
  return ReplicaProgram(stablehlo, size, len(names))


class _Replicas(tf.distribute.Strategy):
  """One of many replicas; its variables are ordinary ones."""

  def __init__(self, num_replicas):
    super().__init__(_ReplicasExtended(self, num_replicas))

  def scope(self):
    return contextlib.nullcontext()


class _ReplicasExtended(tf.distribute.StrategyExtended):
  """The parts of a strategy that training loop, Keras and tf.function use.

  Some are private: TensorFlow has no other way to make a strategy.
  """

  def __init__(self, strategy, num_replicas):
    super().__init__(strategy)
    self._num_replicas = num_replicas
    self._retrace_functions_for_each_device = False

  @property
  def _num_replicas_in_sync(self):
    return self._num_replicas

  def _get_local_replica_id(self, replica_id_in_sync_group):
    return replica_id_in_sync_group

  def update(self, var, fn, args=(), kwargs=None, group=True):
    del group
    return fn(var, *args, **(kwargs or {}))

  def value_container(self, value):
    return value

  def _use_merge_call(self):
    return False  # As on a TPU: all is done in the context of the replica.


class _ReplicaContext(tf.distribute.ReplicaContext):
  """All-reduces and the replica's number, as XLA ops."""

  def __init__(self, strategy):
    super().__init__(strategy, replica_id_in_sync_group=0)

  @property
  def replica_id_in_sync_group(self):
    return gen_xla_ops.xla_replica_id()

  def all_reduce(self, reduce_op, value, options=None):
    del reduce_op, options  # The loop only sums.
    groups = [list(range(self.strategy.num_replicas_in_sync))]
    return tf.nest.map_structure(
      lambda x: gen_xla_ops.xla_all_reduce(
        input=x, group_assignment=groups, reduce_op="Add", mode="CrossReplica"
      ),
      value,
    )


def _explained(error):
  """Returns one line that names the ops."""
  text = str(error)
  # By its kind where XLA has none such, else by its place in the graph.
  for pattern in (r"No registered '(\w+)' OpKernel", r"\{\{node ([^}]+)\}\}"):
    ops = sorted(set(re.findall(pattern, text)))
    if ops:
      return f"ops that would not run on a TPU: {', '.join(ops)}."
  return f"XLA cannot compile the training step: {text.splitlines()[0]}"
