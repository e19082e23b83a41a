r"""Repeats a table of the BERT paper, or of a later one, at any scale.

    python official_tasks/run_ablation.py --table=5 --model_dir=ablation

learns a vocabulary, pre-trains the models of the table, fine-tunes each with
restarts, and prints the table with the paper's beside it. Without --corpus and
--tasks it takes the documentation of the installed packages and two tasks made
of it. Models that are there already are used again, by other tables too; the
same command continues after an interruption, to the same numbers.

    ... --table=8 --scale=small --corpus='books/*.txt' \
      --held_out_corpus=held_out.txt \
      --tasks=MNLI=glue/MNLI,NER=conll2003,QNLI=QNLI/dev.tsv
    ... --table=glue --tasks=glue --init_checkpoint=uncased_L-12_H-768_A-12

A task is a folder with the published files of a data set, or a file of which a
part is held out. Tables: 5 (objectives), 6 (sizes), 7 (features) and 8 (masks)
of BERT; roberta1 (static and dynamic masks), albert5 (NSP and SOP), spanbert6
(tokens, words and spans), electra1 (replaced tokens at equal compute); glue
(all tasks of a folder, their average, and the file for GLUE's site).
"""

import dataclasses
import os

from etils import epy

from keras_bert_impl import locks, options
from keras_bert_impl.ablation import scales, tables
from keras_bert_impl.command_line import program
from keras_bert_impl.tokenizers.formats import vocabularies, vocabulary_files

with epy.lazy_imports():
  from keras_bert_impl.ablation import (
    commands,
    default_tasks,
    glue,
    table_plan,
    table_report,
  )
  from keras_bert_impl.checkpoints import reading
  from keras_bert_impl.kinds.multi_task import labelled_tasks
  from keras_bert_impl.kinds.texts import text_splits
  from keras_bert_impl.runs.fine_tuning import fine_tuning_config
  from keras_bert_impl.runs.pretraining import default_pretraining
  from tfrecords.text import sources


@dataclasses.dataclass(frozen=True)
class AblationConfig:
  """A table, its scale and its data.

  Raises:
    ValueError: neither a table nor a figure is named, or both.
  """

  table: str | None = options.common(
    None, "Table to repeat; numbers are BERT's.", tuple(tables.TABLES)
  )
  figure: str | None = options.common(
    None,
    "Figure of the paper to repeat: 5 (scores after k steps of pre-training,"
    " masked and left to right).",
    tuple(tables.FIGURES),
  )
  scale: str = options.common(
    "tiny",
    "Sizes and steps: tiny or mini (minutes a model on a CPU), small (hours),"
    " or base (the paper's).",
    tuple(scales.SCALES),
  )
  model_dir: str = options.common(
    "ablation_output", "Folder of models, scores and pictures."
  )
  corpus: str | None = options.common(
    None,
    "Text to pre-train on: paths or glob patterns, comma-separated; default:"
    " the documentation of the installed packages.",
  )
  held_out_corpus: str | None = options.common(
    None, "Text for the perplexities of --corpus; table 6 needs it."
  )
  init_checkpoint: str | None = options.common(
    None,
    "Model of a table that has one (7, glue), with its vocabulary, as of the"
    " other scripts; default: pre-trained on the corpus.",
  )
  vocab_file: str | None = options.common(
    None, "Vocabulary; default: WordPiece in lower case, learned from the text."
  )
  tasks: str | None = options.common(
    None,
    "Tasks to fine-tune on, NAME=PATH, comma-separated; for --table=glue the"
    " folder of GLUE's tasks; default: two tasks made of the corpus.",
  )
  num_restarts: int | None = options.common(
    None,
    "Fine-tunings of each model on each task; default: the scale's.",
    interval="[1, 1000]",
  )
  random_seed: int = options.field(
    12345, "Seed of the first restart.", interval=options.SEEDS
  )

  def __post_init__(self):
    options.check_fields(self)
    if (self.table is None) == (self.figure is None):
      raise ValueError("give --table or --figure, one of them.")
    if self.table == "6" and self.corpus and not self.held_out_corpus:
      raise ValueError("--table=6 needs --held_out_corpus beside --corpus.")
    if self.table == "glue" and not self.tasks:
      raise ValueError(
        "--table=glue needs --tasks, the folder of GLUE's tasks."
      )


