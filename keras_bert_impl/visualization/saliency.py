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

from typing import NamedTuple

import keras
import numpy as np
import tensorflow as tf

from keras_bert_impl import heads, models
from keras_bert_impl.checkpoints.descriptions import description
from keras_bert_impl.tasks.basics import fine_tuning


class Prediction(NamedTuple):
  """A logit of a row's predictions.

  Attributes:
    label: str, what is predicted.
    output: str, the name of the model's output.
    index: tuple of int, of the logit in the output of a row.
    place: int, the token that it is about, or None if it is about all.
  """

  label: str
  output: str
  index: tuple
  place: int | None = None


def predictions(model, head, row, labels=None):
  """Returns the predictions of a model for a row.

  Args:
    model: with the head.
    head: str, one of `heads.SERVED`.
    row: `text_row.TextRow`.
    labels: list of C str, the names of the classes; None: they are numbered.
      To fill masks, the tokens of the vocabulary.

  Returns:
    list of `Prediction`, and a str that says why there is none, or "".
  """
  find, reason = _OF_HEADS.get(head, _UNKNOWN)
  reason = f"There is no saliency: {reason}."
  if find is None:
    return [], reason
  if isinstance(model.encoder, models.BidirectionalPair):
    return [], "There is no saliency of a pair of encoders."
  outputs = model({name: row.inputs[name] for name in model.input})
  outputs = {
    name: keras.ops.convert_to_numpy(x[0]) for name, x in outputs.items()
  }
  found = find(outputs, row, labels)
  return found, "" if found else reason


def saliency(model, row, found):
  """Returns gradient x input of predictions, float32 [T, L].

  Args:
    model: with an `encoder`, a `TransformerEncoder`.
    row: `text_row.TextRow`.
    found: list of T `Prediction`.
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


def _classes(outputs, row, labels):
  logits = outputs["logits"]
  best, share = _best(logits)
  labels = labels or description.default_labels(len(logits))
  label = f"{labels[best]} ({share:.1%})"
  return [Prediction(label, "logits", (best,))]


def _labels_found(outputs, row, labels):
  logits = outputs["logits"]
  labels = labels or description.default_labels(len(logits))
  shares = 1 / (1 + np.exp(-logits))
  places = np.flatnonzero(logits > 0)
  return [
    Prediction(f"{labels[k]} ({shares[k]:.1%})", "logits", (int(k),))
    for k in (places if len(places) else [np.argmax(logits)])
  ]


def _value(outputs, row, labels):
  return [Prediction(f"{outputs['logits'][0]:.3f}", "logits", (0,))]


def _fillings(outputs, row, labels):
  found = []
  for place, token in enumerate(row.tokens):
    if token.is_mask:
      # A table may have more rows than there are tokens.
      best, share = _best(outputs["token_logits"][place, : len(labels)])
      label = f"{labels[best].strip()} ({share:.1%})"
      found.append(Prediction(label, "token_logits", (place, best), place))
  return found


def _answer(outputs, row, labels):
  context = row.places(2)
  if not context:
    return []
  start = max(context, key=lambda place: outputs["start_logits"][place])
  rest = [place for place in context if place >= start]
  end = max(rest, key=lambda place: outputs["end_logits"][place])
  return [
    Prediction(
      f"{side} of the answer: {row.tokens[place].text}",
      f"{side}_logits",
      (place,),
      place,
    )
    for side, place in (("start", start), ("end", end))
  ]


def _tags(outputs, row, labels):
  found = []
  logits = outputs["logits"]
  labels = labels or description.default_labels(logits.shape[-1])
  for place in row.places(1, 2):
    best, share = _best(logits[place])
    label = f"{row.tokens[place].text}: {labels[best]} ({share:.1%})"
    found.append(Prediction(label, "logits", (place, best), place))
  return found


def _replacements(outputs, row, labels):
  return [
    Prediction(
      f"{row.tokens[place].text}: replaced"
      f" ({1 / (1 + np.exp(-outputs['logits'][place])):.1%})",
      "logits",
      (place,),
      place,
    )
    for place in row.places(1, 2)
  ]


# {head: (what finds its predictions, or None; why there may be none)}.
_OF_HEADS = {
  heads.CLASSIFICATION: (_classes, ""),
  heads.MULTI_LABEL: (_labels_found, ""),
  heads.REGRESSION: (_value, ""),
  heads.FILL_MASK: (_fillings, "the text has no mask to fill"),
  heads.QUESTION_ANSWERING: (
    _answer,
    "a question needs a context, the second text",
  ),
  heads.TOKEN_CLASSIFICATION: (_tags, "the text has no tokens"),
  heads.REPLACED_TOKENS: (_replacements, "the text has no tokens"),
  heads.ENCODER: (None, "an encoder without a head predicts nothing"),
  heads.SPARSE: (None, "sparse vectors predict nothing"),
  heads.LATE: (None, "vectors of tokens predict nothing"),
  heads.MULTIPLE_CHOICE: (None, "this model compares several texts"),
}
_UNKNOWN = (None, "what this head predicts is not known")


def _best(logits):
  """Returns the likeliest class of logits [C] and its probability."""
  shares = fine_tuning.softmax(logits)
  best = int(np.argmax(shares))
  return best, float(shares[best])
