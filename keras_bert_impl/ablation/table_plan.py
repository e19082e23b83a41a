"""The commands that a table needs, and where their scores stand."""

import dataclasses
import functools
import os
import statistics

from keras_bert_impl import files
from keras_bert_impl.ablation import table_rows
from keras_bert_impl.ablation.commands import Command
from keras_bert_impl.tokenizers.formats import vocabularies
from keras_bert_impl.training import run_results

_CONFIG = "bert_config.json"
_QUIET = {"quiet": True}
_GLUE_COLUMNS = 9


@dataclasses.dataclass(frozen=True)
class Experiment:
  """Everything that the commands of a table have in common.

  Attributes:
    model_dir: str, folder of all models.
    scale: `scales.Scale`.
    tasks: tuple of `labelled_tasks.Task`.
    vocab_file: str; it is learned if it lies in `model_dir`.
    train_text: str, files to pre-train on, comma-separated.
    held_out_text: str, files to evaluate on, or "".
    num_restarts: int.
    random_seed: int.
    init_checkpoint: str, the model of a table of one; None to pre-train it.
  """

  model_dir: str
  scale: object
  tasks: tuple
  vocab_file: str
  train_text: str
  held_out_text: str
  num_restarts: int
  random_seed: int = 12345
  init_checkpoint: str | None = None

  def join(self, *names):
    """Returns a path in `model_dir`."""
    return os.path.join(self.model_dir, *names)

  def vocabulary(self):
    """Returns the `Command` that learns the vocabulary."""
    return Command(
      "vocabulary",
      "train_vocabulary",
      os.path.dirname(self.vocab_file),
      {
        "input_file": self.train_text,
        "vocab_file": self.vocab_file,
        "vocab_size": self.scale.vocab_size,
      },
    )

  def records(self, model):
    """Returns the `Command`s that write records of a `Pretraining`."""
    parts = {"train": self.train_text, "held_out": self.held_out_text}
    return [
      Command(
        f"records of {model.records_name}, {part}",
        "create_pretraining_data",
        os.path.dirname(self._records_file(model, part)),
        {
          "objective": model.objective,
          "input_file": text,
          "output_file": self._records_file(model, part),
          "vocab_file": self.vocab_file,
          "max_seq_length": self.scale.max_seq_length,
          **self.scale.records,
          **self._masks(model, of_records=True),
          **model.records,
        },
      )
      for part, text in parts.items()
      if text
    ]

  def _masks(self, model, of_records):
    """Returns the scale's flags of masks, for records or for the training."""
    is_written = model.records.get("masking") == "static"
    is_for = model.masks_tokens and is_written == of_records
    return self.scale.masks if is_for else {}

  def _records_file(self, model, part):
    folder = f"{model.records_name}_{part}"
    return self.join("records", folder, "records.tfrecord")

  def pretraining(self, model):
    """Returns the `Command` that pre-trains a `table_rows.Pretraining`."""
    folder = self.join("pretraining", model.name)
    steps = self.scale.checkpoint_steps
    held_out = self.held_out_text and self._records_file(model, "held_out")
    return Command(
      f"pre-training of {model.name}",
      "run_pretraining",
      folder,
      {
        "objective": model.objective,
        "input_file": self._records_file(model, "train"),
        "eval_input_file": held_out or None,
        "eval_text_file": self.held_out_text or None,
        "bert_config_file": self.join("configs", model.name, _CONFIG),
        "vocab_file": self.vocab_file,
        "output_dir": folder,
        "do_train": True,
        "do_eval": True,
        "do_export": False,
        "max_seq_length": self.scale.max_seq_length,
        "max_predictions_per_seq": self.scale.records[
          "max_predictions_per_seq"
        ],
        "save_checkpoints_steps": steps.step,
        "keep_checkpoint_max": len(steps) if model.keeps_all else 1,
        "random_seed": self.random_seed,
        **self.scale.pretraining,
        **self._masks(model, of_records=False),
        **model.flags,
        **_QUIET,
      },
      functools.partial(self._write_config, model),
    )

  def _write_config(self, model):
    """Writes the configuration of a model; the vocabulary is there."""
    size = vocabularies.Vocabulary.load(self.vocab_file).size
    path = self.join("configs", model.name, _CONFIG)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    self.scale.encoder_config(model, size).to_json_file(path)

  def fine_tuning(self, row, task, approach):
    """Returns the `Command` that fine-tunes a row's model on a task."""
    checkpoint = self.init_checkpoint or self.join(
      "pretraining", row.pretraining.name
    )
    name = row.pretraining.name
    if row.step is not None:
      name = f"{name}_{row.step}"
      checkpoint = os.path.join(checkpoint, f"model.ckpt-{row.step}")
    flags, head = self._head_flags(row, task, approach)
    if task.kind == "answers":
      flags = {**self.scale.answers, **flags}
    folder = self.join("fine_tuning", task.name, name + (head and f"_{head}"))
    return Command(
      f"{row.name} on {task.name}{', ' * bool(head)}{head}",
      task.script,
      folder,
      {
        "init_checkpoint": checkpoint,
        "output_dir": folder,
        "do_train": True,
        "do_eval": True,
        "max_seq_length": self.scale.max_seq_length,
        "num_restarts": self.num_restarts,
        "random_seed": self.random_seed,
        **task.flags,
        **self.scale.fine_tuning,
        **flags,
        **_QUIET,
      },
    )

  def _head_flags(self, row, task, approach):
    """Returns the flags of a row's head, and its name, "" for the usual one."""
    width = self.scale.size[1]
    if row.features or approach == table_rows.FEATURES:
      has_four = self.scale.size[0] >= 4
      usual = "concat_last_four" if has_four else "weighted_sum_all"
      features = row.features or usual
      flags = {"approach": "features", "features": features}
      return {**self.scale.features, **flags, "lstm_width": width}, features
    if not row.uses_bilstm:
      return {}, ""
    if task.kind == "tags":
      return {"approach": "fine_tuning_bilstm", "lstm_width": width}, "bilstm"
    return {"bilstm_width": width}, "bilstm"


