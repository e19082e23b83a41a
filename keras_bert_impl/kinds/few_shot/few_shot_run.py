"""The run of run_few_shot.py: questions, perplexities, and what is written."""

import dataclasses
import json

import numpy as np

from keras_bert_impl import files
from keras_bert_impl.kinds.few_shot import prompt_files
from keras_bert_impl.kinds.generation import few_shot, text_generator
from keras_bert_impl.metrics import intervals
from keras_bert_impl.model_folders import model_files, run_folder
from keras_bert_impl.reports import report_page, sections
from keras_bert_impl.runs.fine_tuning import fine_tuning_config
from keras_bert_impl.training import run_results

_NOTE = (
  "acc is the share of questions whose right choice is the likeliest; acc_norm,"
  " acc_bytes and acc_tokens divide the logarithm of a choice's probability by"
  " its characters, bytes and tokens. Guessing is a choice at random."
)
_ANSWERS = "answers.jsonl"
_RESULTS = "few_shot"  # in results.json


def run(config):
  """Evaluates the model, writes the results and prints them.

  Args:
    config: `prompt_files.FewShotConfig`.

  Raises:
    ValueError: a flag, a file or the model is wrong; FileNotFoundError.
  """
  splits = _questions(config)
  texts = [files.read_text(path, "Text") for path in config.text_file or ()]
  generator = text_generator.TextGenerator.from_checkpoint(
    config.init_checkpoint, **model_files.values(config)
  )
  folder = run_folder.RunFolder(config.output_dir)
  evaluated = folder.results.setdefault(_RESULTS, {})
  if texts:
    evaluated["text"] = {"scores": generator.rolling_perplexity(texts)}
  examples = splits.pop("train", [])
  for split, questions in splits.items():
    for number in config.numbers:
      answers = few_shot.ask(
        generator,
        questions,
        examples,
        number,
        config.random_seed,
        config.separator.replace("\\n", "\n"),
        config.batch_size,
      )
      name = f"{split}_{number}_shot"
      evaluated[name] = _evaluation(questions, answers)
      folder.artifacts[name] = folder.join(name, _ANSWERS)
      _write(folder.artifacts[name], questions, answers)
  _report(folder, config)


def _report(folder, config):
  """Writes results.json and report.html, and prints the scores."""
  folder.artifacts["report"] = folder.join(report_page.NAME)
  folder.save_results(dataclasses.asdict(config))
  rows = [*_rows(folder.results[_RESULTS])]
  scores = sections.scores(rows) + report_page.note(_NOTE)
  title = f"Few-shot: {config.init_checkpoint}"
  folder.write_report(title, [report_page.Section("Scores", scores)])
  folder.print_report(_table(rows))


def _questions(config):
  """Returns {split: list of examples}, "train" where prompts have examples."""
  if not config.has_questions:
    return {}
  needed = fine_tuning_config.FineTuningConfig(
    do_train=max(config.numbers) > 0, do_eval=True
  )
  splits = prompt_files.read(config, needed)
  if not needed.do_train:
    splits.pop("train", None)
  return splits


def _evaluation(questions, answers):
  """Returns the scores of a split, and what they are to be compared with."""
  known = [question for question in questions if question.is_labelled]
  scores = few_shot.score(questions, answers)
  guessing = float(np.mean([1 / len(x.choices) for x in known]))
  return {
    "scores": scores,
    "baseline": guessing,
    "num_questions": len(known),
    "num_examples": float(np.mean([answer.num_examples for answer in answers])),
  }


def _write(path, questions, answers):
  """Writes the answers, an object a line."""
  lines = [
    {"id": question.id, "label": question.label} | answer._asdict()
    for question, answer in zip(questions, answers, strict=True)
  ]
  text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
  files.write_atomically(path, text)


def _rows(evaluated):
  """Yields (name, score, interval, guessing) for the page and the table."""
  for name, found in evaluated.items():
    scores = found["scores"]
    for metric, value in scores.items():
      if metric.endswith("_stderr"):
        continue
      error = scores.get(f"{metric}_stderr")
      shown = f"{value:.4f}" + (f" ± {error:.4f}" if error is not None else "")
      interval, guessing = None, ""
      if "num_questions" in found:
        number = found["num_questions"]
        interval = intervals.wilson(round(value * number), number)
        guessing = f"{found['baseline']:.4f}"
      yield f"{name} {metric}", shown, interval, guessing


def _table(rows):
  """Returns the table that is printed."""
  return run_results.table(
    [(name, score, guessing) for name, score, _, guessing in rows],
    ("", "score", "guessing"),
  )
