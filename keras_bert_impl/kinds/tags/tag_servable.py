"""Servable of token classification: the entities of texts.

Which labels make an entity is read off `metrics.tagging`. Axes: B texts, T
tokens of all of them, E most entities of a text, C labels.
"""

import functools

import numpy as np
import tensorflow as tf

from keras_bert_impl import options as options_lib
from keras_bert_impl.checkpoints.descriptions import description
from keras_bert_impl.kinds.tags import tag_options
from keras_bert_impl.metrics import tagging
from keras_bert_impl.serving import servables, text_row, token_windows
from keras_bert_impl.tokenizers.graph import steps, token_pieces


class TokenClassificationServable(servables.Servable):
  """Finds entities in texts: label, text, offsets and score.

  With tags that mark no entities, such as parts of speech, every token is one.

  A text that is too long for a row is read in sliding windows; each token
  counts in the window that gives it the most context. The model gets at most 32
  windows at a time, for any batch size.

  Args:
    model: `TokenClassifier`, or another with its inputs and outputs.
    tokenizer: as `Servable`.
    max_seq_length: as `Servable`.
    labels: tuple of str, tags in the order of the logits.
    trained_on: what the model has read in training, one of
      `token_pieces.TRAINED_ON`. Of "text", the model reads a text as it is, and
      its pieces are grouped into words; of "words" and "characters", the text
      is cut into these, and each is tokenized by itself. See `text_tokens`.
    doc_stride: int, pieces from one window to the next; None for half a window.
    max_windows: int, windows of a text that are read; tokens beyond them are
      in no entity.
    tag_scheme: `tagging.NO_SCHEME` if the tags mark no entities; any other, or
      None, if they do.

  Raises:
    ValueError: as `Servable`; and if a number is not positive or a label no
      tag.
  """

  head = "token_classification"
  options = options_lib.names(tag_options.TagServing)
  example = {servables.TEXT: ["Ada Lovelace lived in London."]}

  unpredicted = "the text has no tokens"

  @classmethod
  def reader(cls, recorded):
    """Returns how texts are read: by tokens, where it was trained on these."""
    trained_on = recorded.get("trained_on", token_pieces.TEXT)
    if trained_on == token_pieces.TEXT:
      return super().reader(recorded)
    unit = token_pieces.TRAINED_ON[trained_on]
    return functools.partial(text_row.read_tokens, unit=unit)

  @staticmethod
  def predictions(outputs, row, labels):
    """Returns the likeliest label of each token; see `Servable`."""
    logits, found = outputs["logits"], []
    labels = labels or description.default_labels(logits.shape[-1])
    for place in row.places(1, 2):
      best, share = text_row.likeliest(logits[place])
      label = f"{row.tokens[place].text}: {labels[best]} ({share:.1%})"
      index = (place, best)
      found.append(text_row.Prediction(label, "logits", index, place))
    return found

  def __init__(
    self,
    model,
    tokenizer,
    max_seq_length,
    labels,
    trained_on=token_pieces.TEXT,
    doc_stride=None,
    max_windows=32,
    tag_scheme=None,
  ):
    super().__init__(model, tokenizer, max_seq_length, labels)
    self._reader = token_windows.Reader(
      tokenizer, max_seq_length, trained_on, doc_stride, max_windows
    )
    self.trained_on = trained_on
    self.token_unit = token_pieces.TRAINED_ON[trained_on]
    self.doc_stride = self._reader.doc_stride
    self.max_windows = max_windows
    self.tag_scheme = tag_scheme
    self._tags = self._make_tags()
    self._names = ["logits", *({"transitions"} & {*model.output})]

  def _make_tags(self):
    return Tags(self.labels, self.tag_scheme)

  def describe(self):
    """Returns {name: JSON value} that describes it; see `Servable`."""
    return super().describe() | {"token_unit": self.token_unit}

  def answer(self, text):
    """Finds the entities of texts.

    Args:
      text: string [B].

    Returns:
      num_entities int32 [B]; labels and texts string [B, E], "" beyond them;
      starts and ends int32 [B, E], where they stand in the text, in characters
      and `end` exclusive, 0 beyond them; scores float32 [B, E], the mean
      probability of the labels of an entity's tokens, 0 beyond them; is_cut
      bool [B], whether the text has more than max_windows windows.
    """
    text = steps.drop_invalid(text)
    reading = self._reader.read(text)
    rows, _ = self.assemble(reading.pieces)
    outputs = self.outputs(rows, *self._names)
    entities = self._tags.answer(text, reading.tokens, *reading.label(*outputs))
    return entities | {servables.IS_CUT: reading.is_cut}


