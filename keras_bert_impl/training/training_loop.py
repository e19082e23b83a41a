"""The training loop: one optimizer update per step, the same on any strategy.

Not `Model.fit`: under tf.distribute, Keras 3's `fit` clips before the
all-reduce, averages per replica and breaks on gradient accumulation. Here a
step is: sum the loss denominators over everything, sum the gradients of all
micro-batches locally, one all-reduce, clip, update; and every row gets the
random numbers that it would get in the undivided batch. So 1 replica, N
replicas and accumulated micro-batches give the same weights.
"""

import functools

import numpy as np
import tensorflow as tf

from keras_bert_impl import features
from keras_bert_impl.layers.basics import dropout, kernels
from keras_bert_impl.training import (
  distribution,
  graph_gradients,
  joint_gradients,
  row_numbers,
)

_SUM = tf.distribute.ReduceOp.SUM
_held = graph_gradients.held_by_graphs()  # A decorator.


class DivergedError(ValueError):
  """A loss or gradient is NaN or infinite."""


class TrainingLoop:
  """Runs training and evaluation steps of a task on a strategy.

  Args:
    task: `tasks.basics.task.Task`.
    model: `keras.Model` made by the task, in the scope of the strategy.
    optimizer: of `keras_bert_impl.optimizers`, made in that scope, built here.
    strategy: `tf.distribute.Strategy`.
    config: `TrainingConfig`.

  Attributes:
    denominators: {loss name: float} of each batch, of all replicas; empty: a
      batch's own.
    variables: list of `tf.Variable`, what is trained.

  Raises:
    ValueError: the batch cannot be divided, or frozen weights are assumed.
  """

  def __init__(self, task, model, optimizer, strategy, config):
    kernels.check_trainable()
    distribution.check_batch(config, strategy.num_replicas_in_sync)
    self.task = task
    self.model = model
    self.optimizer = optimizer
    self.strategy = strategy
    self.config = config
    self.denominators = {}
    with strategy.scope():
      optimizer.build(model.trainable_variables)
    self.variables = [variable.value for variable in model.trainable_variables]
    self._input_names = [tensor.name for tensor in model.inputs]
    self._output_names = task.read_outputs or [*model.output]
    self._predictor = task.predictor(model)
    self._gradients = _traced(
      self._sum_gradients, jit_compile=config.jit_compile
    )
    self._joint = None
    if task.compares_rows:
      self._joint = joint_gradients.JointGradients(
        task, self._call_model, self.variables, config
      )
    self._run_steps = _held(_traced(self._steps))
    self._run_evaluation = _held(_traced(self._evaluation))
    # Lengths differ from batch to batch.
    self._run_prediction = _traced(self._prediction, reduce_retracing=True)

  @property
  def step(self):
    """int, optimizer updates made so far."""
    return int(self.optimizer.iterations.numpy())

  def train(self, iterator, num_steps):
    """Makes `num_steps` updates.

    Args:
      iterator: iterator over `distribution.distribute(...)`.
      num_steps: int > 0.

    Returns:
      {metric: float}, means over the steps: the task's metrics, `loss`,
      `tokens_per_step` (without padding), `gradient_norm` and `learning_rate`.

    Raises:
      DivergedError: if a step gave a non-finite loss or gradient. The weights
        are unusable then.
    """
    first = self.step + 1
    names, history = _columns(
      self._run_steps(iterator, tf.constant(num_steps))
    )  # [num_steps, M, 2]
    _check_finite(history, first)
    return _means(names, history.sum(axis=0))

  def evaluate(self, batches):
    """Returns {metric: float}, means over all `batches` (distributed)."""
    names, total = (), 0
    for index, batch in enumerate(batches):
      names, sums = _columns(self._run_evaluation(batch, tf.constant(index)))
      total += sums  # [M, 2]
    if not np.any(total):
      raise ValueError("the evaluation data must have at least one example.")
    return _means(names, total)

  def predict(self, batches):
    """Yields the outputs {name: array [B, ...]} of `batches` (distributed)."""
    for index, batch in enumerate(batches):
      outputs = self._run_prediction(batch, tf.constant(index))
      # In the model's order, which a function does not keep.
      replicas = {
        name: self.strategy.experimental_local_results(outputs[name])
        for name in (outputs if self._predictor else self._output_names)
      }
      yield {
        name: np.concatenate([part.numpy() for part in parts])
        for name, parts in replicas.items()
      }

  # The methods below run in graphs.

  def _steps(self, iterator, num_steps):
    """Returns {metric: float32 [num_steps, 2]}, sum and count of each step."""
    names = {}  # In their order, filled while the step is traced.

    def run_step(batch):
      metrics = self.train_step(batch)
      names.update(dict.fromkeys(metrics))
      return tf.stack(list(metrics.values()))

    def record_step(i, history):
      metrics = self.strategy.run(run_step, args=(next(iterator),))
      # All replicas hold the same sums after the all-reduce.
      metrics = self.strategy.experimental_local_results(metrics)[0]
      return i + 1, history.write(i, metrics)

    start = 0, tf.TensorArray(tf.float32, size=num_steps)
    _, history = tf.while_loop(lambda i, _: i < num_steps, record_step, start)
    columns = tf.unstack(history.stack(), len(names), axis=1)
    return dict(zip(names, columns, strict=True))

  def train_step(self, batch):
    """Makes one update, in replica context.

    Args:
      batch: {name: tensor}, the rows of this replica.

    Returns:
      {metric: float32 [2]}, sum and count over all replicas.
    """
    context = tf.distribute.get_replica_context()
    step = tf.cast(self.optimizer.iterations.value, tf.int32)
    sums_of = self._joint or self._accumulate
    gradients, metrics = sums_of(batch, step, context)
    *gradients, sums = context.all_reduce(
      _SUM, [*gradients, tf.stack(list(metrics.values()))]
    )
    norm = tf.linalg.global_norm(gradients)
    learning_rate = self.optimizer.learning_rate
    most = self.config.clip_norm
    scale = most / tf.maximum(norm, most) if most else tf.ones([])
    updates = zip(self.variables, gradients, strict=True)
    _update(self.strategy, self.optimizer, [*updates], learning_rate, scale)
    return {
      **dict(zip(metrics, tf.unstack(sums), strict=True)),
      "gradient_norm": tf.stack([norm, 1.0]),
      "learning_rate": tf.stack([tf.cast(learning_rate, tf.float32), 1.0]),
    }

  def _accumulate(self, batch, step, context):
    """Sums gradients and metrics over the micro-batches of this replica."""
    denominators = self.denominators or context.all_reduce(
      _SUM, self.task.denominators(batch)
    )
    number = self.config.gradient_accumulation_steps
    first_part = tf.cast(context.replica_id_in_sync_group, tf.int32) * number
    micro_batches = {
      name: distribution.split_rows(x, number) for name, x in batch.items()
    }

    def sums(index):
      micro_batch = {name: x[index] for name, x in micro_batches.items()}
      part = first_part + index
      return self._gradients(micro_batch, denominators, step, part)

    def add_sums(index, total):
      return index + 1, tf.nest.map_structure(tf.add, total, sums(index))

    if number == 1:
      return sums(0)
    _, total = tf.while_loop(
      lambda index, _: index < number, add_sums, (1, sums(0))
    )
    return total

  def _sum_gradients(self, batch, denominators, step, part):
    """Returns dense gradients, and {metric: float32 [2]}, of a micro-batch."""
    with (
      row_numbers.random_seed(self.config.random_seed, step, part),
      dropout.rematerialize(self.config.rematerialize),
      # Records the trained variables alone: nothing below their layers.
      tf.GradientTape(watch_accessed_variables=False) as tape,
    ):
      tape.watch(self.variables)
      outputs = self._call_model(batch, training=True)
      losses = self.task.losses(batch, outputs)
      loss = tf.add_n(
        [losses[name] / tf.maximum(denominators[name], 1.0) for name in losses]
      )
    gradients = [
      # The slices of a gathered table may repeat rows: Adam needs their sum.
      tf.convert_to_tensor(gradient)
      for gradient in tape.gradient(loss, self.variables)
    ]
    share = 1.0 / (
      self.strategy.num_replicas_in_sync
      * self.config.gradient_accumulation_steps
    )
    tokens = tf.cast(tf.reduce_sum(batch[features.INPUT_MASK]), tf.float32)
    metrics = {
      "loss": (loss, share),
      "tokens_per_step": (tokens, share),
      **self.task.metrics(batch, outputs),
    }
    return gradients, {name: tf.stack(pair) for name, pair in metrics.items()}

  def _call_model(self, batch, training):
    if features.HIDDEN_STATES in batch:  # A frozen encoder has run already.
      return self.model.read(batch, training)
    inputs = {name: batch[name] for name in self._input_names}
    outputs = self.model(inputs, training=training)
    return {name: outputs[name] for name in self._output_names}

  def _evaluation(self, batch, index):
    """Returns {metric: float32 [2]}, sum and count over all replicas."""
    names = {}  # As in `_steps`.

    def run_step(batch, index):
      metrics = self.task.metrics(batch, self._outputs(batch, index))
      names.update(dict.fromkeys(metrics))
      return tf.distribute.get_replica_context().all_reduce(
        _SUM, tf.stack([tf.stack(pair) for pair in metrics.values()])
      )

    metrics = self.strategy.run(run_step, args=(batch, index))
    sums = self.strategy.experimental_local_results(metrics)[0]
    return dict(zip(names, tf.unstack(sums), strict=True))

  def _prediction(self, batch, index):
    """Returns {name: per-replica float32 [B / R, ...]}."""
    if self._predictor:
      return self.strategy.run(self._predictor, args=(batch,))
    return self.strategy.run(self._forward, args=(batch, index))

  def _outputs(self, batch, index):
    """Returns the outputs that the metrics of the task read."""
    if not self.task.compares_rows:
      return self._forward(batch, index)
    names = self._input_names
    return [
      self._forward({n: batch[features.of_text(n, k)] for n in names}, index)
      for k in range(self.task.num_texts)
    ]

  def _forward(self, batch, index):
    """Returns the outputs for a batch outside of training."""
    context = tf.distribute.get_replica_context()
    # ELECTRA draws tokens here too.
    part = context.replica_id_in_sync_group
    with row_numbers.random_seed(self.config.random_seed, index, part):
      return self._call_model(batch, training=False)


