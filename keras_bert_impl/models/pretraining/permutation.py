"""XLNet's encoder with its language model head."""

import dataclasses

import keras
from keras import ops

from keras_bert_impl import features, heads, layers
from keras_bert_impl.models.encoders import encoder_model, xlnet_encoder
from keras_bert_impl.models.heads import head_model


class PermutationLanguageModel(head_model.HeadModel):
  """Language model of permutations: `token_logits` [B, P, V] at the queries.

  Args:
    config: `configs.EncoderConfig`, as of `XLNetEncoder`; its inputs are those
      of an encoder with queries.
    dtype: as `TransformerEncoder`.
    name: str, not part of any variable's path.
    use_mems: bool, as `XLNetEncoder`, whose `mems` is an output too.

  Source: Yang et al. 2019, sections 2.2 and 2.3.
  """

  heads = (heads.FILL_MASK,)
  fills_all_masks = True

  def __init__(
    self,
    config,
    dtype=None,
    name="permutation_language_model",
    use_mems=False,
  ):
    arguments = dict(locals())
    encoder = xlnet_encoder.XLNetEncoder(
      config, dtype, use_pooler=False, use_queries=True, use_mems=use_mems
    )
    dtype = encoder.dtype_policy
    dropout = layers.Dropout(config.dropout_rate, dtype=dtype)
    head = layers.VocabularyHead(
      config.tie_word_embeddings,
      config.initializer_range,
      dtype=dtype,
      name="predictions",
    )
    with keras.name_scope("cls"):
      query = dropout(encoder.query_states[-1])
      outputs = {"token_logits": head(query, encoder.embedding_table)}
    if use_mems:
      outputs[features.MEMS] = encoder.output[features.MEMS]
    super().__init__(encoder, encoder.input, outputs, arguments)


class PermutationPretrainingModel(encoder_model.EncoderModel):
  """`PermutationLanguageModel` for pre-training, whose inputs are integers.

  Called with the encoder's inputs, `masked_lm_positions` int32 [B, P], -1 where
  there is nothing to predict, and `permutation_order` int32 [B, L], the place
  of each token in the order of the predictions, -1 where all tokens see it, it
  returns `token_logits` [B, P, V]. A token sees those before it in the order.

  Args:
    config: `configs.EncoderConfig`, as of `XLNetEncoder`.
    mem_len: int, how many of a row's first tokens are read before the others,
      which see only their states, without gradient. Nothing is predicted there.
    bi_data: bool, whether there is an input `is_reversed`, int32 [B], 1 for a
      row that runs backwards.
    dtype: as `TransformerEncoder`.
    name: str, not part of any variable's path.

  Attributes:
    encoder: the `XLNetEncoder`.

  Source: Yang et al. 2019, sections 2.2 to 2.4.
  """

  def __init__(
    self,
    config,
    mem_len=0,
    bi_data=False,
    dtype=None,
    name="permutation_pretraining_model",
  ):
    arguments = dict(locals())
    model = PermutationLanguageModel(
      dataclasses.replace(
        config, bi_data=bi_data, mem_len=None, reuse_len=None
      ),
      dtype,
      use_mems=bool(mem_len),
    )

    # Inputs.
    inputs = encoder_model.integer_inputs(
      features.PERMUTATION_ORDER, features.MASKED_LM_POSITIONS
    )
    if bi_data:
      flag = features.IS_REVERSED
      inputs[flag] = encoder_model.make_input(flag, ())

    # Wiring.
    rows = {k: inputs[k] for k in model.input.keys() & inputs.keys()}
    order = inputs[features.PERMUTATION_ORDER]
    positions = inputs[features.MASKED_LM_POSITIONS]
    if mem_len:
      first, rows = _cut(rows, mem_len)
      nothing = _Permutation()(order[:, :mem_len], positions[:, :0])
      rows[features.MEMS] = model({**first, **nothing})[features.MEMS]
      order, positions = order[:, mem_len:], positions - mem_len
    outputs = model({**rows, **_Permutation()(order, positions)})
    super().__init__(
      config,
      model.dtype_policy,
      inputs,
      {"token_logits": outputs["token_logits"]},
      arguments,
    )

    # Attributes.
    self.encoder = model.encoder


def _cut(rows, length):
  """Returns the first tokens of rows, and the others."""
  are_tokens = {name: len(row.shape) == 2 for name, row in rows.items()}
  first, rest = (
    {n: row[:, part] if are_tokens[n] else row for n, row in rows.items()}
    for part in (slice(None, length), slice(length, None))
  )
  return first, rest


class _Permutation(keras.layers.Layer):
  """The masks of an order of tokens, as `XLNetEncoder` needs them."""

  def call(self, order, positions):
    """Returns `perm_mask` [B, L, L] and `target_mapping` [B, P, L], float32."""
    row, column = order[:, :, None], order[:, None]
    hidden = ops.logical_and(column >= 0, row <= column)
    length = ops.shape(order)[1]
    mapping = ops.equal(positions[:, :, None], ops.arange(length)[None, None])
    return {
      features.PERM_MASK: ops.cast(hidden, "float32"),
      features.TARGET_MAPPING: ops.cast(mapping, "float32"),
    }
