"""Servables of classification and regression: texts to labels or scores."""

import numpy as np
import tensorflow as tf

from keras_bert_impl import options as options_lib
from keras_bert_impl.checkpoints.descriptions import description
from keras_bert_impl.kinds.texts import classification_data, text_options
from keras_bert_impl.serving import servables, text_row
from keras_bert_impl.tasks.basics import example_types


class _TextServable(servables.Servable):
  """Base class of classification and regression. Abstract.

  Args:
    model: `SequenceClassifier`.
    tokenizer: as `Servable`.
    max_seq_length: as `Servable`.
    labels: as `Servable`.
    text_pairs: bool, whether there are two texts, the second as `text_pair`.
  """

  options = ("text_pairs",)
  has_pooler = True

  def __init__(
    self, model, tokenizer, max_seq_length, labels, text_pairs=False
  ):
    super().__init__(model, tokenizer, max_seq_length, labels)
    self.text_pairs = text_pairs
    if text_pairs:
      servables.take_pairs(self)

  def _logits(self, text, text_pair):
    """Returns float32 [B, C], and whether texts are cut, bool [B]."""
    rows, is_cut = self.encode(text, text_pair)
    [logits] = self.outputs(rows, "logits")
    return logits, is_cut


class _LabelServable(_TextServable):
  """Base class of classification, of one label or of several. Abstract.

  Args:
    model: `SequenceClassifier` with a logit for each class.
    tokenizer: as `Servable`.
    max_seq_length: as `Servable`.
    labels: tuple of str, in the order of the logits.
    text_pairs: bool, whether there are two texts, the second as `text_pair`.
    label_names: {label: what it means}, for people; of any labels.

  Raises:
    ValueError: as `Servable`.
  """

  options = options_lib.names(text_options.TextServing)

  def __init__(
    self,
    model,
    tokenizer,
    max_seq_length,
    labels,
    text_pairs=False,
    label_names=None,
  ):
    super().__init__(model, tokenizer, max_seq_length, labels, text_pairs)
    self._label_names = {
      label: name
      for label, name in (label_names or {}).items()
      if label in self.labels
    }

  @classmethod
  def of_training(cls, recorded):
    """Returns the names of the labels of a published data set."""
    task_name = recorded.get("task_name")
    return {"label_names": classification_data.label_names(task_name)}

  def describe(self):
    """Returns {name: JSON value} that describes it; see `Servable`."""
    if not self._label_names:
      return super().describe()
    return super().describe() | {"label_names": dict(self._label_names)}

  def definitions(self):
    """Returns as `Servable`, with the signature of TF Serving's Classify.

    Its outputs are classes, string [B, C], and scores, float32 [B, C].
    """
    definitions = super().definitions()

    def classify(inputs):
      answer = definitions[servables.TF_EXAMPLE].function(inputs)
      return {"classes": answer["labels"], "scores": answer["probabilities"]}

    classified = self.on_examples(classify, "inputs")
    return definitions | {servables.CLASSIFY: classified}


class ClassificationServable(_LabelServable):
  """Classifies texts or pairs of texts: label and probability of each class.

  Args: those of a model with a logit for each class, its labels, and what these
    mean; see `_LabelServable`.
  """

  head = "classification"

  @staticmethod
  def predictions(outputs, row, labels):
    """Returns the likeliest class; see `Servable`."""
    logits = outputs["logits"]
    labels = labels or description.default_labels(len(logits))
    best, share = text_row.likeliest(logits)
    label = f"{labels[best]} ({share:.1%})"
    return [text_row.Prediction(label, "logits", (best,))]

  def answer(self, text, text_pair=None):
    """Answers texts [B] or pairs of texts [B] and [B].

    Returns:
      label string [B] and score float32 [B], the likeliest class and its
      probability; labels string [B, C] and probabilities float32 [B, C], all
      classes in the order of the model; is_cut bool [B], whether a text has
      more tokens than max_seq_length has room for.
    """
    logits, is_cut = self._logits(text, text_pair)
    return _class_of(logits, self.labels) | {servables.IS_CUT: is_cut}