def _update(strategy, optimizer, updates, learning_rate, scale):
  """Applies gradients that are already summed over the replicas.

  `optimizer.apply` would sum them once more under tf.distribute.

  Args:
    strategy: `tf.distribute.Strategy`.
    optimizer: as of `TrainingLoop`.
    updates: list of (variable, gradient).
    learning_rate: float scalar.
    scale: float32 scalar, factor of the gradients.
  """

  def update_one(variable, gradient, learning_rate, scale):
    optimizer.update_step(gradient, variable, learning_rate, scale)

  def update(strategy, updates, learning_rate, scale):
    for variable, gradient in updates:
      strategy.extended.update(
        variable,
        update_one,
        args=(gradient, learning_rate, scale),
        group=False,
      )

  tf.__internal__.distribute.interim.maybe_merge_call(
    update, strategy, updates, learning_rate, scale
  )
  optimizer.iterations.assign_add(1)


def _check_finite(history, first):
  """Raises DivergedError for [num_steps, M, 2] from the step `first` on."""
  finite = np.isfinite(history).all(axis=(1, 2))  # [num_steps]
  if not finite.all():
    bad = int(np.argmin(finite))
    raise DivergedError(
      f"loss or gradient is not finite at step {first + bad}; lower"
      " --learning_rate, lengthen --num_warmup_steps or check the data."
    )


def _traced(method, **options):
  """Returns the `tf.function` of a method of one loop."""
  # TensorFlow warns of code that it traces often, but each loop has a model of
  # its own: by a partial, a loop counts alone. Autograph finds nothing to
  # convert here, and takes seconds to look.
  return tf.function(functools.partial(method), autograph=False, **options)


def _columns(metrics):
  """Returns the names and one array [..., M, 2] of {name: tensor [..., 2]}."""
  arrays = [values.numpy() for values in metrics.values()]
  return tuple(metrics), np.stack(arrays, axis=-2)


def _means(names, sums):
  """Returns {name: sum / count} of float32 [M, 2] sums and counts."""
  return {
    name: float(value / max(count, 1e-30))
    for name, (value, count) in zip(names, sums, strict=True)
  }