class Tags:
  """Tables of the labels that form entities: C labels, and one for outside.

  Args:
    labels: tuple of C str.
    tag_scheme: as `TokenClassificationServable`.

  Raises:
    ValueError: a label is no tag.
  """

  def __init__(self, labels, tag_scheme):
    faults = [tagging.find_fault(label, tag_scheme) for label in labels]
    if any(faults):
      raise ValueError(
        f"labels: {next(filter(None, faults))}; for tags that mark no entities"
        f" give tag_scheme={tagging.NO_SCHEME}."
      )
    self._outside = len(labels)
    is_alone = tag_scheme == tagging.NO_SCHEME
    types = [
      label if is_alone else tagging.split_tag(label)[1] for label in labels
    ]
    types.append(None)
    self._is_entity = np.array([t is not None for t in types])
    self._types = [tagging.NO_TYPE if t == "" else t or "" for t in types]
    # Whether an entity goes on from one label to the next, [C + 1, C + 1].
    labels = [*labels, tagging.OUTSIDE]
    self._goes_on = np.array(
      [[not is_alone and _is_one_entity(a, b) for b in labels] for a in labels]
    )

  def answer(self, text, tokens, labels, probabilities):
    """Returns the entities of texts, as `TokenClassificationServable.answer`.

    Args:
      text: string [B], valid UTF-8.
      tokens: `text_tokens.TextTokens`.
      labels: as `_entities`.
      probabilities: the same.
    """
    return describe(text, tokens, *self._entities(labels, probabilities))

  def _entities(self, labels, probabilities):
    """Returns the entities of texts, by the rules of `tagging.entities_of`.

    A token of unknown label is inside of an entity that goes on after it, if
    there is one, and else outside.

    Args:
      labels: int32 RaggedTensor [B, (tokens)].
      probabilities: float32 RaggedTensor [B, (tokens)].

    Returns:
      Of K entities: first and last token, int64, counted over all texts; types,
      string; means of the probabilities of the tokens that are known, float32.
    """
    num_texts = labels.nrows()
    # With what is outside around it, each text is apart from its neighbours.
    edge = tf.fill([num_texts, 1], self._outside)
    labels = tf.concat([edge, labels, edge], axis=1)
    edge = tf.zeros([num_texts, 1])
    probabilities = tf.concat([edge, probabilities, edge], axis=1).flat_values
    is_known = labels.flat_values != token_windows.UNKNOWN  # [T + 2 B]
    rows = labels.value_rowids()
    labels = self._fill(labels.flat_values, is_known)
    is_entity = tf.gather(self._is_entity, labels)
    begins = is_entity & ~self._are_one(tf.roll(labels, 1, 0), labels)
    stops = is_entity & ~self._are_one(labels, tf.roll(labels, -1, 0))
    first, last = tf.where(begins)[:, 0], tf.where(stops)[:, 0]
    is_counted = is_entity & is_known
    scores = tf.math.unsorted_segment_mean(
      tf.boolean_mask(probabilities, is_counted),
      tf.boolean_mask(tf.cumsum(tf.cast(begins, tf.int32)) - 1, is_counted),
      tf.size(first),
    )
    types = tf.gather(tf.constant(self._types), tf.gather(labels, first))
    rows = tf.gather(rows, first)
    edges = 2 * rows + 1  # before the tokens of a text
    return first - edges, last - edges, types, scores

  def _fill(self, labels, is_known):
    """Returns int32 [T + 2 B] with labels where it was unknown."""
    known = tf.boolean_mask(labels, is_known)
    after = tf.cumsum(tf.cast(is_known, tf.int32))
    before = tf.gather(known, after - 1)
    # The last of all is known: none is after it, and nobody asks.
    after = tf.gather(known, tf.minimum(after, tf.size(known) - 1))
    filling = tf.where(self._are_one(before, after), after, self._outside)
    return tf.where(is_known, labels, filling)

  def _are_one(self, labels, following):
    """Returns whether an entity continues from labels to those following."""
    return tf.gather_nd(self._goes_on, tf.stack([labels, following], axis=-1))


def describe(text, tokens, first, last, labels, scores):
  """Returns entities, as `TokenClassificationServable.answer`.

  Args:
    text: string [B], valid UTF-8.
    tokens: `text_tokens.TextTokens`.
    first: int64 [K], the first token of each, counted over all texts, those of
      a text one after the other.
    last: int64 [K], their last tokens.
    labels: string [K].
    scores: float32 [K].
  """
  texts = tf.gather(tokens.starts.value_rowids(), first)
  first, last, labels, scores = (
    tf.RaggedTensor.from_value_rowids(x, texts, tokens.starts.nrows())
    for x in (first, last, labels, scores)
  )
  characters = tf.strings.unicode_split(text, "UTF-8")  # [B, (characters)]
  starts = tf.gather(tokens.starts.flat_values, first)
  ends = tf.gather(tokens.ends.flat_values, last)
  offsets = tf.gather(
    tf.cast(characters.row_starts(), tf.int32), first.value_rowids()
  )
  places = tf.ragged.range(
    offsets + starts.flat_values, offsets + ends.flat_values
  )
  texts = tf.strings.reduce_join(
    tf.gather(characters.flat_values, places), axis=-1
  )
  return {
    "num_entities": tf.cast(first.row_lengths(), tf.int32),
    "labels": labels.to_tensor(""),
    "texts": first.with_flat_values(texts).to_tensor(""),
    "starts": starts.to_tensor(0),
    "ends": ends.to_tensor(0),
    "scores": scores.to_tensor(0.0),
  }


def _is_one_entity(tag, following):
  """Returns whether an entity goes on from a tag to the one after it."""
  entities = tagging.entities_of([tag, following])
  return any(entity.end - entity.start == 2 for entity in entities)
