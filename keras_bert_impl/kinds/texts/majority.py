"""Predictions of the majority class, without a model.

GLUE's WNLI is handed in so: no trained system had beaten it (Devlin et al.
2019, section 4.1).
"""

import collections
import dataclasses

import numpy as np

from keras_bert_impl.kinds.texts import classification_data, text_scores
from keras_bert_impl.model_folders import run_folder
from keras_bert_impl.runs.labelled_data import labelled_splits
from keras_bert_impl.training import run_results


def predict(data_set, config, settings, output_dir):
  """Writes the test predictions of the training set's majority class.

  The files are those of a run: predictions.tsv, with the shares of the classes
  in the training set as probabilities, GLUE's file, and results.json.

  Args:
    data_set: `classification_data.TextDataSet`.
    config: `labelled_splits.SplitsConfig`.
    settings: `fine_tuning_config.FineTuningConfig` with do_predict alone.
    output_dir: str, folder for the files.

  Raises:
    ValueError: the data set has no classes, something else is to be done, or
      the folder holds a run.
  """
  if data_set.labels is None:
    raise ValueError(
      f"--predict_majority is for classes, but {data_set.name} has numbers:"
      " leave it out."
    )
  if settings.do_train or settings.do_eval or not settings.do_predict:
    raise ValueError(
      "--predict_majority trains and scores nothing: give --do_predict with it,"
      " but neither --do_train nor --do_eval."
    )
  folder = run_folder.RunFolder(output_dir or "")
  if not output_dir or "train" in folder.results:
    raise ValueError(
      f"output_dir ({output_dir}) must be given, and hold no run: choose"
      " another one."
    )
  # Not to train: to count.
  needed = dataclasses.replace(settings, do_train=True)
  splits, _ = labelled_splits.read(data_set, config, needed)
  shares = _shares(splits.pop("train"), data_set.labels)
  evaluator = text_scores.ClassEvaluator(
    tuple(shares), data_set.metrics, data_set.submissions
  )
  for split, examples in splits.items():
    _write(evaluator, split, examples, [*shares.values()], folder)
  folder.results["majority"] = shares
  folder.artifacts["results"] = folder.join(run_results.RESULTS_NAME)
  folder.save_results(vars(settings) | dataclasses.asdict(config))
  rows = [(label, f"{share:.4f}") for label, share in shares.items()]
  folder.print_report(
    run_results.table(rows, ("label", "share of the training"))
  )


def _shares(examples, labels):
  """Returns {label: share of the examples}, of the labels or those found."""
  labels = labels or classification_data.label_set(examples)
  classification_data.check_labels(examples, labels)
  counts = collections.Counter(example.label for example in examples)
  return {label: counts[label] / counts.total() for label in labels}


def _write(evaluator, split, examples, shares, folder):
  """Writes the files of a split, for whose rows the shares are the answers."""
  with np.errstate(divide="ignore"):  # A class without examples.
    logits = np.log(np.array(shares, np.float32))
  answers = np.tile(logits, (len(examples), 1))
  paths = evaluator.write(examples, answers, {}, folder.join(split))
  for what, path in paths.items():
    folder.artifacts[f"{split} {what}"] = path
