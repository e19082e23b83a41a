"""Objectives of masked tokens, with or without sentence pairs."""

from etils import epy

from keras_bert_impl import features
from keras_bert_impl.tasks.basics import cross_entropy, pretraining

with epy.lazy_imports():
  from keras import ops

  from keras_bert_impl.models.pretraining import pretrainer


class MaskedLanguageModelTask(pretraining.PretrainingTask):
  """Masked language model, with or without a classification of sentence pairs.

  Args:
    config: `EncoderConfig`.
    masking: as `PretrainingTask`.
    sentence_loss: None (RoBERTa, and the paper's "No NSP"), or the name of the
      pair's loss: "next_sentence" (BERT) or "sentence_order" (ALBERT). Both
      have the labels `next_sentence_labels` and the head cls/seq_relationship.
    is_packed: as `PretrainingTask`; not with a sentence loss.

  Source: Devlin et al. 2019, section 3.1; google-research/bert,
  run_pretraining.py; Lan et al. 2020, section 3.1.
  """

  short_names = {
    "masked_lm": "MLM",
    "next_sentence": "NSP",
    "sentence_order": "SOP",
  }
  use_mask_decoder = False  # As `PretrainingModel`.

  def __init__(
    self,
    config,
    masking=None,
    sentence_loss="next_sentence",
    is_packed=False,
  ):
    super().__init__(config, masking, is_packed)
    self.sentence_loss = sentence_loss

  @classmethod
  def make(cls, config, data, options):
    """Returns the task for some records; see `PretrainingTask.make`."""
    del options  # It has none.
    return cls(config, data.masking, data.sentence_loss, data.is_packed)

  def build_model(self):
    """Returns a `PretrainingModel` with fresh weights."""
    return pretrainer.PretrainingModel(
      self.config,
      use_sentence_head=self.sentence_loss is not None,
      use_sequence_ids=self.is_packed,
      use_mask_decoder=self.use_mask_decoder,
    )

  def weights(self, batch):
    """Returns 1 for masked tokens and for (real) sentence pairs."""
    result = {"masked_lm": batch[features.MASKED_LM_WEIGHTS]}
    if self.sentence_loss:
      result[self.sentence_loss] = cross_entropy.row_weights(batch)
    return result

  def predictions(self, batch, outputs):
    """Returns the masked tokens [B, P] and the pairs [B]."""
    result = {
      "masked_lm": cross_entropy.Prediction(
        outputs["token_logits"], batch[features.MASKED_LM_IDS]
      )
    }
    if self.sentence_loss:
      result[self.sentence_loss] = cross_entropy.Prediction(
        outputs["sentence_logits"],
        ops.reshape(batch[features.NEXT_SENTENCE_LABELS], (-1,)),
      )
    return result

  def guesses(self, evaluation):
    """Adds the accuracy of guessing the labels of pairs."""
    guesses = super().guesses(evaluation)
    if self.sentence_loss:
      guesses[self.sentence_loss] = "50 % (chance)"
    return guesses


class MaskDecoderTask(MaskedLanguageModelTask):
  """Masked language model of an encoder without positions in its input.

  A decoder that knows positions predicts the tokens.

  Args: as `pretraining.PretrainingTask`.

  Source: He et al. 2021 (DeBERTa), section 3.2.
  """

  short_names = {"masked_lm": "MLM"}
  use_mask_decoder = True

  def __init__(self, config, masking=None, sentence_loss=None, is_packed=False):
    super().__init__(config, masking, sentence_loss, is_packed)


# Devlin et al. 2019: masked tokens and next sentence.
BERT = pretraining.Objective(
  MaskedLanguageModelTask, packing="next_sentence", masking_policy="token"
)
# Liu et al. 2019, section 4.2: masked tokens alone, FULL-SENTENCES.
ROBERTA = pretraining.Objective(
  MaskedLanguageModelTask, packing="full_sentences", masking_policy="token"
)
# Lan et al. 2020, sections 3.1 and 4.1: n-grams and sentence order.
ALBERT = pretraining.Objective(
  MaskedLanguageModelTask,
  packing="sentence_order",
  masking_policy="ngram",
  needs_pairs=True,
)
# Warner et al. 2024, section 2.2: masked tokens alone, more of them.
MODERNBERT = pretraining.Objective(
  MaskedLanguageModelTask,
  packing="full_sentences",
  masking_policy="token",
  masked_lm_prob=0.3,
  max_predictions_per_seq=40,
)
# He et al. 2021, appendix A: spans of up to three words, rows of whole text.
DEBERTA = pretraining.Objective(
  MaskDecoderTask, packing="full_sentences", masking_policy="ngram"
)
