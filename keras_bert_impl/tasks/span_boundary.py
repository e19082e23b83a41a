"""SpanBERT's objective: masked spans, each also from its boundary alone."""

from keras_bert_impl import features
from keras_bert_impl.models import pretrainer
from keras_bert_impl.tasks import cross_entropy, masking, pretraining


class SpanBoundaryTask(pretraining.PretrainingTask):
  """Masked language model and span boundary objective, without pairs.

  Source: Joshi et al. 2020, section 3.
  """

  def prepare(self, batch, seed):
    """Masks clean records; adds the boundary of each prediction's span."""
    batch = super().prepare(batch, seed)
    boundaries = masking.span_boundaries(
      batch[features.MASKED_LM_POSITIONS], batch[features.MASKED_LM_WEIGHTS]
    )
    return {**batch, features.SPAN_BOUNDARIES: boundaries}

  def build_model(self):
    """Returns a `PretrainingModel` with fresh weights."""
    return pretrainer.PretrainingModel(
      self.config, use_next_sentence=False, use_span_boundary=True
    )

  def weights(self, batch):
    """Returns 1 for masked tokens."""
    weights = batch[features.MASKED_LM_WEIGHTS]
    return {"masked_lm": weights, "span_boundary": weights}

  def predictions(self, batch, outputs):
    """Returns the masked tokens [B, P], twice."""
    return {
      name: cross_entropy.Prediction(
        outputs[f"{name}_logits"], batch[features.MASKED_LM_IDS]
      )
      for name in ("masked_lm", "span_boundary")
    }
