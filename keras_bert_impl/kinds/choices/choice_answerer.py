"""Chooses among continuations or answers, from Python."""

import collections
import typing
from collections.abc import Mapping

from keras_bert_impl import heads
from keras_bert_impl.estimators import estimator, records
from keras_bert_impl.kinds.choices import choice_data, choice_kind
from keras_bert_impl.tasks.basics import example_types
from tfrecords.labelled import data_sets


class Choice(typing.TypedDict):
  """Answer to a text with choices."""

  choice: int
  probabilities: list[float]


class ChoiceAnswerer(estimator.Estimator[Mapping[str, typing.Any], Choice]):
  """Chooses among continuations of a text, or answers to it.

      answerer = kb.ChoiceAnswerer.from_checkpoint("klue/bert-base")
      answerer.fit([{"text": ..., "choices": [..., ...], "label": 0}, ...])
      answerer.predict([{"text": "It rained.", "choices": ["Wet.", "Dry."]}])
      # [{"choice": 0, "probabilities": [0.9, 0.1]}]

  An example is a dict with the keys text, choices (as many everywhere) and
  label, the number of the right one from 0; or the published file of SWAG,
  CODAH or JCommonsenseQA. The model itself is `kb.MultipleChoice`.

  Args:
    checkpoint: str, as of `from_checkpoint`.
    max_seq_length: int, maximum tokens of a text with a choice; default: as
      trained, or 128.
    **files: fields of `model_files.ModelFilesConfig`.
  """

  head = heads.MULTIPLE_CHOICE
  _keys = ("text", "choices", "label")
  kind = choice_kind.KIND

  def _is_single(self, inputs):
    return isinstance(inputs, Mapping)

  def _questions(self, inputs):
    return [
      {
        "text": records.text_of(record, "text", place),
        "choices": records.strings_of(
          record.get("choices"), f"{place}.choices"
        ),
      }
      for place, record in records.read(inputs, None, self._keys, "inputs")
    ]

  def _answer(self, row):
    probabilities = row["probabilities"].tolist()
    return {"choice": int(row["choice"]), "probabilities": probabilities}

  def _example(self, record, place, number):
    choices = records.strings_of(record.get("choices"), f"{place}.choices")
    return example_types.MultipleChoiceExample(
      str(number),
      records.text_of(record, "text", place),
      choices,
      records.index_of(record.get("label"), len(choices), f"{place}.label"),
      place,
    )

  def _read_file(self, path):
    source = data_sets.published_source(choice_data.DATA_SETS, path)
    source = source or choice_data.ChoiceSource(choices=("choices",))
    return source.read([path], True, collections.Counter())

  def _parts(self, run, splits, task_options):
    del task_options
    return choice_kind.make_parts(run, splits)
