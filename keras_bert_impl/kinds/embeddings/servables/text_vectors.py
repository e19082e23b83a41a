"""Servable of the encoder: vectors of texts and of their tokens."""

from keras_bert_impl import features
from keras_bert_impl import options as options_lib
from keras_bert_impl.kinds.embeddings.servables import vector_servable
from keras_bert_impl.kinds.embeddings.tasks import embedding_options
from keras_bert_impl.models.heads import embedding_model
from keras_bert_impl.serving import servables, tokens
from keras_bert_impl.tokenizers.graph import prompts

TOKEN_EMBEDDINGS = "token_embeddings"


class EncoderServable(vector_servable.VectorServable):
  """Embeds texts: one vector for each text, or for each token.

  Args:
    model: `EmbeddingModel`, `TransformerEncoder`, or any model on one.
    tokenizer: as `Servable`.
    max_seq_length: as `Servable`.
    pooling: what the vector of a text is, as of `EmbeddingModel`; None for what
      an `EmbeddingModel` does, and the mean of all tokens, [CLS] and [SEP]
      included, of other models.
    normalize: bool, whether vectors have length 1; None for what an
      `EmbeddingModel` does, and False for other models.
    do_lower_case: bool, whether to lower-case texts before the tokenizer.
    **compression: prompt, truncate_dim and precision, as of `VectorServable`;
      not for single tokens.

  Raises:
    ValueError: as `VectorServable`; an unknown pooling, or "pooler" without
      one.
  """

  options = options_lib.names(embedding_options.EncoderServing)

  def __init__(
    self,
    model,
    tokenizer,
    max_seq_length,
    pooling=None,
    normalize=None,
    do_lower_case=False,
    **compression,
  ):
    model = embedding_model.on_encoder_of(model, pooling, normalize)
    layers = model.final_layers[-1:]
    normalize = any(map(embedding_model.is_normalization, layers))
    super().__init__(model, tokenizer, max_seq_length, normalize, **compression)
    self.do_lower_case = do_lower_case
    self._include_prompt = model.include_prompt
    self.pooling = ", ".join(model.pooling)

  def definitions(self):
    """Returns as `Servable`, with a signature for the tokens."""
    return super().definitions() | {
      TOKEN_EMBEDDINGS: self.on_text(self.embed_tokens)
    }

  def encode(self, text):
    """Returns the inputs of the model of texts [B], as `assemble`."""
    rows, is_cut = self.assemble(
      prompts.tokenize(self.tokenizer, text, self.prompt, self.do_lower_case)
    )
    if not self._include_prompt:
      rows |= prompts.without_prompt(
        rows,
        self.tokenizer,
        self.prompt,
        self.max_seq_length,
        self.do_lower_case,
      )
    return rows, is_cut

  @property
  def row_inputs(self):
    """Inputs of `answer_rows`; a prompt may not be pooled."""
    own, include = super().row_inputs, self._include_prompt
    axes = own[features.INPUT_IDS]
    return own if include else own | {features.POOLING_MASK: axes}

  def answer_rows(self, rows):
    """Returns embeddings [B, D], whole, and sequence_output, float32."""
    outputs = super().answer_rows(rows)
    return {name: outputs[name] for name in ("embeddings", "sequence_output")}

  def answer(self, text):
    """Encodes texts [B].

    Returns:
      as `compress`; is_cut bool [B], whether a text, with its prompt, has more
      tokens than max_seq_length has room for.
    """
    rows, is_cut = self.encode(text)
    [embeddings] = self.outputs(rows, "embeddings")
    return self.compress(embeddings) | {servables.IS_CUT: is_cut}

  def embed_tokens(self, text):
    """Encodes the tokens of texts [B].

    Returns:
      embeddings float32 [B, T, H], the last hidden state of each token, 0 where
      there is none; num_tokens, tokens, starts, ends and is_cut as
      `tokens.answer`.
    """
    text = prompts.fold(text, self.do_lower_case)
    return tokens.answer(self, text, "embeddings", "sequence_output")

  def _build_model(self, model, dtype):
    """Returns the model for rows of one text."""
    config = model.get_config()
    encoder = config["encoder"]
    # Inputs of pre-training are left out, and texts read forwards.
    options = ("use_sequence_ids", "use_queries", "use_mems")
    encoder |= {name: False for name in options if name in encoder}
    encoder |= {
      "dtype": dtype,
      "config": encoder["config"] | {"bi_data": False},
    }
    return type(model).from_config(config)
