"""Language models of both directions: on a pair of encoders, and ELMo's."""

import keras

from keras_bert_impl import heads, layers
from keras_bert_impl.models.encoders import bidirectional_pair, elmo_encoder
from keras_bert_impl.models.heads import head_model, masked_language_model


class BidirectionalLanguageModel(head_model.HeadModel):
  """Both language models of a pair, at every position.

  It returns `token_logits` float32 [B, L, V], of the token after each, and
  `backward_token_logits` [B, L, V], of the one before. The heads are those of
  the masked language model, one for each direction.

  Args:
    config: as `BidirectionalPair`.
    dtype: as `TransformerEncoder`.
    name: str, not part of any variable's path.
    use_sequence_ids: bool, as `TransformerEncoder`.
    shares_embeddings: bool, as `BidirectionalPair`.

  Attributes:
    encoder: the `BidirectionalPair`.
  """

  heads = (heads.FILL_MASK,)

  def __init__(
    self,
    config,
    dtype=None,
    name="bidirectional_language_model",
    use_sequence_ids=False,
    shares_embeddings=False,
  ):
    arguments = dict(locals())
    options = {
      "use_sequence_ids": use_sequence_ids,
      "shares_embeddings": shares_embeddings,
    }
    pair = bidirectional_pair.BidirectionalPair(
      config, dtype, use_pooler=False, **options
    )
    with keras.name_scope(bidirectional_pair.SCOPE):
      logits = masked_language_model.token_logits(pair.right_to_left)
    predict_back = keras.Model(
      pair.right_to_left.input, logits, name=bidirectional_pair.SCOPE
    )
    outputs = {
      "token_logits": masked_language_model.token_logits(pair.left_to_right),
      "backward_token_logits": predict_back(pair.input),
    }
    super().__init__(pair, pair.input, outputs, arguments)


class ElmoLanguageModel(head_model.HeadModel):
  """ELMo's language models, at every position, of one softmax.

  It returns `token_logits` and `backward_token_logits` as
  `BidirectionalLanguageModel`. Both are products with the table of the word
  pieces, and have one bias.

  Args:
    config: as `ElmoEncoder`.
    dtype: as `TransformerEncoder`.
    name: str, not part of any variable's path.

  Attributes:
    encoder: the `ElmoEncoder`.

  Source: Peters et al. 2018, section 3.1.
  """

  heads = (heads.FILL_MASK,)

  def __init__(self, config, dtype=None, name="elmo_language_model"):
    arguments = dict(locals())
    encoder = elmo_encoder.ElmoEncoder(config, dtype, use_pooler=False)
    head = layers.VocabularyHead(
      config.tie_word_embeddings,
      config.initializer_range,
      dtype=encoder.dtype_policy,
      name="predictions",
    )
    with keras.name_scope("cls"):
      forward, backward = (
        head(hidden, encoder.embedding_table) for hidden in encoder.directions
      )
    outputs = {"token_logits": forward, "backward_token_logits": backward}
    super().__init__(encoder, encoder.input, outputs, arguments)
