"""Servable of sparse vectors of texts: their strongest tokens and weights.

Axes, besides those of `servables`: K tokens that are returned.
"""

import tensorflow as tf

from keras_bert_impl import models
from keras_bert_impl import options as options_lib
from keras_bert_impl.kinds.embeddings.tasks import embedding_options
from keras_bert_impl.serving import row_batches, servables
from keras_bert_impl.tokenizers.graph import prompts

_TOP_K = 256


class SparseServable(servables.Servable):
  """Expands texts: the tokens of the vocabulary that each is found by.

  Args:
    model: `SparseEmbeddingModel`, or another with its masked-LM head.
    tokenizer: as `Servable`.
    max_seq_length: as `Servable`.
    top_k: int, K; None for 256, or all of a smaller vocabulary.
    prompt: str, text to put before each text.
    do_lower_case: bool, whether to lower-case texts before the tokenizer.

  Raises:
    ValueError: as `Servable`; and if top_k is not between 1 and the size of the
      vocabulary.
  """

  head = "sparse"
  options = options_lib.names(embedding_options.SparseServing)

  reads_prompts = True
  unpredicted = "sparse vectors predict nothing"

  def __init__(
    self,
    model,
    tokenizer,
    max_seq_length,
    top_k=None,
    prompt="",
    do_lower_case=False,
  ):
    super().__init__(model, tokenizer, max_seq_length)
    size = tokenizer.vocabulary.size
    self.top_k = min(_TOP_K, size) if top_k is None else top_k
    options_lib.check_numbers(f"[1, {size}]", top_k=self.top_k)
    self.prompt = prompt
    self.do_lower_case = do_lower_case

  def answer(self, text):
    """Returns the tokens of texts [B], the strongest first.

    Returns:
      tokens string [B, K], as the vocabulary has them; token_ids int32 [B, K];
      weights float32 [B, K]; "", 0 and 0 beyond the tokens of a text. is_cut
      bool [B], whether a text, with its prompt, has more tokens than
      max_seq_length has room for.
    """
    vocabulary, model = self.tokenizer.vocabulary, self.load_model()
    rows, is_cut = self.assemble(
      prompts.tokenize(self.tokenizer, text, self.prompt, self.do_lower_case)
    )

    def run(rows):
      weights = model(rows)["embeddings"][:, : vocabulary.size]
      return tuple(tf.math.top_k(weights, self.top_k))

    weights, ids = row_batches.map_rows(
      run,
      rows,
      (
        tf.TensorSpec([self.top_k], tf.float32),
        tf.TensorSpec([self.top_k], tf.int32),
      ),
    )
    is_token = weights > 0
    tokens = tf.gather(tf.constant(vocabulary.tokens), ids)
    return {
      "tokens": tf.where(is_token, tokens, ""),
      "token_ids": tf.where(is_token, ids, 0),
      "weights": weights,
      servables.IS_CUT: is_cut,
    }

  def _build_model(self, model, dtype):
    return models.SparseEmbeddingModel(
      model.config,
      dtype,
      use_mask_decoder=getattr(model, "use_mask_decoder", False),
    )
