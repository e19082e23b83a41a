"""Saliency, what a prediction rests on: gradient x input of each token.

The gradient of a logit to the embedding of a token, as the first layer gets it
(word, segment and position, normalized), times that embedding: how much the
logit would fall if the embedding went to 0, were it linear. Not of the word
embedding alone: where nothing is added to it, as in DeBERTa and ModernBERT,
LayerNorm takes its length away, and the product is 0 for every token.

Source: Denil et al. 2014, "Extraction of salient sentences", section 3;
Shrikumar et al. 2016, "Not just a black box", section 1. Axes: T predictions, L
tokens, C classes.
"""

import keras
import tensorflow as tf

from keras_bert_impl import models


def predictions(model, servable_class, row, labels=None):
  """Returns the predictions of a model for a row.

  Args:
    model: with the head.
    servable_class: `Servable` of its head, which says what it predicts.
    row: `text_row.TextRow`.
    labels: list of C str, the names of the classes; None: they are numbered.
      To fill masks, the tokens of the vocabulary.

  Returns:
    list of `text_row.Prediction`, and a str that says why there is none, or "".
  """
  reason = f"There is no saliency: {servable_class.unpredicted}."
  if servable_class.predictions is None:
    return [], reason
  if isinstance(model.encoder, models.BidirectionalPair):
    return [], "There is no saliency of a pair of encoders."
  outputs = model({name: row.inputs[name] for name in model.input})
  outputs = {
    name: keras.ops.convert_to_numpy(x[0]) for name, x in outputs.items()
  }
  found = servable_class.predictions(outputs, row, labels)
  return found, "" if found else reason


def saliency(model, row, found):
  """Returns gradient x input of predictions, float32 [T, L].

  Args:
    model: with an `encoder`, a `TransformerEncoder`.
    row: `text_row.TextRow`.
    found: list of T `text_row.Prediction`.
  """
  # Each prediction has a row of the batch, and so a gradient of its own.
  rows = {
    name: tf.repeat(row.inputs[name], len(found), axis=0)
    for name in model.input
  }
  embeddings = model.encoder.embeddings.output
  hidden, table = keras.Model(model.input, embeddings)(rows)
  upper = keras.Model([*embeddings, model.input], model.output)
  with tf.GradientTape() as tape:
    tape.watch(hidden)
    outputs = upper([hidden, table, rows])
    total = tf.add_n(
      [outputs[one.output][(k, *one.index)] for k, one in enumerate(found)]
    )
  gradient = tape.gradient(total, hidden)
  return tf.reduce_sum(gradient * hidden, axis=-1).numpy()
