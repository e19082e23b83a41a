"""Servable of coreference: the clusters of mentions of texts."""

import tensorflow as tf

from keras_bert_impl import options as options_lib
from keras_bert_impl.kinds.coreference import (
  coreference_model,
  coreference_options,
  coreference_rows,
)
from keras_bert_impl.serving import servables
from keras_bert_impl.tokenizers.graph import steps

_NONE = coreference_rows.NONE


class CoreferenceServable(servables.Servable):
  """Finds the mentions of texts, and which of them mean the same.

  A text is read whole, in segments of max_seq_length. Words are cut at white
  space and punctuation. Speakers and genre are unknown. Texts are read one
  after the other, as each takes memory of its own length.

  Args:
    model: `CoreferenceModel`.
    tokenizer: as `Servable`.
    max_seq_length: as `Servable`; that of the training, which it is read by.
    segment_overlap: int, tokens that two segments have in common, at most.
  """

  head = coreference_model.HEAD
  options = options_lib.names(coreference_options.CoreferenceServing)
  example = {servables.TEXT: ["Ada lived in London. She liked it there."]}
  # A model of ids needs to be told where words are.
  takes_ids = False
  unpredicted = "clusters are chosen as a whole"

  def __init__(self, model, tokenizer, max_seq_length, segment_overlap=0):
    # Places tell segments by the length that the model was trained with.
    super().__init__(model, tokenizer, model.segment_length)
    self.segment_overlap = segment_overlap

  def answer(self, text):
    """Finds the clusters of texts.

    Args:
      text: string [B].

    Returns:
      num_mentions int32 [B], of the mentions in clusters, in the order of their
      first characters; clusters int32 [B, E], the number of the cluster of
      each, from 0 in the order of their first mentions, -1 beyond
      num_mentions; texts string [B, E]; starts and ends int32 [B, E], where
      they stand in the text, in characters and `end` exclusive; scores float32
      [B, E], the probability of the link to the mention before or, without one,
      that it is a mention.
    """
    text = steps.drop_invalid(text)
    words, starts, ends, ends_sentence = coreference_rows.split(text)
    rows, num_segments, _ = coreference_rows.frame(
      self.tokenizer,
      words,
      ends_sentence,
      self.max_seq_length,
      self.segment_overlap,
    )
    clusters, first, last, scores = self._clusters(rows, num_segments)
    # Of words to characters, over all texts.
    shift = tf.gather(words.row_starts(), first.value_rowids())
    starts, ends = (
      first.with_flat_values(
        tf.gather(
          of_words.flat_values, tf.cast(x.flat_values, tf.int64) + shift
        )
      )
      for of_words, x in ((starts, first), (ends, last))
    )
    texts = tf.strings.substr(
      tf.gather(text, first.value_rowids()),
      starts.flat_values,
      ends.flat_values - starts.flat_values,
      unit="UTF8_CHAR",
    )
    return {
      "num_mentions": tf.cast(first.row_lengths(), tf.int32),
      "clusters": clusters.to_tensor(_NONE),
      "texts": first.with_flat_values(texts).to_tensor(""),
      "starts": starts.to_tensor(0),
      "ends": ends.to_tensor(0),
      "scores": scores.to_tensor(0.0),
    }

  def _clusters(self, rows, num_segments):
    """Returns the clusters, first and last words and scores of mentions.

    Args:
      rows: as of `coreference_rows.frame`.
      num_segments: the same.

    Returns:
      int32 RaggedTensors [B, (mentions)], scores float32.
    """
    model = self.load_model()
    names = ("clusters", "span_starts", "span_ends", "span_scores")
    genre = tf.zeros([1], tf.int32)
    speakers = tf.zeros_like(rows[coreference_rows.WORD_STARTS])
    rows = rows | {coreference_rows.WORD_SPEAKERS: speakers}

    def find(inputs):
      row, number = inputs
      size = number * self.max_seq_length
      row = {name: x[tf.newaxis, :size] for name, x in row.items()}
      outputs = model(row | {coreference_rows.GENRE_IDS: genre})
      found = outputs["clusters"][0] != _NONE
      columns = [tf.boolean_mask(outputs[name][0], found) for name in names]
      # Their first mentions stand in order, and so do their numbers.
      return [tf.unique(columns[0]).idx, *columns[1:]]

    kinds = (tf.int32, tf.int32, tf.int32, tf.float32)
    return tf.map_fn(
      find,
      (rows, num_segments),
      fn_output_signature=[
        tf.RaggedTensorSpec([None], kind, ragged_rank=0) for kind in kinds
      ],
      parallel_iterations=1,
    )

  @property
  def row_inputs(self):
    """Inputs of `answer_rows`: those of words and the genre besides."""
    axes = dict.fromkeys(coreference_rows.WORD_INPUTS, ("batch", "length"))
    return super().row_inputs | axes | {coreference_rows.GENRE_IDS: ("batch",)}

  def _build_model(self, model, dtype):
    """Returns the model without the true clusters."""
    config = {**model.get_config(), "dtype": dtype, "use_clusters": False}
    return type(model).from_config(config)
