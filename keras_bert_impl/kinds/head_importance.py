"""Measures how much each head of attention matters for a task."""

import numpy as np
import tensorflow as tf

from keras_bert_impl import heads, kinds
from keras_bert_impl.kinds import opening, scorer
from keras_bert_impl.model_folders import head_pruning, trained_models
from keras_bert_impl.tasks.basics import cross_entropy


def measure(checkpoint, num_heads, path, columns=()):
  """Returns the importance of each head for labelled examples, [layers, N].

  It is the mean size of the derivative of an example's loss by a factor of
  what the head gives.

  Args:
    checkpoint: str, a model that was trained for a task.
    num_heads: int, heads of each layer to keep, which is checked.
    path: str, file of labelled examples, as the script of the task reads it.
    columns: list of str, its columns, as of `scorer.Scorer`.

  Raises:
    FileNotFoundError: there is no such checkpoint or file.
    ValueError: the head has no labelled examples, one of them is wrong, or
      layers cannot have fewer heads.

  Source: Michel et al. 2019, "Are Sixteen Heads Really Better than One?",
  section 4.1.
  """
  trained = opening.load(trained_models.find_folder(checkpoint))
  head_pruning.pruned_config(trained.model.config, num_heads, checkpoint)
  scored = scorer.Scorer(
    trained.head, checkpoint, path, ("--head_data", "--head_columns"), columns
  )
  slopes = _Slopes(trained)
  scored.score(slopes)
  return slopes.mean()


class _Slopes:
  """A model as a function of batches of rows, which sums up its slopes."""

  def __init__(self, trained):
    self._model = trained.model
    if trained.head == heads.ENCODER:
      raise ValueError(
        f"--head_data needs a model with a head for labels; {trained.path} has"
        " none."
      )
    self._task = trained_models.make_task(
      kinds.all_kinds(),
      trained.recorded.get("head", trained.head),
      trained.model.config,
      # Rows say how many choices they have.
      {"num_choices": 1} | trained.recorded,
    )
    self._kernels = head_pruning.output_kernels(trained.model.weights)
    self._run = tf.function(self._run, reduce_retracing=True)
    self._sum, self._number = 0.0, 0

  def __call__(self, batches):
    """Yields {output: array [B, ...]} of batches {name: int32 [B, ...]}."""
    for batch in batches:
      found = []
      for place, is_row in enumerate(cross_entropy.row_weights(batch).numpy()):
        row = {name: x[place : place + 1] for name, x in batch.items()}
        outputs, slopes = self._run(row)
        self._sum += is_row * np.abs(slopes.numpy())
        self._number += is_row
        found.append({name: x.numpy() for name, x in outputs.items()})
      yield {
        name: np.concatenate([each[name] for each in found])
        for name in found[0]
      }

  def mean(self):
    """Returns the mean sizes of the slopes, float [layers, N]."""
    return self._sum / self._number

  def _run(self, row):
    """Returns the outputs of a row, and the slopes float [layers, N].

    What a head gives goes through its rows of a kernel, so that a factor of
    the head is one of these rows.
    """
    with tf.GradientTape(watch_accessed_variables=False) as tape:
      kernels = [kernel.value for kernel in self._kernels]
      tape.watch(kernels)
      outputs = self._model({name: row[name] for name in self._model.input})
      loss = sum(self._task.losses(row, outputs).values())
    heads_ = self._model.config.num_attention_heads
    gradients = tape.gradient(loss, kernels)
    products = [
      tf.reshape(kernel * gradient, (heads_, -1))
      for kernel, gradient in zip(kernels, gradients, strict=True)
    ]
    return outputs, tf.reduce_sum(tf.stack(products), axis=2)
