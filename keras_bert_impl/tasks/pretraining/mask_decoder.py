"""DeBERTa's objective: masked tokens, by a decoder that knows positions."""

from keras_bert_impl.tasks.basics import pretraining
from keras_bert_impl.tasks.pretraining import masked_lm


class MaskDecoderTask(masked_lm.MaskedLanguageModelTask):
  """Masked language model of an encoder without positions in its input.

  Args: as `PretrainingTask`.

  Source: He et al. 2021 (DeBERTa), section 3.2.
  """

  short_names = {"masked_lm": "MLM"}
  use_mask_decoder = True

  def __init__(self, config, masking=None, is_packed=False):
    super().__init__(config, masking, None, is_packed)

  @classmethod
  def make(cls, config, data, options):
    """Returns the task for some records; see `PretrainingTask.make`."""
    del options  # It has none.
    return cls(config, data.masking, data.is_packed)


# He et al. 2021, appendix A: spans of up to three words, rows of whole text.
DEBERTA = pretraining.Objective(
  MaskDecoderTask, packing="full_sentences", masking_policy="ngram"
)
