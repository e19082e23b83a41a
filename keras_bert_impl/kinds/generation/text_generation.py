"""Learning to write texts: the loss of each token, and answers by a search."""

import dataclasses

import numpy as np
import tensorflow as tf
from keras import ops

from keras_bert_impl import configs, features, heads, models
from keras_bert_impl.generation import decoders, search, settings
from keras_bert_impl.kinds.generation import token_ids
from keras_bert_impl.tasks.basics import cross_entropy


@dataclasses.dataclass(frozen=True)
class TextGenerationTask(cross_entropy.ClassifyingTask):
  """Texts that are written of others, or follow them, token by token.

  Attributes:
    config: `EncoderConfig` with a decoder, or of a model from left to right.
    label_smoothing: float, as `cross_entropy.ClassifyingTask`.
    tokens: `settings.TokenIds`.
    start: int, as of `decoders.of_model`, or None.
    search_settings: `settings.SearchSettings` of the texts that are scored.
    at_targets: bool, whether a model from left to right computes logits at the
      places of `masked_lm_positions` alone, as it learns; opened, it has all.
  """

  config: configs.EncoderConfig
  label_smoothing: float = 0.0
  tokens: settings.TokenIds = settings.TokenIds()
  start: int | None = None
  search_settings: settings.SearchSettings | None = None
  at_targets: bool = False

  head = heads.GENERATION
  undescribed = ("tokens", "start", "search_settings", "at_targets")

  @property
  def stored_head(self):
    """The head as checkpoints store it."""
    has_decoder = self.config.num_decoder_layers
    return heads.TEXT_TO_TEXT if has_decoder else heads.FILL_MASK

  @property
  def config_values(self):
    """What config.json says of ids, {key: JSON value}."""
    return token_ids.to_dict(self.tokens, self.start, self.config)

  def build_model(self):
    """Returns a model of fresh weights.

    `EncoderDecoder`, `MaskedLanguageModel` or, at targets, `PretrainingModel`.
    """
    if self.config.num_decoder_layers:
      return models.EncoderDecoder(self.config)
    if self.at_targets:
      return models.PretrainingModel(self.config, use_sentence_head=False)
    return models.MaskedLanguageModel(self.config)

  def weights(self, batch):
    """Returns 1 for each token that is written."""
    is_written = batch[features.LABEL_IDS] >= 0
    return {"token": ops.cast(is_written, "float32")}

  def total_denominators(self, data):
    """Returns the number of tokens that are written."""
    numbers = [np.sum(row >= 0) for row in data[features.LABEL_IDS]]
    return {"token": float(sum(numbers))}

  def predictions(self, batch, outputs):
    """Returns the tokens that are written."""
    labels = ops.maximum(batch[features.LABEL_IDS], 0)
    return {"token": cross_entropy.Prediction(outputs["token_logits"], labels)}

  def predictor(self, model):
    """Returns a function that writes the texts of a batch.

    It returns ids int32 [B, T], filled up with padding to max_new_tokens;
    num_tokens int32 [B]; and scores float32 [B], as of `search.Search`.
    """
    decoder = decoders.of_model(model, self.start)
    find = search.Search(decoder, self.search_settings, self.tokens)

    def write(batch):
      mask = batch[features.INPUT_MASK]
      if not self.config.num_decoder_layers:
        # The text that is to be continued, without what follows it.
        last = batch[features.MASKED_LM_POSITIONS][:, :1]
        places = tf.range(tf.shape(mask)[1])
        mask *= tf.cast(places <= last, tf.int32)
      # A row of padding has no text, as no search may.
      first = tf.one_hot([0], tf.shape(mask)[1], dtype=tf.int32)
      mask = tf.maximum(mask, first)
      found = find(decoder.begin(batch[features.INPUT_IDS], mask))
      ids = found["ids"][:, 0]
      room = self.search_settings.max_new_tokens - tf.shape(ids)[1]
      padding = self.tokens.padding
      return {
        "ids": tf.pad(ids, [[0, 0], [0, room]], constant_values=padding),
        "num_tokens": found["num_tokens"][:, 0],
        "scores": found["scores"][:, 0],
      }

    return write