class MultiLabelServable(_LabelServable):
  """Finds any number of labels for texts or pairs of texts.

  Args: as `ClassificationServable`.
  """

  head = "multi_label"

  @staticmethod
  def predictions(outputs, row, labels):
    """Returns the labels that apply, or the likeliest; see `Servable`."""
    logits = outputs["logits"]
    labels = labels or description.default_labels(len(logits))
    shares = 1 / (1 + np.exp(-logits))
    places = np.flatnonzero(logits > 0)
    return [
      text_row.Prediction(f"{labels[k]} ({shares[k]:.1%})", "logits", (int(k),))
      for k in (places if len(places) else [np.argmax(logits)])
    ]

  def answer(self, text, text_pair=None):
    """Answers texts [B] or pairs of texts [B] and [B].

    Returns:
      label string [B], those labels whose probability is above 0.5, separated
      by "|"; labels string [B, C] and probabilities float32 [B, C], all of
      them in the order of the model; is_cut bool [B], as of classification.
    """
    logits, is_cut = self._logits(text, text_pair)
    return _labels_of(logits, self.labels) | {servables.IS_CUT: is_cut}


class RegressionServable(_TextServable):
  """Scores texts or pairs of texts.

  Args:
    model: `SequenceClassifier` with one logit.
    tokenizer: as `Servable`.
    max_seq_length: as `Servable`.
    text_pairs: bool, whether there are two texts, the second as `text_pair`.

  Raises:
    ValueError: as `Servable`; and if the model has several logits.
  """

  head = "regression"

  @staticmethod
  def predictions(outputs, row, labels):
    """Returns the score; see `Servable`."""
    [score] = outputs["logits"]
    return [text_row.Prediction(f"{score:.3f}", "logits", (0,))]

  def __init__(self, model, tokenizer, max_seq_length, text_pairs=False):
    num_classes = model.output["logits"].shape[-1]
    if num_classes != 1:
      raise ValueError(
        f"The head regression needs a model with 1 output, not {num_classes}: "
        "export it with the head classification."
      )
    super().__init__(model, tokenizer, max_seq_length, None, text_pairs)

  def definitions(self):
    """Returns as `Servable`, with the signature of TF Serving's Regress.

    Its outputs are float32 [B, 1].
    """
    definitions = super().definitions()

    def regress(inputs):
      answer = definitions[servables.TF_EXAMPLE].function(inputs)
      return {"outputs": answer["scores"][:, tf.newaxis]}

    regressed = self.on_examples(regress, "inputs")
    return definitions | {servables.REGRESS: regressed}

  def answer(self, text, text_pair=None):
    """Answers texts [B] or pairs of texts.

    Returns:
      scores float32 [B]; is_cut bool [B], whether a text has more tokens than
      max_seq_length has room for.
    """
    logits, is_cut = self._logits(text, text_pair)
    return _score_of(logits, None) | {servables.IS_CUT: is_cut}


def answer(head, logits, labels):
  """Returns what a head says of texts, {output: [B, ...]}; see its servable.

  Args:
    head: str, of classes, several labels or scores.
    logits: float32 [B, C].
    labels: tuple of C str, or None.
  """
  return _ANSWERS[head](logits, labels)


def _class_of(logits, labels):
  probabilities = tf.nn.softmax(logits)  # [B, C]
  return {
    "label": tf.gather(tf.constant(labels), tf.argmax(probabilities, axis=-1)),
    "score": tf.reduce_max(probabilities, axis=-1),
    "labels": _repeated(labels, logits),
    "probabilities": probabilities,
  }


def _labels_of(logits, labels):
  labels = _repeated(labels, logits)  # [B, C]
  found = tf.ragged.boolean_mask(labels, logits > 0)
  separator = example_types.LABEL_SEPARATOR
  return {
    "label": tf.strings.reduce_join(found, axis=-1, separator=separator),
    "labels": labels,
    "probabilities": tf.sigmoid(logits),
  }


def _score_of(logits, labels):
  del labels  # A score has none.
  return {"scores": logits[:, 0]}


def _repeated(labels, logits):
  """Returns the labels of each row, string [B, C]."""
  return tf.tile(tf.constant(labels)[tf.newaxis], [tf.shape(logits)[0], 1])


_ANSWERS = {
  ClassificationServable.head: _class_of,
  MultiLabelServable.head: _labels_of,
  RegressionServable.head: _score_of,
}
