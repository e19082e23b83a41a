"""Two encoders side by side: one reads left to right, one right to left."""

import keras
from keras import ops

from keras_bert_impl.checkpoints.naming import names
from keras_bert_impl.models.encoders import encoder_model, transformer_encoder

SCOPE = names.RIGHT_TO_LEFT.rstrip("/")


class BidirectionalPair(encoder_model.BareEncoder):
  """A left-to-right and a right-to-left encoder, with their outputs joined.

  Called as `TransformerEncoder`, it returns `sequence_output` [B, L, 2 H] and,
  with a pooler, `pooled_output` [B, 2 H]: of the last token by the one, of the
  first by the other. Either knows nothing of the other.

  The paths of the weights of the first are those of any encoder, "bert/...",
  of the second the same behind "right_to_left/".

  Args:
    config: `configs.EncoderConfig` of either, which `is_pair`.
    dtype: as `TransformerEncoder`.
    name: str, a part of each variable's path.
    use_pooler: bool, whether there is a `pooled_output`.
    use_sequence_ids: bool, as `TransformerEncoder`.
    shares_embeddings: bool, whether both have one layer of embeddings.

  Attributes:
    config: as given.
    left_to_right: the `TransformerEncoder` of that direction.
    right_to_left: that of the other, on inputs of its own.
    hidden_states: list of symbolic tensors [B, L, 2 H], as
      `TransformerEncoder`.

  Source: Devlin et al. 2019, section 5.1, the alternative "as ELMo does".
  """

  def __init__(
    self,
    config,
    dtype=None,
    name="bert",
    use_pooler=True,
    use_sequence_ids=False,
    shares_embeddings=False,
  ):
    arguments = dict(locals())
    options = {"use_pooler": use_pooler, "use_sequence_ids": use_sequence_ids}
    forward = transformer_encoder.TransformerEncoder(
      config.in_direction("left_to_right"), dtype, name, **options
    )
    with keras.name_scope(SCOPE):
      backward = transformer_encoder.TransformerEncoder(
        config.in_direction("right_to_left"),
        dtype,
        name,
        forward.embeddings if shares_embeddings else None,
        **options,
      )

    # Wiring. A model of its own, as its layers have the names of the others.
    read_back = keras.Model(
      backward.input, [backward.output, backward.hidden_states], name=SCOPE
    )
    outputs, states = read_back(forward.input)
    super().__init__(
      config,
      forward.dtype_policy,
      forward.input,
      {key: _join(x, outputs[key]) for key, x in forward.output.items()},
      arguments,
    )

    # Attributes. On torch, `forward` is a method of every model.
    self.left_to_right = forward
    self.right_to_left = backward
    self.hidden_states = [
      _join(*both) for both in zip(forward.hidden_states, states, strict=True)
    ]


def _join(forward, backward):
  return ops.concatenate([forward, backward], axis=-1)
