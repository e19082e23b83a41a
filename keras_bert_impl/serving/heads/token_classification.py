"""Servable of token classification: the entities of texts.

`tasks.basics.windows` makes the windows, as in training; which labels make an
entity is read off `metrics.tagging`. Axes: B texts, T tokens of all of
them, W windows of all of them, E most entities of a text, C labels.
"""

import numpy as np
import tensorflow as tf

from keras_bert_impl import options
from keras_bert_impl.layers.heads import crf
from keras_bert_impl.metrics import tagging
from keras_bert_impl.serving import servables, text_tokens
from keras_bert_impl.tasks.basics import windows
from keras_bert_impl.tokenizers.graph import steps, token_pieces

# The label of a token that the model says nothing about.
_UNKNOWN = -1


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
  options = ("labels", "trained_on", "doc_stride", "max_windows", "tag_scheme")
  example = {servables.TEXT: ["Ada Lovelace lived in London."]}

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
    self._size = max_seq_length - 2  # pieces of a row
    doc_stride = doc_stride or max(1, self._size // 2)
    options.check_numbers(
      options.POSITIVE, doc_stride=doc_stride, max_windows=max_windows
    )
    faults = [tagging.find_fault(label, tag_scheme) for label in labels]
    if any(faults):
      raise ValueError(
        f"labels: {next(filter(None, faults))}; for tags that mark no entities"
        f" give tag_scheme={tagging.NO_SCHEME}."
      )
    if trained_on not in token_pieces.TRAINED_ON:
      raise ValueError(
        f"trained_on ({trained_on!r}) must be one of "
        f"{', '.join(token_pieces.TRAINED_ON)}."
      )
    self.trained_on = trained_on
    self.token_unit = token_pieces.TRAINED_ON[trained_on]
    self.doc_stride = doc_stride
    self.max_windows = max_windows
    self.tag_scheme = tag_scheme
    self._tags = _Tags(self.labels, tag_scheme)
    self._names = ["logits", *({"transitions"} & {*model.output})]

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
    characters = tf.strings.unicode_split(text, "UTF-8")  # [B, (characters)]
    tokens = text_tokens.read(self.tokenizer, text, self.trained_on)
    labels, probabilities, is_cut = self._label(tokens)
    first, last, labels, scores = self._tags.entities(labels, probabilities)
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
      "is_cut": is_cut,
    }

  def _label(self, tokens):
    """Returns the labels that the model gives to tokens.

    Args:
      tokens: `text_tokens.TextTokens`.

    Returns:
      int32 RaggedTensor [B, (tokens)], the likeliest labels, _UNKNOWN for
      tokens without pieces or beyond the windows; float32, the same, their
      probabilities; bool [B], whether there are tokens beyond.
    """
    ids, of_tokens = tokens.ids, tokens.starts
    lengths = ids.row_lengths()
    sizes = tf.fill(tf.shape(lengths), tf.constant(self._size, tf.int64))
    spans = windows.slide(lengths, sizes, self.doc_stride, self.max_windows)
    # Shift the last window left so that it is full.
    left = tf.maximum(spans.ends - self._size, 0)  # [W]
    rows, _ = self.assemble(spans.gather(ids, left))
    logits, *transitions = self.outputs(rows, *self._names)
    num_windows = tf.size(left, tf.int64)
    best = windows.best_windows(spans, lengths)[0].flat_values  # [pieces]
    # A token has the label of its first piece; without pieces it has none.
    window = tf.gather(tf.concat([best, [num_windows]], axis=0), tokens.first)
    is_known = window < num_windows
    first, window = (
      tf.boolean_mask(x, is_known) for x in (tokens.first, window)
    )
    # From a place among all pieces to that of the row, which may have [CLS]
    # first.
    shifts = self.tokenizer.framing.num_before - left  # [W]
    shifts -= tf.gather(ids.row_starts(), spans.text_index)
    places = tf.stack([window, first + tf.gather(shifts, window)], axis=1)
    texts = tf.boolean_mask(of_tokens.value_rowids(), is_known)
    best, shares = _choose(
      tf.RaggedTensor.from_value_rowids(
        tf.gather_nd(logits, places), texts, of_tokens.nrows()
      ),
      *transitions,
    )
    known = tf.where(is_known)
    size = tf.shape(is_known)
    labels = tf.tensor_scatter_nd_update(tf.fill(size, _UNKNOWN), known, best)
    probabilities = tf.scatter_nd(known, shares, tf.cast(size, tf.int64))
    return (
      of_tokens.with_flat_values(labels),
      of_tokens.with_flat_values(probabilities),
      spans.is_cut,
    )


def _choose(logits, transitions=None):
  """Returns the likeliest labels of tokens and their probabilities.

  Args:
    logits: float32 RaggedTensor [B, (tokens), C].
    transitions: float32 [W, C + 2, C], the same in each row; None where the
      labels of a text do not depend on each other.

  Returns:
    int32 [T] and float32 [T].
  """
  if transitions is None:
    shares = tf.nn.softmax(logits.flat_values)
    return tf.argmax(shares, -1, tf.int32), tf.reduce_max(shares, -1)
  # A row and a place more than needed: there may be none.
  padded = tf.pad(logits.to_tensor(), [[0, 1], [0, 1], [0, 0]])
  lengths = tf.pad(tf.cast(logits.row_lengths(), tf.int32), [[0, 1]])
  scores = tf.reduce_max(transitions, axis=0)
  labels = crf.viterbi(padded, scores, lengths)
  shares = crf.marginals(padded, scores, lengths)
  shares = tf.gather(shares, labels, batch_dims=2)
  is_token = tf.sequence_mask(lengths, tf.shape(labels)[1])
  return tf.boolean_mask(labels, is_token), tf.boolean_mask(shares, is_token)


class _Tags:
  """Tables of the labels that form entities: C labels, and one for outside.

  Args:
    labels: tuple of C str.
    tag_scheme: as `TokenClassificationServable`.
  """

  def __init__(self, labels, tag_scheme):
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

  def entities(self, labels, probabilities):
    """Returns the entities of texts, by the rules of `tagging.entities_of`.

    A token that is _UNKNOWN is inside of an entity that goes on after it, if
    there is one, and else outside.

    Args:
      labels: int32 RaggedTensor [B, (tokens)].
      probabilities: float32 RaggedTensor [B, (tokens)].

    Returns:
      RaggedTensors [B, (entities)]: first and last token, int64, counted over
      all texts; types, string; means of the probabilities of the tokens that
      are known, float32.
    """
    num_texts = labels.nrows()
    # With what is outside around it, each text is apart from its neighbours.
    edge = tf.fill([num_texts, 1], self._outside)
    labels = tf.concat([edge, labels, edge], axis=1)
    edge = tf.zeros([num_texts, 1])
    probabilities = tf.concat([edge, probabilities, edge], axis=1).flat_values
    is_known = labels.flat_values != _UNKNOWN  # [T + 2 B]
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
    return tuple(
      tf.RaggedTensor.from_value_rowids(values, rows, num_texts)
      for values in (first - edges, last - edges, types, scores)
    )

  def _fill(self, labels, is_known):
    """Returns int32 [T + 2 B] with labels where _UNKNOWN stood."""
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


def _is_one_entity(tag, following):
  """Returns whether an entity goes on from a tag to the one after it."""
  entities = tagging.entities_of([tag, following])
  return any(entity.end - entity.start == 2 for entity in entities)
