"""Servable of late interaction: vectors of tokens, and scores of pairs.

Axes, besides those of `servables`: D.
"""

import functools

import tensorflow as tf

from keras_bert_impl import features, heads
from keras_bert_impl.serving import servables
from keras_bert_impl.tasks.basics import max_sim
from keras_bert_impl.tokenizers.graph import late_interaction

_QUERY, _DOCUMENT = late_interaction.KINDS
_PROMPTS = tuple(f"{kind}_prompt" for kind in late_interaction.KINDS)


class LateInteractionServable(servables.Servable):
  """Scores documents for queries by MaxSim; embeds either.

  Args:
    model: `MultiVectorEmbeddingModel`.
    tokenizer: as `Servable`.
    max_seq_length: int, most tokens of a document.
    do_lower_case: bool, whether to lower-case texts before the tokenizer.
    query_prompt: str, text to put before each query.
    document_prompt: str, the same of documents.
    **settings: fields of `LateInteraction`.

  Raises:
    ValueError: as `Servable`; or the vocabulary has no such markers.
  """

  head = heads.LATE
  inputs = {
    kind: tf.TensorSpec([None], tf.string, kind)
    for kind in late_interaction.KINDS
  }
  example = {
    _QUERY: ["Where did the cat sit?"],
    _DOCUMENT: ["The cat sat on the mat."],
  }
  recorded = (*_PROMPTS, *vars(late_interaction.LateInteraction()))

  reads_prompts = True
  unpredicted = "vectors of tokens predict nothing"

  def __init__(
    self,
    model,
    tokenizer,
    max_seq_length,
    do_lower_case=False,
    query_prompt="",
    document_prompt="",
    **settings,
  ):
    super().__init__(model, tokenizer, max_seq_length)
    if settings.get("skiplist_words") is None:
      settings.pop("skiplist_words", None)
    self.late = late_interaction.LateInteraction(**settings)
    self.late.check_length(self.config.longest_input)
    for kind in late_interaction.KINDS:
      self.late.marker(tokenizer.vocabulary, kind)
    self.prompts = {_QUERY: query_prompt, _DOCUMENT: document_prompt}
    self.do_lower_case = do_lower_case

  def definitions(self):
    """Returns as `Servable`, with signatures of queries and of documents."""
    return super().definitions() | {
      name: servables.make_signature(
        functools.partial(self.embed, kind),
        {servables.TEXT: tf.TensorSpec([None], tf.string, servables.TEXT)},
        {servables.TEXT: self.on_text(self.answer).example[kind]},
      )
      for name, kind in (("queries", _QUERY), ("documents", _DOCUMENT))
    }

  def answer(self, query, document):
    """Scores pairs, and says where the documents match.

    Args:
      query: string [B].
      document: string [B].

    Returns:
      scores float32 [B]; for each vector of a query, [B, Q], starts and ends,
      the characters of the token of the document that is most similar, int32,
      -1 where one of both is not in the text, and similarities float32; is_cut
      bool [B], of documents.
    """
    queries, documents = (
      self.embed(_QUERY, query),
      self.embed(_DOCUMENT, document),
    )
    dots = max_sim.dots(queries["embeddings"], documents["embeddings"])
    similarities = tf.reduce_max(dots, axis=-1)
    best = tf.argmax(dots, axis=-1, output_type=tf.int32)  # [B, Q]
    is_word = self._spans(_QUERY, query, tf.shape(dots)[1])[1] > 0
    starts, ends = (
      tf.where(is_word, tf.gather(x, best, batch_dims=1), -1)
      for x in self._spans(_DOCUMENT, document, tf.shape(dots)[2])
    )
    return {
      "scores": tf.reduce_sum(similarities, axis=1),
      "starts": starts,
      "ends": ends,
      "similarities": similarities,
      servables.IS_CUT: documents[servables.IS_CUT],
    }

  def embed(self, kind, text):
    """Embeds the tokens of queries or documents.

    Args:
      kind: one of `late_interaction.KINDS`.
      text: string [B].

    Returns:
      embeddings float32 [B, L, D], of length 1, or 0 where a token is not
      compared; mask int32 [B, L], 1 where it is; is_cut bool [B], whether
      there are tokens beyond the longest query or document.
    """
    rows, is_cut = self.late.encode(
      self.tokenizer,
      text,
      kind,
      self.prompts[kind],
      self.max_seq_length,
      self.do_lower_case,
    )
    rows = servables.as_inputs(rows)
    if kind == _DOCUMENT:
      [embeddings] = self.outputs(rows, "embeddings")
    else:  # All of one length, whose end need not be attended to.
      embeddings = self.load_model()(rows)["embeddings"]
    return {
      "embeddings": embeddings,
      "mask": rows[features.POOLING_MASK],
      servables.IS_CUT: is_cut,
    }

  @property
  def row_inputs(self):
    """Inputs of `answer_rows`: which tokens are compared besides."""
    own = super().row_inputs
    return own | {features.POOLING_MASK: own[features.INPUT_IDS]}

  def _spans(self, kind, text, length):
    """Returns starts and ends of the tokens, as `LateInteraction.spans`."""
    prompt, lower = self.prompts[kind], self.do_lower_case
    return self.late.spans(self.tokenizer, text, kind, prompt, length, lower)

  def describe(self):
    """Returns {name: JSON value} that describes it; see `Servable`."""
    return super().describe() | vars(self.late)
