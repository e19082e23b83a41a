"""The commands that a table needs, and where their scores stand."""

import dataclasses
import os
import statistics

from keras_bert_impl import configs, files
from keras_bert_impl.tokenizers import vocabulary as vocabulary_lib
from keras_bert_impl.training import report
from official_tasks.ablation import tables
from official_tasks.ablation.commands import Command

_CONFIG = "bert_config.json"
_QUIET = {"quiet": True}


@dataclasses.dataclass(frozen=True)
class Experiment:
  """Everything that the commands of a table have in common.

  Attributes:
    model_dir: str, folder of all models.
    scale: `scales.Scale`.
    tasks: tuple of `tasks.Task`.
    vocab_file: str; it is learned if it lies in `model_dir`.
    train_text: str, files to pre-train on, comma-separated.
    held_out_text: str, files to evaluate on, or "".
    num_restarts: int.
    random_seed: int.
  """

  model_dir: str
  scale: object
  tasks: tuple
  vocab_file: str
  train_text: str
  held_out_text: str
  num_restarts: int
  random_seed: int = 12345

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

  def records(self, objective):
    """Returns the `Command`s that write an objective's records."""
    parts = {"train": self.train_text, "held_out": self.held_out_text}
    return [
      Command(
        f"records of {objective}, {part}",
        "create_pretraining_data",
        self.join("records", f"{objective}_{part}"),
        {
          "objective": objective,
          "input_file": text,
          "output_file": self._records_file(objective, part),
          "vocab_file": self.vocab_file,
          "max_seq_length": self.scale.max_seq_length,
          **self.scale.records,
        },
      )
      for part, text in parts.items()
      if text
    ]

  def _records_file(self, objective, part):
    return self.join("records", f"{objective}_{part}", "records.tfrecord")

  def pretraining(self, model):
    """Returns the `Command` that pre-trains a `tables.Pretraining`."""
    folder = self.join("pretraining", model.name)
    steps = self.scale.checkpoint_steps
    held_out = self.held_out_text and self._records_file(
      model.objective, "held_out"
    )
    return Command(
      f"pre-training of {model.name}",
      "run_pretraining",
      folder,
      {
        "objective": model.objective,
        "input_file": self._records_file(model.objective, "train"),
        "eval_input_file": held_out or None,
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
        **model.flags,
        **_QUIET,
      },
    )

  def write_config(self, model):
    """Writes the configuration of a `tables.Pretraining`."""
    size = self.scale.shrink(model.size) if model.size else self.scale.size
    layers, hidden, heads = size
    config = configs.EncoderConfig.preset(
      "bert_base",
      vocab_size=vocabulary_lib.Vocabulary.load(self.vocab_file).size,
      num_hidden_layers=layers,
      hidden_size=hidden,
      num_attention_heads=heads,
      intermediate_size=4 * hidden,
      **self.scale.config,
      **model.config,
    )
    path = self.join("configs", model.name, _CONFIG)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    config.to_json_file(path)

  def fine_tuning(self, row, task, approach):
    """Returns the `Command` that fine-tunes a row's model on a task."""
    checkpoint = self.join("pretraining", row.pretraining.name)
    name = row.pretraining.name
    if row.step is not None:
      name = f"{name}_{row.step}"
      checkpoint = os.path.join(checkpoint, f"model.ckpt-{row.step}")
    flags, head = self._head_flags(row, task, approach)
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
    if row.features or approach == tables.FEATURES:
      features = row.features or "concat_last_four"
      flags = {"approach": "features", "features": features}
      return {**self.scale.features, **flags, "lstm_width": width}, features
    if not row.uses_bilstm:
      return {}, ""
    if task.kind == "tags":
      return {"approach": "fine_tuning_bilstm", "lstm_width": width}, "bilstm"
    return {"bilstm_width": width}, "bilstm"


def columns_of(table, tasks):
  """Returns {name of a column: (task, approach)} of a table.

  Features are those of words, so that only tags have a column of them; and
  multiple choice has no BiLSTM.
  """
  columns = {}
  for task in tasks:
    if table.kinds and task.kind not in table.kinds:
      continue
    for approach in table.approaches:
      if approach == tables.FINE_TUNING:
        columns[task.name] = task, approach
      elif task.kind == "tags":
        columns[f"{task.name}, {approach}"] = task, approach
  return columns


def cells_of(table, experiment):
  """Yields (row, column, `Command`) of the scores of a table."""
  for row in table.rows:
    for column, (task, approach) in columns_of(table, experiment.tasks).items():
      if row.uses_bilstm and task.kind == "choices":
        continue
      yield row, column, experiment.fine_tuning(row, task, approach)


def pretrainings_of(table):
  """Returns the different `tables.Pretraining` of a table, tuple."""
  return tuple(
    {row.pretraining.name: row.pretraining for row in table.rows}.values()
  )


def scores_of(table, experiment):
  """Returns [{"name", "scores", "paper"}], a dict for each row."""
  rows = {
    row.name: {"name": row.name, "scores": {}, "paper": row.paper}
    for row in table.rows
  }
  for row, column, command in cells_of(table, experiment):
    rows[row.name]["scores"][column] = _fine_tuned(command)
  if table.has_perplexity:
    for row in table.rows:
      folder = experiment.join("pretraining", row.pretraining.name)
      found = report.read_results(folder)["eval"]["masked_lm_perplexity"]
      summary = {"mean": found, "sd": 0.0, "n": 1}
      rows[row.name]["scores"][tables.PERPLEXITY] = summary
  return list(rows.values())


def _fine_tuned(command):
  """Returns {"mean", "sd", "n"} of a fine-tuning's restarts, in percent."""
  path = os.path.join(command.folder, report.RESULTS_NAME)
  results = files.read_json(path)
  if "runs" in results:
    found = [run["scores"] for run in results["runs"]]
    metric = results["metric"]
  else:
    evaluation = next(iter(results["eval"].values()))
    found, metric = [evaluation["scores"]], next(iter(evaluation["scores"]))
  if command.script == "run_classifier":
    # The paper has the accuracy of classes, also where GLUE has F1 first.
    metric = "accuracy" if "accuracy" in found[0] else metric
  values = [100 * scores[metric] for scores in found]
  return {
    "mean": statistics.mean(values),
    "sd": statistics.stdev(values) if values[1:] else 0.0,
    "n": len(values),
  }
