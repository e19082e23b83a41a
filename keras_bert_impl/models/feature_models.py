"""Feature-based taggers: a BiLSTM on the layers of an encoder.

Devlin et al. 2019, section 5.3 (the feature-based approach) and section 5.1
(the ablation that puts a BiLSTM on a left-to-right model).
"""

import dataclasses

import keras
from keras import ops

from keras_bert_impl import choices, layers
from keras_bert_impl import features as features_lib
from keras_bert_impl.models import base, encoders

_LSTM_LAYERS = 2
_LAST = 4


@keras.saving.register_keras_serializable(package="keras_bert_impl")
class FeatureTagger(base.EncoderModel):
  """Token classifier with a BiLSTM on an encoder: `logits` [B, L, C].

  Two layers of BiLSTM, then the classifier. A frozen encoder has no dropout and
  no trainable variables. Padding changes nothing.

  The BiLSTM computes in float32 under any dtype policy, because its state
  accumulates over as many steps as there are tokens.

  Args:
    config: `configs.EncoderConfig`.
    num_classes: int, C.
    features: what the BiLSTM reads, one of `choices.FEATURES`.
      "weighted_sum_all" is of all layers but the embeddings.
    is_frozen: bool, whether the encoder is not trained.
    lstm_width: int, of each direction: the paper's 768 taken for the size of
      an LSTM's state.
    dropout_rate: float in [0, 1), before the classifier; None means
      `config.hidden_dropout_prob`.
    dtype: as `TransformerEncoder`.
    name: str, not part of any variable's path.

  Attributes:
    encoder: the `TransformerEncoder`.

  Raises:
    ValueError: unknown features, or the encoder has too few layers for them.
  """

  def __init__(
    self,
    config,
    num_classes,
    features="concat_last_four",
    is_frozen=True,
    lstm_width=768,
    dropout_rate=None,
    dtype=None,
    name="feature_tagger",
  ):
    _check_features(features, config)
    encoder = encoders.make(
      _without_dropout(config) if is_frozen else config, dtype, use_pooler=False
    )
    encoder.trainable = not is_frozen

    # Wiring.
    # [B, L, H or 4 H]
    hidden = _read(encoder.hidden_states, features, encoder.dtype_policy)
    hidden = read_by_bilstm(encoder, hidden, lstm_width)
    rate = config.hidden_dropout_prob if dropout_rate is None else dropout_rate
    hidden = layers.Dropout(rate, dtype="float32", name="dropout")(hidden)
    logits = layers.ClassificationHead(
      num_classes, config.initializer_range, dtype="float32", name="classifier"
    )(hidden)
    super().__init__(
      config,
      encoder.dtype_policy,
      encoder.input,
      {"logits": logits},
      name,
      num_classes=num_classes,
      features=features,
      is_frozen=is_frozen,
      lstm_width=lstm_width,
      dropout_rate=dropout_rate,
    )

    # Attributes.
    self.encoder = encoder


def read_by_bilstm(encoder, hidden, lstm_width):
  """Applies two new BiLSTM layers: float32 [B, L, 2 * lstm_width].

  Args:
    encoder: `TransformerEncoder`.
    hidden: float [B, L, ...] on the inputs of the encoder.
    lstm_width: int, of each direction.
  """
  for index in range(_LSTM_LAYERS):
    bilstm = layers.BiLSTM(lstm_width, dtype="float32", name=f"bilstm_{index}")
    hidden = bilstm(hidden, encoder.input[features_lib.INPUT_MASK])
  return hidden


def _check_features(features, config):
  if features not in choices.FEATURES:
    raise ValueError(
      f"features ({features!r}) must be one of {', '.join(choices.FEATURES)}."
    )
  needed = choices.FEATURES[features]
  if config.num_hidden_layers < needed:
    raise ValueError(
      f"features={features} needs {needed} layers, but the encoder "
      f"has num_hidden_layers={config.num_hidden_layers}."
    )


def _without_dropout(config):
  return dataclasses.replace(
    config, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
  )


def _read(states, features, dtype):
  """Returns what the BiLSTM reads of the `hidden_states` of an encoder."""
  embeddings, *outputs = states
  if features == "embeddings":
    return embeddings
  if features == "last":
    return outputs[-1]
  if features == "second_to_last":
    return outputs[-2]
  if features == "concat_last_four":
    return ops.concatenate(outputs[-_LAST:], axis=-1)
  mixed = outputs if features == "weighted_sum_all" else outputs[-_LAST:]
  return layers.ScalarMix(dtype=dtype, name="scalar_mix")(mixed)
