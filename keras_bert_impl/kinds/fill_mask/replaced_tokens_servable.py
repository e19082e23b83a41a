"""Servable of ELECTRA's discriminator: finds replaced tokens."""

import numpy as np
import tensorflow as tf

from keras_bert_impl import models
from keras_bert_impl.serving import servables, text_row, tokens


class ReplacedTokensServable(servables.Servable):
  """Detects replaced tokens: the probability for each token of a text.

  Args:
    model: any that has a discriminator's head on its encoder:
      `ReplacedTokenDetector` or `ElectraPretrainingModel`.
    tokenizer: as `Servable`.
    max_seq_length: as `Servable`.
  """

  head = "replaced_tokens"

  unpredicted = "the text has no tokens"

  @staticmethod
  def predictions(outputs, row, labels):
    """Returns how probably each token was replaced; see `Servable`."""
    shares = 1 / (1 + np.exp(-outputs["logits"]))
    return [
      text_row.Prediction(
        f"{row.tokens[place].text}: replaced ({shares[place]:.1%})",
        "logits",
        (place,),
        place,
      )
      for place in row.places(1, 2)
    ]

  def answer(self, text):
    """Returns the probabilities of the tokens of texts [B].

    Returns:
      probabilities float32 [B, T] that a token was replaced, 0 where there is
      none; num_tokens, tokens, starts, ends and is_cut as `tokens.answer`.
    """
    return tokens.answer(self, text, "probabilities", "logits", tf.sigmoid)

  def _build_model(self, model, dtype):
    return models.ReplacedTokenDetector(model.config, dtype)
