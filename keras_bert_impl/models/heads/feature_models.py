"""Feature-based taggers: a BiLSTM on the layers of an encoder.

Devlin et al. 2019, section 5.3 (the feature-based approach) and section 5.1
(the ablation that puts a BiLSTM on a left-to-right model).
"""

import functools

import keras
from keras import ops

from keras_bert_impl import choices, layers
from keras_bert_impl import features as features_lib
from keras_bert_impl.models.encoders import encoder_choice, encoder_model

_LSTM_LAYERS = 2
# The hidden states that are read; 0 is the output of the embeddings.
_STATES = {
  "embeddings": slice(0, 1),
  "second_to_last": slice(-2, -1),
  "last": slice(-1, None),
  "weighted_sum_last_four": slice(-4, None),
  "concat_last_four": slice(-4, None),
  "weighted_sum_all": slice(1, None),
  "weighted_sum_from_embeddings": slice(0, None),
}


class FeatureTagger(encoder_model.EncoderModel):
  """Token classifier with a BiLSTM on an encoder; outputs as `TokenClassifier`.

  Two layers of BiLSTM, then the classifier. A frozen encoder has no dropout and
  no trainable variables: what it makes of a row is always the same, so that
  `encode` may be called once for all the calls of `read`. Padding changes
  nothing.

  The BiLSTM computes in float32 under any dtype policy, because its state
  accumulates over as many steps as there are tokens.

  Args:
    config: `configs.EncoderConfig`.
    num_classes: int, C.
    features: what the BiLSTM reads, one of `choices.FEATURES`.
      "weighted_sum_all" is of all layers but the embeddings,
      "weighted_sum_from_embeddings" of these too.
    is_frozen: bool, whether the encoder is not trained.
    lstm_width: int, of each direction: the paper's 768 taken for the size of
      an LSTM's state.
    use_crf: as `TokenClassifier`.
    dtype: as `TransformerEncoder`.
    name: str, not part of any variable's path.

  Attributes:
    encoder: the `TransformerEncoder`.
    hidden_states: symbolic tensor [B, L, K, H], the K layers that are read.
    layers_read: tuple of K int, which these are; 0 is the embeddings.

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
    use_crf=False,
    dtype=None,
    name="feature_tagger",
  ):
    arguments = dict(locals())
    _check_features(features, config)
    encoder = encoder_choice.make(
      config.without_dropout() if is_frozen else config, dtype, use_pooler=False
    )
    encoder.trainable = not is_frozen

    # Wiring.
    states = ops.stack(encoder.hidden_states[_STATES[features]], axis=2)
    hidden = _join(states, features, encoder.dtype_policy)  # [B, L, H or 4 H]
    hidden = read_by_bilstm(encoder, hidden, lstm_width)
    hidden = layers.Dropout(
      config.dropout_rate, dtype="float32", name="dropout"
    )(hidden)
    logits = layers.ClassificationHead(
      num_classes, config.initializer_range, dtype="float32", name="classifier"
    )(hidden)
    super().__init__(
      config,
      encoder.dtype_policy,
      encoder.input,
      outputs_of_tags(logits, use_crf),
      arguments,
    )

    # Attributes.
    self.encoder = encoder
    self.hidden_states = states
    numbers = range(config.num_hidden_layers + 1)
    self.layers_read = tuple(numbers[_STATES[features]])
    self._parts = _Parts(self)

  def encode(self, inputs):
    """Returns the hidden states that the BiLSTM reads, [B, L, K, H].

    Args:
      inputs: dict of int32 [B, L], those of the encoder; others are passed
        over.
    """
    lower = self._parts.lower
    return lower({name: inputs[name] for name in lower.input})

  def read(self, inputs, training=False):
    """Returns the outputs for hidden states.

    Args:
      inputs: dict of `hidden_states` [B, L, K, H], as `encode` returns them,
        and `input_mask` int32 [B, L]; others are passed over.
      training: bool.
    """
    names = (features_lib.HIDDEN_STATES, features_lib.INPUT_MASK)
    tensors = [ops.convert_to_tensor(inputs[name]) for name in names]
    return self._parts.upper(tensors, training=training)


class _Parts:
  """The parts of a tagger as models.

  Not attributes of it, because Keras saves all layers that it finds in those.

  Args:
    model: `FeatureTagger`.
  """

  def __init__(self, model):
    self._model = model

  @functools.cached_property
  def lower(self):
    """From the inputs of the encoder to the hidden states."""
    return keras.Model(self._model.encoder.input, self._model.hidden_states)

  @functools.cached_property
  def upper(self):
    """From hidden states and mask to the outputs."""
    mask = self._model.input[features_lib.INPUT_MASK]
    return keras.Model([self._model.hidden_states, mask], self._model.output)


def outputs_of_tags(logits, use_crf):
  """Returns the outputs of a token classifier, by name.

  Args:
    logits: float [B, L, C].
    use_crf: bool, whether there are `transitions` [B, C + 2, C] too, the same
      for each row: the weights of a new `layers.ConditionalRandomField`.
  """
  outputs = {"logits": logits}
  if use_crf:
    crf = layers.ConditionalRandomField(dtype="float32", name="crf")
    outputs["transitions"] = crf(logits)
  return outputs


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


def _join(states, features, dtype):
  """Returns the BiLSTM's input from hidden states [B, L, K, H]."""
  states = [states[:, :, index] for index in range(states.shape[2])]
  if features.startswith("weighted_sum"):
    return layers.ScalarMix(dtype=dtype, name="scalar_mix")(states)
  return ops.concatenate(states, axis=-1)
