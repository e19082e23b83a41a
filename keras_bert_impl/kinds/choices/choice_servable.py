"""Servable of multiple choice: the best choice for a text."""

import tensorflow as tf

from keras_bert_impl.serving import row_batches, servables

_CHOICES = "choices"


class MultipleChoiceServable(servables.Servable):
  """Chooses among choices for a text: the probability of each.

  Any number of choices; a text that has fewer than another one of its batch has
  "" in place of the others.

  Args:
    model: `MultipleChoice`.
    tokenizer: as `Servable`.
    max_seq_length: as `Servable`, of a text with one choice.
  """

  head = "multiple_choice"
  inputs = servables.Servable.inputs | {
    _CHOICES: tf.TensorSpec([None, None], tf.string, _CHOICES)
  }
  example = {
    servables.TEXT: ["The cat sat down."],
    _CHOICES: [["It slept on the mat.", "It was a fine car."]],
  }
  ids_rank = 3
  has_pooler = True

  has_two_texts = True
  unpredicted = "this model compares several texts"

  def answer(self, text, choices):
    """Answers texts with choices.

    Args:
      text: string [B], UTF-8.
      choices: string [B, C], "" for no choice.

    Returns:
      choice int32 [B], the number of the likeliest one from 0, or -1 where
      there is none; probabilities float32 [B, C], 0 for no choice; is_cut bool
      [B], whether the text with one of the choices has more tokens than
      max_seq_length has room for.
    """
    is_choice = choices != ""
    logits, is_cut = self._logits(text, choices)
    logits = tf.where(is_choice, logits, logits.dtype.min)
    probabilities = tf.where(is_choice, tf.nn.softmax(logits), 0.0)  # [B, C]
    # One more, because there is no largest of none.
    padded = tf.pad(probabilities, [[0, 0], [0, 1]])
    best = tf.argmax(padded, axis=-1, output_type=tf.int32)
    has_choice = tf.reduce_any(is_choice, axis=-1)
    return {
      "choice": tf.where(has_choice, best, -1),
      "probabilities": probabilities,
      servables.IS_CUT: tf.reduce_any(is_cut & is_choice, axis=-1),
    }

  def _logits(self, text, choices):
    """Returns float32 [B, C], of each choice with its text before it.

    And whether these are cut, bool [B, C].
    """
    model = self.load_model()

    def run(rows):
      alone = {name: ids[:, tf.newaxis] for name, ids in rows.items()}
      return model(alone)["logits"][:, 0]

    shape = tf.shape(choices)
    texts = tf.repeat(tf.range(shape[0]), shape[1])  # [B * C]
    rows, is_cut = self.assemble(
      tf.gather(self.tokenizer.tokenize(text), texts),
      self.tokenizer.tokenize(tf.reshape(choices, [-1])),
    )
    logits = row_batches.map_rows(run, rows, tf.TensorSpec([], tf.float32))
    return tf.reshape(logits, shape), tf.reshape(is_cut, shape)
