"""Servable of types of spans: entities of texts, also inside of others.

Axes: K spans of all texts.
"""

import tensorflow as tf

from keras_bert_impl.kinds.tags import (
  span_classification,
  span_rows,
  tag_servable,
)
from keras_bert_impl.layers.heads import spans
from keras_bert_impl.metrics import tagging
from keras_bert_impl.serving import servables
from keras_bert_impl.tokenizers.graph import steps


class SpanClassificationServable(tag_servable.TokenClassificationServable):
  """Finds entities in texts, which may stand in others; answers as its base.

  A long text is read in the same windows. An entity counts in the window in
  which its first token does, and must end there. Scores are probabilities.

  Args: as the base class, the labels "O" and the types.
  """

  head = span_classification.HEAD
  # A model of ids needs to be told where words begin.
  takes_ids = False
  predictions = None
  unpredicted = "entities are chosen among all spans"

  def answer(self, text):
    """Finds the entities of texts, the longer first of those at one place."""
    text = steps.drop_invalid(text)
    reading = self._reader.read(text)
    rows, _ = self.assemble(reading.pieces)
    rows |= {span_rows.WORD_STARTS: reading.word_starts()}
    is_known, logits = reading.of_tokens(*self.outputs(rows, "logits"))
    first, last, *others = self._choose(logits)
    known = tf.where(is_known)[:, 0]
    edges = tf.gather(known, first), tf.gather(known, last)
    entities = tag_servable.describe(text, reading.tokens, *edges, *others)
    return entities | {servables.IS_CUT: reading.is_cut}

  def _choose(self, logits):
    """Returns the spans that are entities, [K] each: in order.

    Args:
      logits: float32 [tokens, W, C].

    Returns:
      int64, their first and last tokens; string, types; float32, scores.
    """
    shares = tf.nn.softmax(logits)
    # The longer first.
    types = tf.reverse(tf.argmax(shares, axis=-1), [1])
    scores = tf.reverse(tf.reduce_max(shares, axis=-1), [1])
    found = tf.where(types > 0)
    first, width = tf.unstack(found, axis=1)
    last = first + tf.shape(types, tf.int64)[1] - 1 - width
    scores = tf.gather_nd(scores, found)
    names = tf.constant([x or tagging.NO_TYPE for x in self.labels])
    types = tf.gather(names, tf.gather_nd(types, found))
    # Tokens are counted over all texts: spans of two never cross.
    kept = spans.without_crossing(first, last, scores)
    return [tf.boolean_mask(x, kept) for x in (first, last, types, scores)]

  @property
  def row_inputs(self):
    """Inputs of `answer_rows`: where words begin besides."""
    axes = {span_rows.WORD_STARTS: ("batch", "length")}
    return super().row_inputs | axes

  def _make_tags(self):
    return None  # The labels are types.
