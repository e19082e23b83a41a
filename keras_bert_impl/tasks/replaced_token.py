"""ELECTRA's objective: which tokens did a small generator replace?"""

from keras import ops

from keras_bert_impl import features
from keras_bert_impl.models import electra
from keras_bert_impl.tasks import cross_entropy, pretraining


class ReplacedTokenTask(pretraining.PretrainingTask):
  """The generator's masked language model and the discriminator's detection.

  Args:
    config: `EncoderConfig` of the discriminator.
    masking: as `PretrainingTask`.
    generator_size: float, the generator's share of the width; see
      `models.electra_generator_config`.
    detection_weight: float, of the discriminator's loss beside the generator's.

  Source: Clark et al. 2020, section 2 and appendix A.
  """

  def __init__(
    self, config, masking=None, generator_size=0.25, detection_weight=50.0
  ):
    super().__init__(config, masking)
    self.generator_config = electra.electra_generator_config(
      config, generator_size
    )
    self.loss_weights = {"replaced_token": detection_weight}

  def build_model(self):
    """Returns an `ElectraPretrainingModel` with fresh weights."""
    return electra.ElectraPretrainingModel(self.config, self.generator_config)

  def weights(self, batch):
    """Returns 1 for masked tokens and for all tokens that are not padding."""
    return {
      "masked_lm": batch[features.MASKED_LM_WEIGHTS],
      "replaced_token": ops.cast(batch[features.INPUT_MASK], "float32"),
    }

  def predictions(self, batch, outputs):
    """Returns the masked tokens [B, P] and all tokens [B, L]."""
    score = outputs["replaced_token_logits"]
    return {
      "masked_lm": cross_entropy.Prediction(
        outputs["masked_lm_logits"], batch[features.MASKED_LM_IDS]
      ),
      "replaced_token": cross_entropy.Prediction(
        # Softmax over (0, score) is the sigmoid.
        ops.stack([ops.zeros_like(score), score], axis=-1),
        outputs["is_replaced"],
      ),
    }

  def metrics(self, batch, outputs):
    """Adds what accuracy hides, as few tokens are replaced.

    `replaced_token_share` of all tokens, which 1 - accuracy of a discriminator
    that never finds one would be; `replaced_token_precision` of those it
    reports; `replaced_token_recall` of those there are.
    """
    is_token = ops.cast(batch[features.INPUT_MASK], "float32")
    is_replaced = ops.cast(outputs["is_replaced"], "float32") * is_token
    score = outputs["replaced_token_logits"]
    is_reported = ops.cast(score > 0, "float32") * is_token
    num_replaced, num_found = (
      ops.sum(is_replaced),
      ops.sum(is_replaced * is_reported),
    )
    return {
      **super().metrics(batch, outputs),
      "replaced_token_share": (num_replaced, ops.sum(is_token)),
      "replaced_token_precision": (num_found, ops.sum(is_reported)),
      "replaced_token_recall": (num_found, num_replaced),
    }
