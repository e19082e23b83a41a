"""Servable of zero-shot classes: texts and labels to a score of each label.

Axes, besides those of `servables`: L labels of a text.
"""

import tensorflow as tf
from absl import logging

from keras_bert_impl import options
from keras_bert_impl.kinds.zero_shot import zero_shot_options
from keras_bert_impl.serving import servables
from keras_bert_impl.tasks.basics import example_types

LABELS = "labels"
_PLACE = "{}"


class ZeroShotServable(servables.Servable):
  """Says which of the labels of a request a text has.

  A label becomes a hypothesis, "This example is sport.", and a model of NLI
  tells how far the text entails it. Any number of labels; a text that has fewer
  than another one of its batch has "" in place of the others.

  Args:
    model: `SequenceClassifier` of pairs, with the class entailment.
    tokenizer: as `Servable`.
    max_seq_length: as `Servable`; of longer pairs the text is cut.
    labels: tuple of str, the model's classes. Entailment is the first that
      begins so, and without one the last of all.
    hypothesis_template: str, with {} in the place of a label.
    multi_label: bool, whether a label is judged by itself, against its
      contradiction; else scores of labels sum to 1. One label alone always is.
    text_pairs: bool, whether the model was trained on pairs.

  Raises:
    ValueError: as `Servable`; or the model has one class, or was trained on
      single texts; or the template has not one {}.

  Source: transformers, pipelines/zero_shot_classification.py.
  """

  head = "zero_shot"
  inputs = servables.Servable.inputs | {
    LABELS: tf.TensorSpec([None, None], tf.string, LABELS)
  }
  example = {
    servables.TEXT: ["The striker scored twice."],
    LABELS: [["sport", "money"]],
  }
  options = options.names(zero_shot_options.ZeroShotServing)
  recorded = ("text_pairs",)
  has_pooler = True
  has_two_texts = True
  unpredicted = "this model compares several hypotheses"

  def __init__(
    self,
    model,
    tokenizer,
    max_seq_length,
    labels,
    hypothesis_template=zero_shot_options.TEMPLATE,
    multi_label=False,
    text_pairs=True,
  ):
    super().__init__(model, tokenizer, max_seq_length, labels)
    if len(self.labels) < 2 or not text_pairs:
      raise ValueError(
        "Zero-shot classes need a model of NLI, with the classes entailment and"
        " contradiction of pairs, but this one has"
        f" {', '.join(self.labels)} of {'pairs' if text_pairs else 'texts'}:"
        " choose another, or train one on pairs."
      )
    if hypothesis_template.count(_PLACE) != 1:
      raise ValueError(
        f"hypothesis_template ({hypothesis_template!r}) must have {_PLACE}"
        f" once, where a label goes, as in {zero_shot_options.TEMPLATE!r}."
      )
    self.hypothesis_template = hypothesis_template
    self.multi_label = multi_label
    self._entailment = _entailment(self.labels)

  def answer(self, text, labels):
    """Answers texts with labels.

    Args:
      text: string [B], UTF-8.
      labels: string [B, L], "" for no label.

    Returns:
      label string [B], the likeliest, "" where there is none, or with
      multi_label all with a score above 0.5, separated by "|"; score float32
      [B], the largest; labels string [B, L], as given; scores float32 [B, L], 0
      for no label; is_cut bool [B], whether the end of the text was not read.
    """
    is_label = labels != ""
    logits, is_cut = self._logits(text, labels)
    entailed = logits[..., self._entailment]  # [B, L]
    against = logits[..., -1 if self._entailment == 0 else 0]
    scores = tf.sigmoid(entailed - against)  # the softmax of two
    if not self.multi_label:
      entailed = tf.where(is_label, entailed, entailed.dtype.min)
      count = tf.math.count_nonzero(is_label, axis=-1, keepdims=True)
      scores = tf.where(count > 1, tf.nn.softmax(entailed), scores)
    scores = tf.where(is_label, scores, 0.0)
    # One more, because there is no largest of none.
    padded = tf.pad(scores, [[0, 0], [0, 1]])
    if self.multi_label:
      found = tf.ragged.boolean_mask(labels, scores > 0.5)
      separator = example_types.LABEL_SEPARATOR
      label = tf.strings.reduce_join(found, axis=-1, separator=separator)
    else:
      names = tf.pad(labels, [[0, 0], [0, 1]], constant_values="")
      label = tf.gather(names, tf.argmax(padded, axis=-1), batch_dims=1)
    return {
      "label": label,
      "score": tf.reduce_max(padded, axis=-1),
      LABELS: labels,
      "scores": scores,
      servables.IS_CUT: tf.reduce_any(is_cut & is_label, axis=-1),
    }

  def _logits(self, text, labels):
    """Returns float32 [B, L, C], of each text with each hypothesis.

    And whether these texts are cut, bool [B, L].
    """
    shape = tf.shape(labels)
    before, after = self.hypothesis_template.split(_PLACE)
    hypotheses = tf.strings.join([before, tf.reshape(labels, [-1]), after])
    pair_pieces = self.tokenizer.tokenize(hypotheses)
    places = tf.repeat(tf.range(shape[0]), shape[1])  # [B * L]
    pieces = tf.gather(self.tokenizer.tokenize(text), places)
    room = self.max_seq_length - self.tokenizer.num_special_tokens(2)
    # Hypotheses stay whole while there is room for a token of the text.
    most = tf.maximum(room - pair_pieces.row_lengths(), 1)
    lengths = tf.minimum(pieces.row_lengths(), most)
    is_cut = pieces.row_lengths() > most
    pieces = tf.RaggedTensor.from_tensor(pieces.to_tensor(), lengths)
    rows, is_shortened = self.assemble(pieces, pair_pieces)
    [logits] = self.outputs(rows, "logits")
    logits = tf.reshape(logits, [*tf.unstack(shape), len(self.labels)])
    return logits, tf.reshape(is_cut | is_shortened, shape)


def _entailment(labels):
  """Returns the place of entailment among the classes of a model; -1: none."""
  for place, label in enumerate(labels):
    if label.lower().startswith("entail"):
      return place
  logging.warning(
    "None of the classes %s begins with entail: the last counts as entailment,"
    " the first as contradiction. labels names them otherwise.",
    ", ".join(labels),
  )
  return -1