@dataclasses.dataclass(frozen=True)
class Column:
  """Task and approach of a column of scores.

  Attributes:
    task: `labelled_tasks.Task`.
    approach: FINE_TUNING or FEATURES.
    split: str, the dev set; None for the task's only one.
  """

  task: object
  approach: str = table_rows.FINE_TUNING
  split: str | None = None


@dataclasses.dataclass(frozen=True)
class BestRun:
  """The folder of a fine-tuning's best restart; as text, once it is finished.

  Attributes:
    folder: str, of all restarts.
  """

  folder: str

  def __str__(self):
    results = _results(self.folder)
    names = ("runs", results["best"]["name"]) if "best" in results else ()
    return os.path.join(self.folder, *names)


def columns_of(table, tasks):
  """Returns {name: `Column`} of a table.

  Features are those of words, so that only tags have a column of them; and
  multiple choice has no BiLSTM.
  """
  columns = {}
  for task in tasks:
    if table.kinds and task.kind not in table.kinds:
      continue
    for approach in table.approaches:
      if table.is_glue and task.name == "MNLI":
        columns["MNLI-m"] = Column(task, split="dev")
        columns["MNLI-mm"] = Column(task, split="dev_mismatched")
      elif approach == table_rows.FINE_TUNING:
        columns[task.name] = Column(task)
      elif task.kind == "tags":
        columns[f"{task.name}, {approach}"] = Column(task, approach)
  return columns


def cells_of(table, experiment):
  """Yields (row, name of a column, `Command`) of the scores of a table."""
  for row in table.rows:
    for name, column in columns_of(table, experiment.tasks).items():
      if row.uses_bilstm and column.task.kind == "choices":
        continue
      yield row, name, experiment.fine_tuning(row, column.task, column.approach)


def pretrainings_of(table):
  """Returns the different `table_rows.Pretraining` of a table, tuple."""
  return tuple(
    {row.pretraining.name: row.pretraining for row in table.rows}.values()
  )


def commands_of(table, experiment):
  """Returns the `Command`s that a table needs, after the vocabulary, list."""
  cells = [command for _, _, command in cells_of(table, experiment)]
  if experiment.init_checkpoint:
    return cells
  models = pretrainings_of(table)
  records = [command for m in models for command in experiment.records(m)]
  return records + [experiment.pretraining(model) for model in models] + cells


def scores_of(table, experiment):
  """Returns [{"name", "scores", "paper"}], a dict for each row."""
  columns = columns_of(table, experiment.tasks)
  values = {row.name: {} for row in table.rows}
  for row, name, command in cells_of(table, experiment):
    found = _restarts(columns[name], command, table.is_glue)
    values[row.name][name] = found
  for row in table.rows:
    if table.is_glue:
      _add_average(values[row.name])
    if table.has_perplexity:
      folder = experiment.join("pretraining", row.pretraining.name)
      found = _results(folder)["eval"]["masked_lm_perplexity"]
      values[row.name][table_rows.PERPLEXITY] = [found]
  return [
    {
      "name": row.name,
      "scores": {
        name: _summary(found) for name, found in values[row.name].items()
      },
      "paper": row.paper,
    }
    for row in table.rows
  ]


def _add_average(values):
  """Adds the average of each restart's scores to {column: scores}.

  The paper's is of nine columns; that of fewer has another name.
  """
  name = table_rows.AVERAGE
  if len(values) < _GLUE_COLUMNS:
    name += f" of {len(values)}"
  restarts = zip(*values.values(), strict=True)
  values[name] = [statistics.mean(scores) for scores in restarts]


def _restarts(column, command, is_glue):
  """Returns the scores of a fine-tuning's restarts in percent, list of float.

  Args:
    column: `Column`.
    command: `Command` of the fine-tuning.
    is_glue: as `table_rows.Table`.
  """
  results = _results(command.folder)
  names = [os.path.join("runs", run["name"]) for run in results.get("runs", [])]
  values = []
  for name in names or [""]:
    run = _results(os.path.join(command.folder, name))["eval"]
    scores = run[column.split or next(iter(run))]["scores"]
    values.append(100 * scores[_metric(column.task, scores, is_glue)])
  return values


def _metric(task, scores, is_glue):
  """Returns the metric of a task: F1 of answers and tags, else the first one.

  Where the table is not GLUE, it is the accuracy of classes: the papers have it
  there, also where GLUE has F1 first.
  """
  if task.kind in ("answers", "tags"):
    return "f1"
  if "accuracy" in scores and not is_glue:
    return "accuracy"
  return next(iter(scores))


def _results(folder):
  return files.read_json(os.path.join(folder, run_results.RESULTS_NAME))


def _summary(values):
  """Returns {"mean", "sd", "n"} of scores."""
  return {
    "mean": statistics.mean(values),
    "sd": statistics.stdev(values) if values[1:] else 0.0,
    "n": len(values),
  }
