"""Late interaction (ColBERT): rows, task and scores of vectors of tokens."""

import dataclasses

import numpy as np

from keras_bert_impl import features, heads, models
from keras_bert_impl.kinds.embeddings.tasks import (
  embedding_rows,
  embedding_scores,
  embedding_task,
)
from keras_bert_impl.tasks.basics import fine_tuning, max_sim, vector_losses
from keras_bert_impl.tokenizers.graph import late_interaction


@dataclasses.dataclass(frozen=True)
class LatePreprocessor(
  late_interaction.LateInteraction, embedding_rows.EmbeddingPreprocessor
):
  """Makes rows of `EmbeddingExample`s, queries and documents of their forms.

  Attributes: those of both.

  Raises:
    ValueError: queries are longer than documents may be.
  """

  def __post_init__(self):
    super().__post_init__()
    self.check_length(self.max_seq_length)

  @property
  def late(self):
    """The `LateInteraction` alone."""
    fields = dataclasses.fields(late_interaction.LateInteraction)
    return late_interaction.LateInteraction(
      **{field.name: getattr(self, field.name) for field in fields}
    )

  @property
  def columns(self):
    """{name: `Column`} of the rows."""
    # What a query is filled up with need not be attended to.
    names = (features.INPUT_MASK, features.POOLING_MASK)
    return super().columns | dict.fromkeys(names, fine_tuning.Column())

  def _form(self, kind):
    return kind, super()._form(kind)

  def _encode(self, texts, form, tokenizer, counts):
    batch, is_cut = self.encode(
      tokenizer, texts, *form, self.max_seq_length, self.do_lower_case
    )
    masks = batch[features.INPUT_MASK], batch[features.POOLING_MASK]
    lengths = np.sum(np.maximum(*masks), axis=1)
    yield from self._rows(texts, batch, lengths, is_cut, counts)


@dataclasses.dataclass(frozen=True)
class LateInteractionTask(embedding_task.UnpooledTask):
  """Vectors of tokens, of which MaxSim is high where texts belong together.

  Attributes:
    embedding_size: int, D.

  Source: Khattab and Zaharia 2020, "ColBERT", section 3.3.
  """

  temperature: float = 1.0
  embedding_size: int = 128

  similarity = vector_losses.MAX_SIM
  head = heads.LATE

  def _model(self):
    """Returns the `MultiVectorEmbeddingModel`."""
    return models.MultiVectorEmbeddingModel(self.config, self.embedding_size)


@dataclasses.dataclass(frozen=True)
class LateRetrievalEvaluator(embedding_scores.RetrievalEvaluator):
  """Scores how well an anchor finds its positives by MaxSim."""

  similarity: str = vector_losses.MAX_SIM
  token_outputs = (embedding_task.EMBEDDINGS,)

  def compared(self, vectors):
    """Returns the vectors of tokens, as `RetrievalEvaluator`."""
    return [rows[np.any(rows != 0, axis=1)] for rows in vectors]

  def products(self, queries, documents):
    """Yields the similarities; as `RetrievalEvaluator`."""
    yield from max_sim.blocks(queries, documents)
