"""Servable of dependency parsing: the trees of texts."""

import tensorflow as tf

from keras_bert_impl import options as options_lib
from keras_bert_impl.kinds.parsing import (
  biaffine_parser,
  parsing_options,
  parsing_rows,
)
from keras_bert_impl.serving import row_batches, servables


class DependencyParsingServable(servables.Servable):
  """Finds the words of texts, the head of each and its relation.

  A text is one sentence. The longest words of a long one lose pieces, as in
  training; words beyond max_seq_length are not read.

  Args:
    model: `BiaffineParser`.
    tokenizer: as `Servable`.
    max_seq_length: as `Servable`.
    labels: tuple of str, the relations in the order of the logits.
    word_split: one of `parsing_options.WORD_SPLITS`.
  """

  head = biaffine_parser.HEAD
  options = options_lib.names(parsing_options.ParsingServing)
  example = {servables.TEXT: ["The cat sat on the mat."]}
  # A model of ids needs to be told where words begin.
  takes_ids = False
  unpredicted = "a tree is chosen as a whole"

  def __init__(
    self,
    model,
    tokenizer,
    max_seq_length,
    labels,
    word_split=parsing_options.WHITESPACE,
  ):
    super().__init__(model, tokenizer, max_seq_length, labels)
    self.word_split = word_split

  def answer(self, text):
    """Finds the trees of texts.

    Args:
      text: string [B].

    Returns:
      num_words int32 [B]; words string [B, W], "" beyond num_words; heads int32
      [B, W], the number of each word's head, from 1 in its text, 0 for the
      root; labels string [B, W], the relations; scores float32 [B, W], the
      probability of head and relation; is_cut bool [B], whether the text has
      more words than max_seq_length has room for, which are left out.
    """
    model = self.load_model()
    words = parsing_rows.split(text, self.word_split)
    rows, _ = parsing_rows.frame(self.tokenizer, words, self.max_seq_length)
    room = self.max_seq_length - self.tokenizer.num_special_tokens(1)
    read = words[:, :room]

    def run(rows):
      outputs = model(rows)
      shares = tf.nn.softmax(outputs["logits"])
      scores = outputs["head_scores"] * tf.reduce_max(shares, axis=-1)
      labels = tf.argmax(shares, axis=-1, output_type=tf.int32)
      return outputs["heads"], labels, scores

    kinds = (tf.int32, tf.int32, tf.float32)
    found = row_batches.map_rows(
      run, rows, tuple(tf.TensorSpec([None], kind) for kind in kinds)
    )
    num_words = tf.cast(read.row_lengths(), tf.int32)
    is_word = tf.sequence_mask(num_words)  # [B, W]
    size = tf.shape(is_word)[1]
    heads, labels, scores = (x[:, 1 : size + 1] for x in found)
    labels = tf.gather(tf.constant(self.labels), labels)
    return {
      "num_words": num_words,
      "words": read.to_tensor(""),
      "heads": tf.where(is_word, heads, 0),
      "labels": tf.where(is_word, labels, ""),
      "scores": tf.where(is_word, scores, 0.0),
      servables.IS_CUT: words.row_lengths() > room,
    }

  @property
  def row_inputs(self):
    """Inputs of `answer_rows`: the places of the nodes besides."""
    axes = {parsing_rows.NODE_PLACES: ("batch", "length")}
    return super().row_inputs | axes

  def _build_model(self, model, dtype):
    """Returns the model without the true heads."""
    config = {**model.get_config(), "dtype": dtype, "use_head_ids": False}
    return type(model).from_config(config)
