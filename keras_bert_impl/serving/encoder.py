"""Servable of the encoder: vectors of texts and of their tokens."""

import tensorflow as tf

from keras_bert_impl import choices, features
from keras_bert_impl.serving import row_batches, servables, tokens

CLS, MEAN, POOLER = "cls", "mean", "pooler"
TOKEN_EMBEDDINGS = "token_embeddings"


class EncoderServable(servables.Servable):
  """Embeds texts: one vector for each text, or for each token.

  Args:
    model: `TransformerEncoder`, or any model on one.
    tokenizer: as `Servable`.
    max_seq_length: as `Servable`.
    pooling: what the vector of a text is: "cls", the last hidden state of the
      first token; "mean", the mean of those of all tokens, [CLS] and [SEP]
      included; "pooler", the pooled output.
    normalize: bool, whether vectors have length 1.

  Raises:
    ValueError: as `Servable`; an unknown pooling, or "pooler" without one.
  """

  head = "encoder"

  def __init__(
    self, model, tokenizer, max_seq_length, pooling=MEAN, normalize=False
  ):
    if pooling not in choices.POOLINGS:
      raise ValueError(
        f"pooling ({pooling!r}) must be one of {', '.join(choices.POOLINGS)}."
      )
    encoder = getattr(model, "encoder", model)
    if pooling == POOLER and "pooled_output" not in encoder.output:
      raise ValueError(
        "pooling ('pooler') must be 'cls' or 'mean': the encoder has no pooler."
      )
    super().__init__(encoder, tokenizer, max_seq_length)
    self.pooling = pooling
    self.normalize = normalize
    self._hidden_size = encoder.config.hidden_size

  def definitions(self):
    """Returns as `Servable`, with a signature for the tokens."""
    return super().definitions() | {
      TOKEN_EMBEDDINGS: self.on_text(self.embed_tokens)
    }

  def answer(self, text):
    """Encodes texts [B]; returns embeddings float32 [B, H]."""
    model = self.load_model()
    embeddings = row_batches.map_rows(
      lambda rows: self._pool(rows, model(rows)),
      self.encode(text),
      tf.TensorSpec([self._hidden_size], tf.float32),
    )
    return {"embeddings": embeddings}

  def embed_tokens(self, text):
    """Encodes the tokens of texts [B].

    Returns:
      embeddings float32 [B, T, H], the last hidden state of each token, 0 where
      there is none; num_tokens, tokens, starts and ends as `tokens.encode`.
    """
    model = self.load_model()
    rows, described = tokens.encode(self, text)
    hidden = row_batches.map_rows(
      lambda rows: model(rows)["sequence_output"],
      rows,
      tf.TensorSpec([None, self._hidden_size], tf.float32),
    )
    return described | {
      "embeddings": tokens.select(hidden, described["num_tokens"])
    }

  def answer_ids(self, input_ids, input_mask, segment_ids):
    """Embeds texts that the client has tokenized.

    Returns:
      sequence_output float32 [B, L, H]; pooled_output float32 [B, H], of an
      encoder with a pooler; embeddings float32 [B, H], as of raw text.
    """
    outputs = super().answer_ids(input_ids, input_mask, segment_ids)
    inputs = {features.INPUT_MASK: input_mask}
    return outputs | {"embeddings": self._pool(inputs, outputs)}

  def describe(self):
    """Returns {name: JSON value} that describes it; see `Servable`."""
    return super().describe() | {
      "pooling": self.pooling,
      "normalize": self.normalize,
    }

  def _build_model(self, model, dtype):
    """Returns the encoder for rows of one text."""
    one_text = {"dtype": dtype, "use_sequence_ids": False}
    return type(model).from_config({**model.get_config(), **one_text})

  def _pool(self, inputs, outputs):
    """Returns float32 [B, H] of the encoder's inputs and outputs."""
    hidden = outputs["sequence_output"]  # [B, L, H]
    if self.pooling == POOLER:
      pooled = outputs["pooled_output"]
    elif self.pooling == CLS:
      pooled = hidden[:, 0]
    else:
      mask = tf.cast(inputs[features.INPUT_MASK], tf.float32)
      pooled = tf.einsum("bl,blh->bh", mask, hidden)
      num_tokens = tf.reduce_sum(mask, axis=1, keepdims=True)
      pooled = tf.math.divide_no_nan(pooled, num_tokens)
    return tf.math.l2_normalize(pooled, -1) if self.normalize else pooled
