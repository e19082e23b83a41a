"""BART's and T5's objectives: a decoder writes what noise has hidden."""

import dataclasses

from keras_bert_impl import choices, features, options
from keras_bert_impl.tasks.basics import pretraining
from keras_bert_impl.tasks.pretraining import text_to_text


class DenoisingTask(text_to_text.TextToTextTask):
  """BART's objective: the decoder writes the text without its noise.

  Args: as `TextToTextTask`; `data.masking` is a `denoising.Noise`.

  Source: Lewis et al. 2020, section 2.
  """

  objective = "bart"
  token_loss = "denoising"
  short_names = {"denoising": "denoising"}

  @property
  def lengths(self):
    """As `TextToTextTask`."""
    noise = self.data.masking
    return noise.lengths if noise else super().lengths


@dataclasses.dataclass(frozen=True)
class SpanCorruptionOptions:
  """Options of --objective=t5."""

  prefix_lm_share: float = options.field(
    0.0,
    "Share of the rows of t5 of which the last quarter is written, as by a"
    " language model with a prefix (UL2's S-denoiser), and not spans.",
    interval="[0, 1]",
  )


class SpanCorruptionTask(DenoisingTask):
  """T5's objective: the decoder writes the spans that sentinels stand for.

  Args: as `DenoisingTask`.
    options: `SpanCorruptionOptions`.

  Source: Raffel et al. 2020, section 3.1.4; Tay et al. 2023 (UL2), section 3.1.
  """

  objective = "t5"
  options_class = SpanCorruptionOptions

  def __init__(self, config, data=None, options=None):
    super().__init__(config, data, options)
    share = self.options.prefix_lm_share
    if share and self.data.masking:
      noise = dataclasses.replace(self.data.masking, prefix_share=share)
      self.data = dataclasses.replace(self.data, masking=noise)

  def prepare(self, batch, seed):
    """Puts noise into clean records; see `PretrainingTask`.

    Raises:
      ValueError: some are to be prefixes, but there is noise in them already.
    """
    share = self.options.prefix_lm_share
    if share and features.TARGET_IDS in batch:
      raise ValueError(
        f"prefix_lm_share ({share}) needs records without noise, but these were"
        " written with masking=static: write them with masking=dynamic."
      )
    return super().prepare(batch, seed)


# Lewis et al. 2020, section 3: of 30 % of the words, spans; sentences permuted.
BART = pretraining.Objective(
  DenoisingTask,
  packing="doc_sentences",
  masking_policy="permuted_infilling",
  masked_lm_prob=0.3,
  mask_token_prob=1.0,
  random_token_prob=0.0,
  servables=("encoder", "generation"),
)
# Raffel et al. 2020, section 3.1.4: 15 % of the tokens, rows cut of all text.
T5 = pretraining.Objective(
  SpanCorruptionTask,
  packing=choices.DOCUMENTS,
  masking_policy="span_corruption",
  mask_token_prob=1.0,
  random_token_prob=0.0,
  servables=("encoder", "generation"),
)
