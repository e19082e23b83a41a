"""Gradients of losses that compare the rows of a batch, part by part.

Such a loss needs the outputs of all rows at once, so that micro-batches cannot
simply follow each other. The rows are computed in groups of about the same
length; where a chunk of them is to fit into memory:

1. the model computes the outputs of one part after the other, and nothing else
   is kept;
2. the loss of all outputs, those of all replicas, gives the gradient of each;
3. each part is computed once more, to take that gradient on to the weights.

Dropout masks are functions of seed, step, group and row: the second pass draws
those of the first, without any state, and a part those of its group.

Source: Gao et al. 2021, "Scaling deep contrastive learning batch size under
memory limited setup".
"""

import functools

import tensorflow as tf

from keras_bert_impl import features
from keras_bert_impl.layers.basics import dropout
from keras_bert_impl.training import row_groups, row_numbers


class JointGradients:
  """Sums the gradients of a batch of a task that compares rows.

  Args:
    task: `tasks.basics.task.Task` with `compares_rows`.
    call_model: callable (inputs, training) -> {name: tensor [B, ...]}.
    variables: list of `tf.Variable`, what is trained.
    config: `TrainingConfig`.

  Raises:
    ValueError: there are to be micro-batches.
  """

  def __init__(self, task, call_model, variables, config):
    if config.gradient_accumulation_steps > 1:
      raise ValueError(
        f"gradient_accumulation_steps ({config.gradient_accumulation_steps})"
        " must be 1: this loss compares the rows of a batch; chunk_size divides"
        " them."
      )
    self._task = task
    self._call_model = call_model
    self._variables = variables
    self._config = config
    traced = functools.partial(
      tf.function,
      autograph=False,
      jit_compile=config.jit_compile,
      reduce_retracing=True,  # Texts of a row have lengths of their own.
    )
    self._outputs = traced(self._forward)
    self._gradients = traced(self._backward)

  def __call__(self, batch, step, context):
    """Returns dense gradients, and {metric: float32 [2]}, of this replica.

    Args:
      batch: {name: tensor [B, ...]}, the rows of this replica.
      step: int32 scalar.
      context: `tf.distribute.ReplicaContext`.
    """
    task, replicas = self._task, context.num_replicas_in_sync
    replica = tf.cast(context.replica_id_in_sync_group, tf.int32)
    rows = row_groups.RowGroups(
      self._inputs(batch),
      step * replicas + replica,
      task.chunk_size,
      cuts=not self._config.jit_compile,  # XLA would compile each length.
    )

    def slopes_of(outputs):
      outputs = tf.nest.map_structure(rows.rows, outputs)
      slopes, metrics = self._slopes(batch, outputs, rows, context)
      return tf.nest.map_structure(rows.parts, slopes), metrics

    num_examples = batch[features.INPUT_IDS].shape[0]
    if not task.chunk_size or task.chunk_size >= num_examples:
      return self._differentiated(
        lambda: self._outputs_at_once(rows), slopes_of
      )
    slopes, metrics = slopes_of(self._outputs_in_turn(rows))
    return self._sum(rows, slopes), metrics

  def _inputs(self, batch):
    """Returns {name: tensor [T * B, L, ...]}, texts one after the other."""
    numbers = range(self._task.num_texts)
    return {
      name: _concat([batch[features.of_text(name, k)] for k in numbers])
      for name, x in batch.items()
      if "/" not in name and len(x.shape) > 1
    }

  def _differentiated(self, forward, slopes_of):
    """Returns the dense gradients of outputs with given gradients, and more.

    Args:
      forward: callable that returns the outputs.
      slopes_of: callable (outputs) -> (their gradients, what else to return).
    """
    with tf.GradientTape(watch_accessed_variables=False) as tape:
      tape.watch(self._variables)
      outputs = forward()
    slopes, more = slopes_of(outputs)
    gradients = tape.gradient(
      tf.nest.flatten(outputs), self._variables, tf.nest.flatten(slopes)
    )
    return [*map(tf.convert_to_tensor, gradients)], more

  def _outputs_of(self, rows, i):
    """Returns {name: [size, ...]} of a part, of the whole length."""
    return {
      name: rows.fill(x, i) if len(x.shape) > 2 else x
      for name, x in self._outputs(*rows.part(i)).items()
    }

  def _outputs_at_once(self, rows):
    """Returns {name: [parts, size, ...]}, to be differentiated."""
    outputs = [self._outputs_of(rows, i) for i in range(rows.number)]
    return tf.nest.map_structure(lambda *parts: tf.stack(parts), *outputs)

  def _outputs_in_turn(self, rows):
    """Returns {name: [parts, size, ...]}."""

    def write(i, arrays):
      outputs = self._outputs_of(rows, i)
      return i + 1, {
        name: arrays[name].write(i, x) for name, x in outputs.items()
      }

    arrays = {
      name: tf.TensorArray(x.dtype, rows.number).write(0, x)
      for name, x in self._outputs_of(rows, 0).items()
    }
    _, arrays = tf.while_loop(
      lambda i, _: i < rows.number,
      write,
      (1, arrays),
      parallel_iterations=1,  # More parts at once would take more memory.
    )
    return {name: array.stack() for name, array in arrays.items()}

  def _slopes(self, batch, outputs, rows, context):
    """Returns the gradients of outputs, shaped as these, and the metrics.

    Args:
      batch: {name: tensor [B, ...]}.
      outputs: {name: tensor [T * B, ...]}, texts one after the other.
      rows: `RowGroups`.
      context: as of `__call__`.
    """
    number, replicas = self._task.num_texts, context.num_replicas_in_sync
    split = {name: tf.split(x, number) for name, x in outputs.items()}
    outputs = [{name: x[k] for name, x in split.items()} for k in range(number)]
    own = outputs
    if replicas > 1:
      gather = functools.partial(context.all_gather, axis=0)
      batch, outputs = tf.nest.map_structure(gather, (batch, outputs))
    with tf.GradientTape() as tape:
      tape.watch(outputs)
      losses = self._task.losses(batch, outputs)
      denominators = self._task.denominators(batch)
      loss = tf.add_n(
        [losses[name] / tf.maximum(denominators[name], 1.0) for name in losses]
      )
    slopes = tape.gradient(loss, outputs, unconnected_gradients="zero")

    def of_replica(slope, output):
      size = output.shape[0]
      start = context.replica_id_in_sync_group * size
      return tf.ensure_shape(slope[start : start + size], output.shape)

    if replicas > 1:
      slopes = tf.nest.map_structure(of_replica, slopes, own)
    slopes = {
      name: tf.concat([each[name] for each in slopes], axis=0) for name in split
    }
    # All replicas have computed the same, and are summed.
    metrics = {"loss": (loss, 1.0), **self._task.metrics(batch, outputs)}
    metrics = {
      name: (value / replicas, count / replicas)
      for name, (value, count) in metrics.items()
    }
    tokens, positions = rows.num_tokens, rows.num_positions
    metrics |= {
      "tokens_per_step": (tokens, 1.0 / replicas),
      "padding_share": (positions - tokens, positions),
    }
    return slopes, {name: tf.stack(pair) for name, pair in metrics.items()}

  def _sum(self, rows, slopes):
    """Returns the gradients of the weights, summed over the parts.

    Args:
      rows: `RowGroups`.
      slopes: {name: [parts, size, ...]}, gradients of the outputs.
    """

    def add(i, total):
      inputs, *place = rows.part(i)
      slope = {
        name: rows.cut(x[i], i) if len(x.shape) > 3 else x[i]
        for name, x in slopes.items()
      }
      gradients = self._gradients(inputs, slope, *place)
      return i + 1, [*map(tf.add, total, gradients)]

    _, total = tf.while_loop(
      lambda i, _: i < rows.number,
      add,
      (0, [tf.zeros(v.shape, v.dtype) for v in self._variables]),
      parallel_iterations=1,
    )
    return total

  def _forward(self, inputs, group, place):
    """Returns {name: tensor [size, ...]} of a part."""
    with (
      row_numbers.random_seed(self._config.random_seed, group, place),
      dropout.rematerialize(self._config.rematerialize),
    ):
      return self._call_model(inputs, training=True)

  def _backward(self, inputs, slopes, group, place):
    """Returns dense gradients of a part, of those of its outputs."""
    gradients, _ = self._differentiated(
      lambda: self._forward(inputs, group, place), lambda _: (slopes, None)
    )
    return gradients


def _concat(texts):
  """Returns tensors [B, L, ...], each L its own, as one [T * B, L, ...]."""
  lengths = [text.shape[1] for text in texts]
  if None in lengths:
    lengths = [tf.shape(text)[1] for text in texts]
    length, fixed = tf.reduce_max(lengths), None
  else:
    length = fixed = max(lengths)
  others = [[0, 0]] * (len(texts[0].shape) - 2)
  x = tf.concat(
    [
      tf.pad(text, [[0, 0], [0, length - own], *others])
      for text, own in zip(texts, lengths, strict=True)
    ],
    axis=0,
  )
  return tf.ensure_shape(x, [x.shape[0], fixed, *x.shape[2:]])
