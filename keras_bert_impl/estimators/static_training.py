"""Trains static embeddings by Keras, for `StaticEncoder`."""

import dataclasses

import keras
import numpy as np
import tensorflow as tf

from keras_bert_impl import features, options
from keras_bert_impl.estimators import embedding_trainer
from keras_bert_impl.runs.fine_tuning import task_parts
from keras_bert_impl.runs.labelled_data import task_options
from keras_bert_impl.serving.heads import static_vectors
from keras_bert_impl.tasks.embeddings import (
  embedding_rows,
  embedding_task,
  losses,
)
from tfrecords.labelled import data_sets, embedding_data

_TEXTS = 1000  # that the tokenizer is given at once
# Options of a run that a table has no use for.
_NOT_HERE = ("chunk_size", "pooling")


def splits(data, targets, validation_data, settings):
  """Returns the examples to train on, and those to score or None.

  Args:
    data: as of `StaticEncoder.fit`.
    targets: the same.
    validation_data: the same.
    settings: dict, from which the names of columns are taken.
  """
  names = embedding_trainer.COLUMNS
  columns = {name: settings.pop(name) for name in names if name in settings}
  examples = embedding_trainer.examples_of(
    data, targets, split="train", **columns
  )
  if validation_data is None:
    return examples, None
  if isinstance(validation_data, float):
    options.check_numbers("(0, 1)", validation_data=validation_data)
    return data_sets.hold_out(examples, validation_data)
  if not isinstance(validation_data, tuple):
    validation_data = (validation_data,)
  return examples, embedding_trainer.examples_of(*validation_data, **columns)


class Training:
  """Training of a `StaticEncoder`; arguments as of its `fit`."""

  def __init__(
    self,
    encoder,
    epochs,
    batch_size,
    learning_rate,
    random_seed=0,
    callbacks=(),
    **settings,
  ):
    for name in _NOT_HERE:
      if settings.get(name) is not None:
        raise ValueError(
          f"{name} ({settings[name]!r}) must be left out: a text is the mean of"
          " its rows, and a batch is computed at once."
        )
    self.encoder = encoder
    self.epochs = epochs
    self.batch_size = batch_size
    self.learning_rate = learning_rate
    self.random_seed = random_seed
    self.callbacks = [*callbacks]
    self.options = task_options.EmbeddingOptions(**settings)

  def run(self, examples, held_out=None):
    """Trains; returns the `keras.callbacks.History`.

    Args:
      examples: list of `EmbeddingExample`.
      held_out: the same, to score after each epoch; or None.
    """
    encoder, loss = self.encoder, losses.LOSSES[self.options.loss]
    examples = embedding_data.check_training(examples, loss, self.options.loss)
    task = self._task(len(examples[0].texts))
    task.check_widths(encoder.model)
    prompts = {
      name: given
      for name in ("query", "document")
      for given in [getattr(self.options, f"{name}_prompt")]
      if given is not None
    }
    prompts = encoder.texts.prompts | prompts
    encoder.texts = dataclasses.replace(encoder.texts, prompts=prompts)
    callbacks = self.callbacks
    if held_out:
      callbacks = [_Scores(encoder, held_out), *callbacks]
    trainer = _Trainer(encoder.model, task)
    optimizer = keras.optimizers.Adam(self.learning_rate)
    # Batches differ in length, and each would be compiled anew.
    trainer.compile(optimizer, jit_compile=False)
    batches = self._batches(examples)
    return trainer.fit(
      batches,
      epochs=self.epochs,
      callbacks=callbacks,
      shuffle=False,  # The dataset does it.
      verbose=0,
    )

  def _task(self, num_texts):
    """Returns the `EmbeddingTask`, for its losses alone."""
    options = self.options
    given = {}
    if options.temperature is not None:
      given["temperature"] = options.temperature
    return embedding_task.EmbeddingTask(
      self.encoder.model.config,
      num_texts,
      options.loss,
      both_ways=options.both_ways,
      margin=options.margin,
      widths=task_parts.widths(options.matryoshka_widths),
      **given,
    )

  def _batches(self, examples):
    """Returns a dataset of what `EmbeddingTask.losses` reads."""
    scores = [example.score or 0.0 for example in examples]
    columns = {features.LABEL_IDS: np.array(scores, np.float32)}
    for k in range(len(examples[0].texts)):
      kind = "document" if k else "query"
      texts = [example.texts[k] for example in examples]
      text_ids = [*map(embedding_rows.text_id, texts)]
      found = {
        features.INPUT_IDS: self._pieces(texts, kind),
        features.TEXT_IDS: np.array(text_ids, np.int32),
      }
      columns |= {features.of_text(name, k): x for name, x in found.items()}
    # Losses compare the rows of a batch, whose number they must know.
    size = min(self.batch_size, len(examples))
    dataset = tf.data.Dataset.from_tensor_slices(columns)
    dataset = dataset.shuffle(len(examples), self.random_seed)
    return dataset.batch(size, drop_remainder=True).map(_padded).prefetch(2)

  def _pieces(self, texts, kind):
    """Returns the ids of texts, int32 RaggedTensor [N, (pieces)]."""
    encoder = self.encoder
    prompt = encoder.texts.prompts.get(kind, "")
    limit = encoder.texts.max_seq_length
    parts = [
      static_vectors.tokenize(
        encoder.tokenizer, texts[start : start + _TEXTS], prompt, limit
      )
      for start in range(0, len(texts), _TEXTS)
    ]
    return tf.concat(parts, axis=0)


def _padded(batch):
  """Returns a batch whose ids have padding, and masks beside them."""
  size = batch[features.LABEL_IDS].shape[0]
  found = {}
  for name, values in batch.items():
    if isinstance(values, tf.RaggedTensor):
      mask = name.replace(features.INPUT_IDS, features.INPUT_MASK)
      found[mask] = tf.ones_like(values).to_tensor(0, shape=[size, None])
      values = values.to_tensor(0, shape=[size, None])
    found[name] = values
  return found


class _Trainer(keras.Model):
  """A model whose loss is that of an `EmbeddingTask`."""

  def __init__(self, model, task):
    super().__init__(name="static_trainer")
    self.model = model
    self.task = task

  def call(self, inputs, training=None):
    """Returns the outputs of the model for each text of the examples."""
    return [
      self.model(
        {
          name: inputs[features.of_text(name, k)]
          for name in (features.INPUT_IDS, features.INPUT_MASK)
        },
        training=training,
      )
      for k in range(self.task.num_texts)
    ]

  def compute_loss(self, x=None, y=None, y_pred=None, *args, **kwargs):
    """Returns the mean of the losses of the examples."""
    [loss] = self.task.losses(x, y_pred).values()
    [number] = self.task.denominators(x).values()
    return loss / number


class _Scores(keras.callbacks.Callback):
  """Puts the scores of held-out examples into the logs of an epoch."""

  def __init__(self, encoder, examples):
    super().__init__()
    self._score = lambda: encoder.score(examples)

  def on_epoch_end(self, epoch, logs=None):
    """Adds val_ and the name of each metric."""
    logs.update({f"val_{name}": x for name, x in self._score().items()})
