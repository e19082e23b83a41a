"""Files of questions, and the prompts that templates make of their columns."""

import collections
import dataclasses
import re

from keras_bert_impl import options
from keras_bert_impl.kinds.choices import choice_data
from keras_bert_impl.kinds.texts import classification_data
from keras_bert_impl.model_folders import model_files
from keras_bert_impl.runs.labelled_data import labelled_splits
from keras_bert_impl.tasks.basics import example_types
from tfrecords.labelled import data_sets

_COLUMN = re.compile(r"\{([^{}]+)\}")
DATA_SETS = choice_data.DATA_SETS + tuple(
  data_set
  for data_set in classification_data.DATA_SETS
  if data_set.labels is not None
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class FewShotConfig(labelled_splits.SplitsConfig, model_files.ModelFilesConfig):
  """Model, questions and prompts.

  Raises:
    ValueError: flags contradict each other, or there is nothing to do.
  """

  init_checkpoint: str = options.required(
    "Model that writes texts: output_dir of a run, a folder of safetensors, or"
    " a name such as gpt2."
  )
  output_dir: str = options.required(
    "Folder for results.json, report.html and the answers."
  )
  text_file: tuple[str, ...] | None = options.listed(
    None,
    "Texts, comma-separated, a document each, whose perplexity is measured.",
    is_common=True,
  )
  train_file: tuple[str, ...] | None = options.listed(
    None,
    "Files of the examples in prompts, comma-separated, instead of the"
    " published files: .tsv or .txt (tabs), .csv, .jsonl or .json.",
    is_common=True,
  )
  dev_file: tuple[str, ...] | None = options.listed(
    None,
    "Files of the questions, instead of the published files.",
    is_common=True,
  )
  template: str | None = options.common(
    None,
    "What a prompt says, with columns in braces; \\n ends a line:"
    " '{question}\\nAnswer:'. Default: the texts, a line each.",
  )
  choice_columns: tuple[str, ...] | None = options.listed(
    None,
    "Names of the columns of the choices, comma-separated, or of one column of"
    " lists (JSON). Labels count the choices from 0.",
    is_common=True,
  )
  label_words: tuple[str, ...] | None = options.listed(
    None,
    "Classes that are the choices, comma-separated, each with the words for it:"
    " 0=bad,1=good. Without words a class is its own.",
    is_common=True,
  )
  num_fewshot: tuple[int, ...] | None = options.listed(
    None,
    "Numbers of examples in each prompt, comma-separated; one evaluation each;"
    " default: 0.",
    is_common=True,
  )
  random_seed: int = options.common(
    0, "Seed of the examples that each prompt has.", interval=options.SEEDS
  )
  separator: str = options.field(
    "\\n\\n", "What stands between examples in a prompt; \\n ends a line."
  )
  batch_size: int = options.field(
    32, "Choices that are scored at once.", interval=options.BATCH_SIZES
  )

  def __post_init__(self):
    super().__post_init__()
    if self.choice_columns and self.label_words:
      raise ValueError("give --choice_columns or --label_words, not both.")
    for number in self.numbers:
      options.check_integers("[0, 1000]", num_fewshot=number)
    if not (self.has_questions or self.text_file):
      raise ValueError(
        "give --task_name, --dev_file or --dev_fraction with questions, or"
        " --text_file."
      )
    if not self.is_custom:
      self._check_columns(("choice_columns",))
    elif self.has_questions and not (self.choice_columns or self.label_words):
      raise ValueError(
        "--choice_columns or --label_words must be given, or --task_name with a"
        " data set."
      )

  @property
  def numbers(self):
    """How many examples prompts have, tuple of int."""
    return self.num_fewshot or (0,)

  @property
  def has_questions(self):
    """Whether there are questions to ask."""
    return bool(self.dev_file or self.dev_fraction or not self.is_custom)


@dataclasses.dataclass(frozen=True)
class PromptSource(choice_data.ChoiceSource):
  """Source of questions: a template of columns, and choices.

  Attributes:
    template: str, with columns in braces.
    words: tuple of (class, its words), the choices of each question where no
      columns have them.
    label_names: as of `classification_data.TextSource`.
  """

  template: str = ""
  words: tuple[tuple[str, str], ...] = ()
  label_names: tuple[tuple[str, str], ...] = ()

  def example(self, row, name, label):
    """Returns the `MultipleChoiceExample` of a row."""
    text = _COLUMN.sub(lambda at: row.value(at[1], "template"), self.template)
    if self.choices:
      row = row._replace(values=row.values | {self.text: text})
      return super().example(row, name, label)
    classes = [known for known, _ in self.words]
    label = dict(self.label_names).get(label, label)
    if label is not None:
      options.check_choice(f"{row.origin}: {self.label}", label, classes)
    return example_types.MultipleChoiceExample(
      name,
      text,
      tuple(words for _, words in self.words),
      None if label is None else classes.index(label),
      row.origin,
    )


def read(config, settings):
  """Returns {split: list of `MultipleChoiceExample`} of the flags.

  Args:
    config: `FewShotConfig`.
    settings: `fine_tuning_config.FineTuningConfig`, which says what is needed.

  Raises:
    ValueError: a file, a column or a class is missing or malformed.
    FileNotFoundError: a file does not exist.
  """
  if config.is_custom:
    own = config.source_options | {"choices": config.choice_columns or ()}
    splits = labelled_splits.custom_splits(choice_data.ChoiceSource(**own))
    data_set = data_sets.DataSet(labelled_splits.CUSTOM, splits)
  else:
    data_set = data_sets.find(DATA_SETS, config.task_name)
  splits = {
    split: _prompting(source, data_set, config)
    for split, source in data_set.splits.items()
  }
  data_set = dataclasses.replace(data_set, splits=splits)
  found, _ = labelled_splits.read(data_set, config, settings)
  return found


def _prompting(source, data_set, config):
  """Returns the `PromptSource` of a source of texts or choices."""
  common = {
    field.name: getattr(source, field.name)
    for field in dataclasses.fields(data_sets.Source)
  }
  pair = getattr(source, "text_pair", None)
  # In SWAG all choices begin with the same words, which are the question's.
  opening = getattr(source, "opening", None)
  usual = f"{{{source.text}}}"
  usual += f"\\n{{{pair}}}" if pair else f" {{{opening}}}" if opening else ""
  return PromptSource(
    **common,
    choices=getattr(source, "choices", ()),
    template=(config.template or usual).replace("\\n", "\n"),
    words=_words(data_set, config),
    label_names=getattr(source, "label_names", ()),
  )


def _words(data_set, config):
  """Returns (class, its words) of each class, tuple; () of choices."""
  if config.label_words:
    parts = [each.partition("=") for each in config.label_words]
    words = tuple((name, said or name) for name, _, said in parts)
    number = collections.Counter(name for name, _ in words)
    if len(words) < 2 or max(number.values()) > 1:
      raise ValueError(
        f"label_words ({','.join(config.label_words)}) must name at least two"
        " classes, each once."
      )
    return words
  classes = getattr(data_set, "labels", None) or ()
  names = getattr(data_set, "class_names", None) or classes
  return tuple(zip(classes, names, strict=True))