def _check(config, table, num_restarts):
  """Checks what is given before the first command takes a while.

  Raises:
    FileNotFoundError: a file is missing.
    ValueError: a file cannot be used, a checkpoint is given for several models,
      or there are not so many seeds.
  """
  number = len(table_plan.pretrainings_of(table))
  if config.init_checkpoint and number > 1:
    raise ValueError(
      f"init_checkpoint ({config.init_checkpoint}) is one model: {table.name}"
      f" compares {number}, which it pre-trains."
    )
  for text in (config.corpus, config.held_out_corpus):
    sources.check(program.split_names(text or ""))
  if config.vocab_file:
    vocabularies.Vocabulary.load(config.vocab_file)
  if config.init_checkpoint:
    reading.open_checkpoint(config.init_checkpoint)
  last = config.random_seed + num_restarts - 1
  options.check_numbers(options.SEEDS, **{"random_seed of a restart": last})


def _tasks(config, table):
  """Returns the `labelled_tasks.Task`s of --tasks, whose texts are read."""
  if table.is_glue:
    return glue.tasks(config.tasks)
  tasks = labelled_tasks.parse(config.tasks) if config.tasks else ()
  settings = fine_tuning_config.FineTuningConfig(do_train=True, do_eval=True)
  for task in tasks:
    if task.kind == "texts":
      flags = task.configuration(text_splits.ClassifierConfig)
      text_splits.read(text_splits.data_set(flags), flags, settings)
  return tasks


def _experiment(config, scale, given):
  """Returns the `Experiment` of the flags; writes the default data."""
  train, held_out = config.corpus, config.held_out_corpus or ""
  if not train and not (config.init_checkpoint and given):
    parts = default_pretraining.corpus(os.path.join(config.model_dir, "corpus"))
    train, held_out = (",".join(part) for part in parts)
  if not given:
    given = default_tasks.write(
      os.path.join(config.model_dir, "tasks"), program.split_names(train)
    )
  return table_plan.Experiment(
    config.model_dir,
    scale,
    given,
    os.fspath(vocabulary_files.find(config.vocab_file))
    if config.vocab_file
    else os.path.join(config.model_dir, "vocabulary", "vocab.txt"),
    train,
    held_out,
    config.num_restarts or scale.num_restarts,
    config.random_seed,
    config.init_checkpoint,
  )


def main():
  """Runs the commands of the table and reports its scores."""
  config = program.from_flags(AblationConfig)
  scale = scales.SCALES[config.scale]
  table = tables.find(config.table, config.figure, scale)
  _check(config, table, config.num_restarts or scale.num_restarts)
  with locks.of_folder(config.model_dir):
    _run(config, scale, table)


def _run(config, scale, table):
  """Runs what is not finished yet in model_dir, and reports."""
  experiment = _experiment(config, scale, _tasks(config, table))
  if not table_plan.columns_of(table, experiment.tasks):
    raise ValueError(
      f"tasks ({config.tasks!r}): {table.title.lower()} needs a task of tags,"
      " such as NER=conll2003."
    )
  todo = table_plan.commands_of(table, experiment)
  if not (config.vocab_file or config.init_checkpoint):
    todo.insert(0, experiment.vocabulary())
  handed_in = []
  if table.is_glue:
    handed_in = glue.commands(config.tasks, experiment, todo)
  commands.run_all(todo + handed_in, table.name.replace("_", " ").capitalize())
  folder = experiment.join(table.name)
  table_report.write(
    table,
    table_plan.scores_of(table, experiment),
    folder,
    dataclasses.asdict(config),
    {command.title: command.folder for command in todo},
  )
  if table.is_glue:
    print(glue.write_zip(folder, handed_in))


program.define_flags(AblationConfig)

if __name__ == "__main__":
  program.run(main)
