"""Servable of ELECTRA's discriminator: finds replaced tokens."""

import tensorflow as tf

from keras_bert_impl import models
from keras_bert_impl.serving import servables, tokens


class ReplacedTokensServable(servables.Servable):
  """Detects replaced tokens: the probability for each token of a text.

  Args:
    model: any that has a discriminator's head on its encoder:
      `ReplacedTokenDetector` or `ElectraPretrainingModel`.
    tokenizer: as `Servable`.
    max_seq_length: as `Servable`.
  """

  head = "replaced_tokens"

  def answer(self, text):
    """Returns the probabilities of the tokens of texts [B].

    Returns:
      probabilities float32 [B, T] that a token was replaced, 0 where there is
      none; num_tokens, tokens, starts, ends and is_cut as `tokens.answer`.
    """
    return tokens.answer(self, text, "probabilities", "logits", tf.sigmoid)

  def _build_model(self, model, dtype):
    return models.ReplacedTokenDetector(model.config, dtype)
