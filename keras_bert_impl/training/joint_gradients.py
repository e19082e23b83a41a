"""Gradients of losses that compare the rows of a batch, chunk by chunk.

Such a loss needs the outputs of all rows at once, so that micro-batches cannot
simply follow each other. Instead:

1. the model computes the outputs of one chunk after the other, and nothing else
   is kept;
2. the loss of all outputs, those of all replicas, gives the gradient of each;
3. each chunk is computed once more, to take that gradient on to the weights.

Dropout masks are functions of seed, step and row: the second pass draws those
of the first, without any state, and a chunk those of the whole batch.

Source: Gao et al. 2021, "Scaling deep contrastive learning batch size under
memory limited setup".
"""

import functools

import tensorflow as tf

from keras_bert_impl import features
from keras_bert_impl.layers.basics import dropout
from keras_bert_impl.training import row_numbers


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
    num_rows = batch[features.INPUT_IDS].shape[0]
    size = min(self._task.chunk_size or num_rows, num_rows)
    number = -(-num_rows // size)
    first = tf.cast(context.replica_id_in_sync_group, tf.int32) * number
    texts = [self._inputs(batch, k) for k in range(self._task.num_texts)]
    if number == 1:
      return self._differentiated(
        lambda: [
          self._forward(text, self._index(step, k), first)
          for k, text in enumerate(texts)
        ],
        lambda outputs: self._slopes(batch, outputs, context),
      )
    split = functools.partial(_split, number=number, size=size)
    chunks = tf.nest.map_structure(split, texts)
    outputs = [
      self._outputs_of(text, k, step, first) for k, text in enumerate(chunks)
    ]
    joined = tf.nest.map_structure(lambda x: _join(x)[:num_rows], outputs)
    slopes, metrics = self._slopes(batch, joined, context)
    slopes = tf.nest.map_structure(split, slopes)
    return self._sum(chunks, slopes, step, first), metrics

  def _inputs(self, batch, index):
    """Returns {name: tensor}, the features of one text of each row."""
    ends = f"/{index}" if index else ""
    return {
      name.removesuffix(ends): x
      for name, x in batch.items()
      if (name.endswith(ends) if ends else "/" not in name)
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

  def _outputs_of(self, chunks, k, step, first):
    """Returns {name: [chunks, rows, ...]} of one text of each row."""
    number = next(iter(chunks.values())).shape[0]

    def outputs(i):
      inputs = {name: x[i] for name, x in chunks.items()}
      return self._outputs(inputs, self._index(step, k), first + i)

    def write(i, arrays):
      return i + 1, {
        name: arrays[name].write(i, x) for name, x in outputs(i).items()
      }

    arrays = {
      name: tf.TensorArray(x.dtype, number).write(0, x)
      for name, x in outputs(0).items()
    }
    _, arrays = tf.while_loop(
      lambda i, _: i < number,
      write,
      (1, arrays),
      parallel_iterations=1,  # More chunks at once would take more memory.
    )
    return {name: array.stack() for name, array in arrays.items()}

  def _slopes(self, batch, outputs, context):
    """Returns the gradients of outputs, shaped as these, and the metrics."""
    replicas, own = context.num_replicas_in_sync, outputs
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
    masks = [
      tf.reduce_sum(batch[features.of_text(features.INPUT_MASK, k)])
      for k in range(self._task.num_texts)
    ]
    metrics = {
      "loss": (loss, 1.0),
      "tokens_per_step": (tf.cast(tf.add_n(masks), tf.float32), 1.0),
      **self._task.metrics(batch, outputs),
    }
    # All replicas have computed the same, and are summed.
    return slopes, {
      name: tf.stack(pair) / replicas for name, pair in metrics.items()
    }

  def _sum(self, chunks, slopes, step, first):
    """Returns the gradients of the weights, summed over chunks and texts."""
    number = next(iter(chunks[0].values())).shape[0]

    def add(i, total):
      for k in range(len(chunks)):
        inputs, slope = tf.nest.map_structure(
          lambda x: x[i], (chunks[k], slopes[k])
        )
        index = self._index(step, k)
        gradients = self._gradients(inputs, slope, index, first + i)
        total = [tf.add(a, b) for a, b in zip(total, gradients, strict=True)]
      return i + 1, total

    _, total = tf.while_loop(
      lambda i, _: i < number,
      add,
      (0, [tf.zeros(v.shape, v.dtype) for v in self._variables]),
      parallel_iterations=1,
    )
    return total

  def _index(self, step, k):
    """Returns the number of a batch's text among those of all batches."""
    return step * self._task.num_texts + k

  def _forward(self, inputs, index, part):
    """Returns {name: tensor [rows, ...]} of a chunk."""
    with (
      row_numbers.random_seed(self._config.random_seed, index, part),
      dropout.rematerialize(self._config.rematerialize),
    ):
      return self._call_model(inputs, training=True)

  def _backward(self, inputs, slopes, index, part):
    """Returns dense gradients of a chunk, of those of its outputs."""
    gradients, _ = self._differentiated(
      lambda: self._forward(inputs, index, part), lambda _: (slopes, None)
    )
    return gradients


def _split(x, number, size):
  """Returns [B, ...] as [number, size, ...], with rows of zeros at the end."""
  rest = number * size - x.shape[0]
  x = tf.pad(x, [[0, rest]] + [[0, 0]] * (len(x.shape) - 1))
  shape = tf.concat([[number, size], tf.shape(x)[1:]], axis=0)
  return tf.ensure_shape(tf.reshape(x, shape), [number, size, *x.shape[1:]])


def _join(x):
  """Returns [number, size, ...] as [number * size, ...]."""
  rows = x.shape[0] * x.shape[1]
  joined = tf.reshape(x, tf.concat([[rows], tf.shape(x)[2:]], axis=0))
  return tf.ensure_shape(joined, [rows, *x.shape[2:]])
