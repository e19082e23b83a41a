"""Configuration of data preparation; the flags of its scripts."""

import dataclasses

from keras_bert_impl import choices, options
from keras_bert_impl.tasks import objectives
from tfrecords import masking_config
from tfrecords.writing import packings

MASKINGS = ("dynamic", "static")
NUM_SHARDS = "[1, 99999]"  # five digits in the names of the files
_FULL_OR_TWO = (choices.DOCUMENTS, choices.FOLLOWING_SENTENCES)


@dataclasses.dataclass(frozen=True)
class PretrainingDataConfig(masking_config.MaskingConfig):
  """Configuration of pre-training data: with the text, it decides the records.

  Names, meanings and defaults are those of google-research/bert where it has
  them. The constructor replaces None by the default of `objective`; fields of
  masking only if `masking` is "static", as dynamic masking leaves them to
  training, for which the manifests keep the given values.

  Raises:
    ValueError: a value is out of range or contradicts another.
  """

  vocab_file: str = dataclasses.field(
    metadata={
      "help": "Vocabulary: vocab.txt (WordPiece), vocab.json with merges.txt"
      " beside it (byte-level BPE) or *.model (SentencePiece), or its folder."
    }
  )
  do_lower_case: bool | None = options.common(
    None,
    "Whether to lower-case and strip accents, for uncased models; default: the"
    " value stored beside the vocabulary, or the tokenizer's default.",
  )
  compose_hangul: bool | None = options.common(
    None,
    "Whether do_lower_case keeps Hangul syllables whole, right for Korean;"
    " default: the value stored beside the vocabulary.",
  )
  objective: str = options.common(
    "bert",
    "Pre-training objective; it sets the defaults of packing, masking_policy,"
    " mask_token_prob and random_token_prob.",
    tuple(objectives.OBJECTIVES),
  )
  packing: str | None = options.field(
    None,
    "How text becomes instances: pairs for next sentence or sentence-order"
    " prediction, single sequences that may cross the ends of documents"
    " (full_sentences) or not (doc_sentences), full rows of documents joined by"
    " [SEP] (documents), or each sentence and the next (following_sentences).",
    choices.PACKINGS,
  )
  max_seq_length: int = options.common(
    128,
    "Maximum tokens per instance.",
    # [CLS] A [SEP] B [SEP].
    interval=f"[{packings.MIN_SEQ_LENGTH}, 32768]",
  )
  short_seq_prob: float = options.field(
    0.1,
    "Share of the instances that are made shorter at random.",
    interval="[0, 1]",
  )
  dupe_factor: int = options.common(
    10,
    "Number of times to make (different) instances of the text.",
    interval="[1, 10000]",
  )
  random_seed: int = options.common(
    12345, "Seed of all random choices.", interval=options.SEEDS
  )
  masking: str = options.common(
    "dynamic",
    "static: write masked records, as google-research/bert does; dynamic: let"
    " training mask, differently each time.",
    MASKINGS,
  )
  pack_sequences: bool = options.common(
    False,
    "Whether to put several texts into a row, where none sees another, instead"
    " of padding; not for sentence pairs.",
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
    if self.pack_sequences and self.use_pairs:
      raise ValueError(
        f"pack_sequences needs texts, but packing={self.packing} makes sentence"
        " pairs: give --packing=doc_sentences or full_sentences."
      )
    is_noise = masking["masking_policy"] in choices.NOISES
    if self.pack_sequences and (is_noise or self.packing in _FULL_OR_TWO):
      raise ValueError(
        f"pack_sequences must be left out with objective {self.objective!r} and"
        f" packing={self.packing}: a row is one text, or full."
      )

  @property
  def masking_values(self):
    """{name: value} of masking; None is replaced by `objective`'s default."""
    return self.completed(self.objective)

  @property
  def tokenizer_options(self):
    """{name: value} of the tokenizer's options; None for the default."""
    return {
      "do_lower_case": self.do_lower_case,
      "compose_hangul": self.compose_hangul,
    }

  @property
  def use_pairs(self):
    """Whether instances are sentence pairs with a label."""
    return self.packing in choices.PAIR_PACKINGS


@dataclasses.dataclass(frozen=True)
class BeamConfig:
  """Choice of this machine or of Apache Beam for data preparation.

  Raises:
    ValueError: pipeline_options are given without a runner.
  """

  runner: str | None = options.field(
    None,
    "Apache Beam runner: DirectRunner, FlinkRunner, SparkRunner,"
    " DataflowRunner, ...; default: processes on this machine, without Beam.",
  )
  pipeline_options: str = options.field(
    "",
    "Command-line options for the Beam runner, for example"
    " '--direct_num_workers=2 --direct_running_mode=multi_processing'.",
  )

  def __post_init__(self):
    if self.pipeline_options and not self.runner:
      raise ValueError(
        f"pipeline_options ({self.pipeline_options}) need a runner: give"
        " --runner."
      )
