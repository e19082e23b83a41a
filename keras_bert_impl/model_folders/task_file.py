"""The file task.json of a fine-tuned model: the task of its training."""

import os

from keras_bert_impl import files, heads, options
from keras_bert_impl.tokenizers.graph import token_pieces
from keras_bert_impl.training import run_results

NAME = "task.json"
_NONE = type(None)
_TYPES = {
  "approach": str,
  "attend_to_expansion_tokens": bool,
  "bilstm_width": (int, _NONE),
  "context": str,
  "do_lower_case": bool,
  "do_query_expansion": bool,
  "doc_stride": (int, _NONE),
  "document_prefix": str,
  "embedding_size": int,
  "end_n_top": int,
  "features": (str, _NONE),
  "final_layers": list,
  "head": str,
  "include_prompt": bool,
  "labels": (list, _NONE),
  "lstm_width": int,
  "max_query_length": int,
  "max_seq_length": int,
  "metrics": list,
  "num_choices": int,
  "pooling": list,
  "query_length": int,
  "query_prefix": str,
  "skiplist_words": list,
  "start_n_top": int,
  "tag_scheme": str,
  "tasks": dict,
  "tasks_of_pairs": list,
  "tasks_of_tags": dict,
  "text_pairs": (bool, _NONE),
  "token_unit": str,
  "trained_on": str,
  "use_crf": bool,
  "version_2_with_negative": bool,
}
# Heads whose classes have names.
_NAMED = (
  heads.CLASSIFICATION,
  heads.MULTI_LABEL,
  heads.TOKEN_CLASSIFICATION,
)
# Sizes that a model or its windows are made of.
_INTERVALS = {
  "bilstm_width": options.WIDTHS,
  "embedding_size": options.WIDTHS,
  "end_n_top": "[1, 10000]",
  "lstm_width": options.WIDTHS,
  "max_query_length": options.SEQ_LENGTHS,
  "max_seq_length": options.SEQ_LENGTHS,
  "num_choices": "[1, 10000]",
  "start_n_top": "[1, 10000]",
}


def read(folder):
  """Returns the task of a run from `task.json` in its folder, {} without one.

  Raises:
    ValueError: no run has written it so; names the file.
  """
  path = os.path.join(folder, NAME)
  task = run_results.read_json(path, types=_TYPES) or {}
  _check(task, path)
  task = _with_trained_on(task)
  trained_on = task.get("trained_on", token_pieces.TEXT)
  if trained_on not in token_pieces.TRAINED_ON:
    raise ValueError(
      f"trained_on ({trained_on!r}) in {path} must be one of"
      f" {', '.join(token_pieces.TRAINED_ON)}."
    )
  return task


def _check(task, path):
  """Checks the values of a task file, whose types are right."""
  for name in ("labels", "metrics", "skiplist_words"):
    for value in task.get(name) or ():
      files.check_type(value, str, f"each of {name} in {path}")
  if task.get("head") in _NAMED and not task.get("labels", True):
    raise ValueError(
      f"labels ({task['labels']!r}) in {path} must be the names of the classes."
    )
  for name, interval in _INTERVALS.items():
    if task.get(name) is not None:
      try:
        options.check_integers(interval, **{name: task[name]})
      except ValueError as error:
        raise ValueError(f"{error} See {path}.") from error


def write(folder, task):
  """Writes the file into a folder; `task` is as `read` returns it."""
  files.write_json(os.path.join(folder, NAME), task)


def describe(fine_tuning):
  """Returns the content of the file, of a `fine_tuning.FineTuning`."""
  return _with_trained_on(fine_tuning.describe())


def _with_trained_on(task):
  """Adds what a tagger was trained on; older files have only the unit."""
  if task.get("head") != heads.TOKEN_CLASSIFICATION:
    return task
  return {"trained_on": token_pieces.trained_on(task.get("token_unit"))} | task
