"""Configuration of pre-training; its fields become flags of the script."""

import dataclasses

from keras_bert_impl import options
from keras_bert_impl.command_line import program
from keras_bert_impl.tasks import objectives
from keras_bert_impl.training import training_config
from tfrecords import masking_config

PAPER = "paper"
RECORDS = "records"  # Of word_vectors.
RECIPES = (PAPER, "fast")


@dataclasses.dataclass(frozen=True)
class DataConfig:
  """Data and actions of a run; names and defaults of google-research/bert.

  Raises:
    ValueError: input_file is given without training and evaluation, or without
      a model: bert_config_file, or a recipe and vocab_file.
  """

  input_file: str | None = options.common(
    None,
    "Training TFRecords: paths or glob patterns, comma-separated; default: the"
    " script prepares a small data set.",
  )
  eval_input_file: str | None = options.common(
    None, "Held-out TFRecords; default: input_file."
  )
  eval_text_file: str | None = options.common(
    None,
    "Held-out raw text, the same for all runs: evaluation adds the standard"
    " scores of it, which compare objectives and vocabularies. With"
    " init_checkpoint, and without input_file and do_train, only these.",
  )
  bert_config_file: str | None = options.common(
    None, "Model configuration, as in bert_config.json."
  )
  vocab_file: str | None = options.common(
    None,
    "Vocabulary of the records (vocab.txt, vocab.json or *.model); default: the"
    " file beside bert_config_file.",
  )
  objective: str = options.common(
    "bert",
    "Pre-training objective and its masking.",
    tuple(objectives.OBJECTIVES),
  )
  recipe: str = options.common(
    PAPER,
    "Defaults of the flags that are not given: paper, those of --helpfull;"
    " fast, the objective, model and training that learned most in a few"
    " minutes (docs/recipes.md).",
    RECIPES,
  )
  max_seq_length: int = options.common(
    128, "Maximum tokens per example.", interval=options.SEQ_LENGTHS
  )
  bucket_by_length: bool = options.field(
    False,
    "Whether to batch training records of similar length and pad them only to"
    " the longest; False, and TPUs, pad all rows to max_seq_length.",
  )
  skip_corrupt_records: bool = options.field(
    False, "Whether to skip and count corrupt records instead of stopping."
  )
  word_vectors: str | None = options.field(
    None,
    "What the embeddings of tokens start from, instead of random numbers: a"
    " text file of GloVe, word2vec or fastText, for whole words; or records: of"
    " which tokens stand near each other in the records to train on.",
  )
  do_train: bool = options.common(False, "Whether to train.")
  do_eval: bool = options.common(False, "Whether to evaluate.")
  do_export: bool = options.field(
    True, "Whether to export SavedModels after training (needs a vocabulary)."
  )
  example_text: tuple[str, ...] = options.field(
    (),
    "Text with [MASK] to print predictions for or, of a generator, to write"
    " another of; may be repeated.",
  )

  def __post_init__(self):
    if self.input_file and not self.do_train and not self.do_eval:
      raise ValueError("at least one of --do_train and --do_eval must be True.")
    if self.input_file and not self.bert_config_file:
      if self.recipe == PAPER:
        raise ValueError("--bert_config_file must be given with --input_file.")
      if not self.vocab_file:
        raise ValueError(
          f"--recipe={self.recipe} with --input_file needs the --vocab_file of"
          " the records to make a model, or a --bert_config_file."
        )

  @property
  def has_text_alone(self):
    """Whether there is raw text to evaluate on, and no records."""
    is_evaluation = self.do_eval and not self.do_train
    return bool(self.eval_text_file and is_evaluation and not self.input_file)


@dataclasses.dataclass(frozen=True)
class PretrainingConfig:
  """The whole configuration of a pre-training run.

  Attributes:
    data: `DataConfig`.
    masking: `MaskingConfig`.
    training: `TrainingConfig`.
    options: options of the objective, see `tasks.basics.pretraining.Objective`;
      None for its defaults.

  Raises:
    ValueError: word_vectors would replace embeddings of init_checkpoint, or an
      objective lacks its teacher.
  """

  data: DataConfig
  masking: masking_config.MaskingConfig
  training: training_config.TrainingConfig
  options: object = None

  def __post_init__(self):
    if self.data.word_vectors and self.training.init_checkpoint:
      raise ValueError(
        f"word_vectors ({self.data.word_vectors}) must be left out with"
        " init_checkpoint, whose embeddings they would replace."
      )
    teacher = getattr(self.options, "teacher_checkpoint", "")
    if teacher is None or (teacher and not self.data.input_file):
      raise ValueError(
        f"--objective={self.data.objective} needs --teacher_checkpoint, a"
        " masked language model, and --input_file, records in its vocabulary."
      )

  @property
  def objective(self):
    """The `Objective` that `data` names."""
    return objectives.OBJECTIVES[self.data.objective]


def define_flags():
  """Defines the flags of pre-training, including those of all objectives."""
  program.define_flags(DataConfig)
  program.define_flags(masking_config.MaskingConfig)
  # Some objectives have the same options.
  classes = [x.options for x in objectives.OBJECTIVES.values() if x.options]
  for options_class in dict.fromkeys(classes):
    program.define_flags(options_class)
  program.define_flags(training_config.TrainingConfig)


def from_flags():
  """Returns the `PretrainingConfig` of the flags.

  Raises:
    ValueError: a value is out of range or not a number; the message names the
      flag.
  """
  data = program.from_flags(DataConfig)
  options_class = objectives.OBJECTIVES[data.objective].options
  own = program.changed(options_class) if options_class else {}
  for name, other in objectives.OBJECTIVES.items():
    of_other = program.changed(other.options) if other.options else {}
    for flag in of_other.keys() - own.keys():
      raise ValueError(
        f"{flag} ({of_other[flag]}) is an option of --objective={name}, not of"
        f" --objective={data.objective}: leave it out."
      )
  return PretrainingConfig(
    data,
    program.from_flags(masking_config.MaskingConfig),
    program.from_flags(training_config.TrainingConfig),
    options_class and program.from_flags(options_class),
  )
