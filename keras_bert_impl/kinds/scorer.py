"""Scores what computes outputs of rows on a file of labelled examples."""

from keras_bert_impl import heads, kinds
from keras_bert_impl.model_folders import model_files as files_lib
from keras_bert_impl.model_folders import task_file
from keras_bert_impl.sentences import folders

_OF_TEXTS = (heads.CLASSIFICATION, heads.MULTI_LABEL, heads.REGRESSION)


class Scorer:
  """Scores outputs on a file of labelled examples, as a head's script does.

  Args:
    head: one of `heads.SERVED`, that of the model.
    checkpoint: str.
    path: str, the file, as the script of the task reads it.
    flags: tuple of str, the flags of the file and of its columns, for messages.
    columns: list of str: of one text or two, and of their label; empty for
      those of the script.
    max_seq_length: int, or None for that of the training.
    **model_files: fields of `model_files.ModelFilesConfig`.

  Raises:
    ValueError: the head has no scores, or its files no columns.
  """

  def __init__(
    self,
    head,
    checkpoint,
    path,
    flags,
    columns=(),
    max_seq_length=None,
    **model_files,
  ):
    known = kinds.scorers()
    make = known.get(head)
    if make is None or _is_other(head, checkpoint):
      raise ValueError(
        f"{flags[0]} ({path}) needs a head that is scored on labelled examples:"
        f" {', '.join(known)}; not that of {checkpoint}, nor static"
        " vectors or rerankers."
      )
    self._flags = ", ".join(flags)
    self._data = {"data": path} | _columns(head, flags[1], columns)
    self._estimator = make(
      checkpoint, max_seq_length=max_seq_length, **model_files
    )

  def score(self, predict):
    """Returns {metric: float}; `predict` as of `Estimator.evaluate`.

    Raises:
      FileNotFoundError: there is no such file.
      ValueError: an example is wrong.
    """
    try:
      return self._estimator.evaluate(**self._data, predict=predict)
    except ValueError as error:
      # Its message speaks of the options of the task's script.
      raise ValueError(f"{self._flags}: {error}") from error


def _is_other(head, checkpoint):
  """Returns whether rows of its scores are not those of its model alone."""
  task = task_file.read(files_lib.folder_of(checkpoint))
  is_reranker = head == heads.REGRESSION and "num_choices" in task
  return is_reranker or folders.is_static(checkpoint)


def _columns(head, flag, columns):
  """Returns the columns of a file as an estimator takes them, {name: value}.

  Raises:
    ValueError: the head's files have no such columns, or there are too few.
  """
  if not columns:
    return {}
  *texts, label = columns
  if head == heads.ENCODER:
    return {"text_columns": texts, "label_column": label}
  if head not in _OF_TEXTS or len(texts) not in (1, 2):
    raise ValueError(
      f"{flag} ({','.join(columns)}) must be one or two columns of texts and"
      " that of the label, and left out where the task's files have no such"
      " columns."
    )
  names = ("text_column", "text_pair_column")
  return dict(zip(names[: len(texts)], texts, strict=True)) | {
    "label_column": label
  }
