"""Objectives of masked tokens, with or without sentence pairs."""

from etils import epy

from keras_bert_impl import features
from keras_bert_impl.tasks.basics import cross_entropy, pretraining

with epy.lazy_imports():
  from keras import ops

  from keras_bert_impl.models.pretraining import pretrainer


class MaskedLanguageModelTask(pretraining.PretrainingTask):
  """Masked language model, with or without a classification of sentence pairs.

  Without one if `data.sentence_loss` is None (RoBERTa, and the paper's "No
  NSP"); "next_sentence" (BERT) and "sentence_order" (ALBERT) have the labels
  `next_sentence_labels` and the head cls/seq_relationship.

  Args: as `pretraining.PretrainingTask`; not packed with a sentence loss.

  Source: Devlin et al. 2019, section 3.1; google-research/bert,
  run_pretraining.py; Lan et al. 2020, section 3.1.
  """

  can_pack = True
  short_names = {
    "masked_lm": "MLM",
    "next_sentence": "NSP",
    "sentence_order": "SOP",
  }
  use_mask_decoder = False  # As `PretrainingModel`.

  def build_model(self):
    """Returns a `PretrainingModel` with fresh weights."""
    return pretrainer.PretrainingModel(
      self.config,
      use_sentence_head=self.data.sentence_loss is not None,
      use_sequence_ids=self.data.is_packed,
      use_mask_decoder=self.use_mask_decoder,
    )

  def weights(self, batch):
    """Returns 1 for masked tokens and for (real) sentence pairs."""
    result = super().weights(batch)
    if self.data.sentence_loss:
      result[self.data.sentence_loss] = cross_entropy.row_weights(batch)
    return result

  def predictions(self, batch, outputs):
    """Returns the masked tokens [B, P] and the pairs [B]."""
    result = super().predictions(batch, outputs)
    if self.data.sentence_loss:
      result[self.data.sentence_loss] = cross_entropy.Prediction(
        outputs["sentence_logits"],
        ops.reshape(batch[features.NEXT_SENTENCE_LABELS], (-1,)),
      )
    return result

  def guesses(self, evaluation):
    """Adds the accuracy of guessing the labels of pairs."""
    guesses = super().guesses(evaluation)
    if self.data.sentence_loss:
      guesses[self.data.sentence_loss] = "50 % (chance)"
    return guesses


class MaskDecoderTask(MaskedLanguageModelTask):
  """Masked language model of an encoder without positions in its input.

  A decoder that knows positions predicts the tokens.

  Args: as `pretraining.PretrainingTask`.

  Source: He et al. 2021 (DeBERTa), section 3.2.
  """

  short_names = {"masked_lm": "MLM"}
  use_mask_decoder = True


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
