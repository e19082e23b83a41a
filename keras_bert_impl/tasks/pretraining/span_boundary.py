"""SpanBERT's objective: masked spans, also predicted from their boundaries."""

from etils import epy

from keras_bert_impl import features
from keras_bert_impl.tasks.basics import cross_entropy, pretraining

with epy.lazy_imports():
  from keras_bert_impl.models.pretraining import span_boundary as models
  from keras_bert_impl.tasks.masking import masking


class SpanBoundaryTask(pretraining.PretrainingTask):
  """Masked language model and span boundary objective, without pairs.

  Source: Joshi et al. 2020, section 3.
  """

  can_pack = True
  short_names = {"masked_lm": "MLM", "span_boundary": "SBO"}

  def prepare(self, batch, seed):
    """Masks clean records; adds the boundary of each prediction's span."""
    batch = super().prepare(batch, seed)
    boundaries = masking.span_boundaries(
      batch[features.MASKED_LM_POSITIONS], batch[features.MASKED_LM_WEIGHTS]
    )
    return {**batch, features.SPAN_BOUNDARIES: boundaries}

  def build_model(self):
    """Returns a `SpanBoundaryModel` with fresh weights."""
    return models.SpanBoundaryModel(
      self.config, use_sequence_ids=self.data.is_packed
    )

  def weights(self, batch):
    """Returns 1 for masked tokens."""
    weights = super().weights(batch)
    return weights | {"span_boundary": weights["masked_lm"]}

  def predictions(self, batch, outputs):
    """Returns the masked tokens [B, P], twice."""
    boundary = cross_entropy.Prediction(
      outputs["span_boundary_logits"], batch[features.MASKED_LM_IDS]
    )
    return super().predictions(batch, outputs) | {"span_boundary": boundary}

  def guesses(self, evaluation):
    """Adds that of the span boundary, whose tokens are the same."""
    guesses = super().guesses(evaluation)
    return guesses | {"span_boundary": guesses["masked_lm"]}


# Joshi et al. 2020: spans, their boundaries, single sequences.
SPANBERT = pretraining.Objective(
  SpanBoundaryTask, packing="doc_sentences", masking_policy="span"
)
