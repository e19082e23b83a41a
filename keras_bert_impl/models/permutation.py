"""XLNet's encoder with its language model head."""

import keras

from keras_bert_impl import features, heads, layers
from keras_bert_impl.models import task_models, xlnet_encoder


@keras.saving.register_keras_serializable(package="keras_bert_impl")
class PermutationLanguageModel(task_models.HeadModel):
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

  def __init__(
    self,
    config,
    dtype=None,
    name="permutation_language_model",
    use_mems=False,
  ):
    encoder = xlnet_encoder.XLNetEncoder(
      config, dtype, use_pooler=False, use_queries=True, use_mems=use_mems
    )
    dtype = encoder.dtype_policy
    dropout = layers.Dropout(config.hidden_dropout_prob, dtype=dtype)
    head = layers.VocabularyHead(dtype=dtype, name="predictions")
    with keras.name_scope("cls"):
      query = dropout(encoder.query_states[-1])
      logits = head(query, encoder.embedding_table)
    outputs = {"token_logits": logits}
    if use_mems:
      outputs[features.MEMS] = encoder.output[features.MEMS]
    super().__init__(encoder, encoder.input, outputs, name, use_mems=use_mems)
