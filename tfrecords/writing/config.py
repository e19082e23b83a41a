"""Configuration of data preparation; the flags of its scripts."""

import dataclasses

from keras_bert_impl import choices, options
from keras_bert_impl.tasks import objectives
from tfrecords import masking_config
from tfrecords.writing import packings

MASKINGS = ("dynamic", "static")


@dataclasses.dataclass(frozen=True)
class PretrainingDataConfig(masking_config.MaskingConfig):
  """Configuration of pre-training data: with the text, it decides the records.

  Names, meanings and defaults are those of google-research/bert where it has
  them. The constructor fills in values that `objective` decides and that are
  not given; those of masking only where `masking` is "static": otherwise the
  manifests keep the given values for training.

  Raises:
    ValueError: a value is out of range or contradicts another.
  """

  vocab_file: str = dataclasses.field(
    metadata={
      "help": "The vocabulary: vocab.txt (WordPiece), vocab.json beside"
      " merges.txt (byte-level BPE) or *.model (SentencePiece)."
    }
  )
  do_lower_case: bool | None = options.common(
    None,
    "Whether to lower-case and strip accents, for uncased models; default: what"
    " is stored beside the vocabulary, or else what its tokenizer does.",
  )
  compose_hangul: bool | None = options.common(
    None,
    "Keep Hangul syllables whole under do_lower_case, right for Korean;"
    " default: as do_lower_case.",
  )
  objective: str = options.common(
    "bert",
    "What the data is for: decides packing, masking_policy, mask_token_prob"
    " and random_token_prob where they are not given.",
    tuple(objectives.OBJECTIVES),
  )
  packing: str | None = options.field(
    None,
    "How text becomes instances: pairs for next sentence or sentence-order"
    " prediction, or single sequences over the ends of documents"
    " (full_sentences) or not (doc_sentences).",
    choices.PACKINGS,
  )
  max_seq_length: int = options.common(128, "Most tokens per instance.")
  short_seq_prob: float = options.field(
    0.1,
    "Share of the instances that are shorter on purpose.",
    interval="[0, 1]",
  )
  dupe_factor: int = options.common(
    10,
    "How many times the text is made into (different) instances.",
    interval="[1, inf)",
  )
  random_seed: int = options.common(12345, "Seed of everything drawn.")
  masking: str = options.common(
    "dynamic",
    "static: mask now, records as google-research/bert writes them; dynamic:"
    " leave it to training, which masks anew every time.",
    MASKINGS,
  )

  def __post_init__(self):
    super().__post_init__()
    masking = self.masking_values
    filled = {"packing": objectives.OBJECTIVES[self.objective].packing}
    if self.masking == "static":
      filled |= masking
    for name, value in filled.items():
      if getattr(self, name) is None:
        object.__setattr__(self, name, value)
    if self.masking == "static" and self.masking_policy is None:
      raise ValueError(
        f"objective {self.objective!r} masks nothing, so masking must be "
        "dynamic, not static."
      )
    shortest = packings.MIN_SEQ_LENGTH
    if self.max_seq_length < shortest:
      raise ValueError(
        f"max_seq_length ({self.max_seq_length}) must be at least {shortest}: "
        "[CLS] A [SEP] B [SEP]."
      )

  @property
  def masking_values(self):
    """{name: value} of masking; values not given are those of `objective`."""
    return self.completed(self.objective)

  @property
  def tokenizer_options(self):
    """{name: value} of the tokenizer's options; None means not given."""
    return {
      "do_lower_case": self.do_lower_case,
      "compose_hangul": self.compose_hangul,
    }

  @property
  def use_pairs(self):
    """Whether instances are pairs with a label."""
    return self.packing in choices.PAIR_PACKINGS


@dataclasses.dataclass(frozen=True)
class BeamConfig:
  """Where data preparation runs: this machine, or a runner of Apache Beam.

  Raises:
    ValueError: options without a runner.
  """

  runner: str | None = options.field(
    None,
    "Runner of Apache Beam that does the work: DirectRunner, FlinkRunner,"
    " SparkRunner, DataflowRunner, ...; default: processes of this machine.",
  )
  pipeline_options: str = options.field(
    "",
    "Options of the runner as on a command line of Beam, for example"
    " '--direct_num_workers=2 --direct_running_mode=multi_processing'.",
  )

  def __post_init__(self):
    if self.pipeline_options and not self.runner:
      raise ValueError(
        f"pipeline_options ({self.pipeline_options}) need a runner."
      )
