"""Servable of several heads on one encoder: texts to all of their answers."""

import functools

import numpy as np
import tensorflow as tf

from keras_bert_impl.serving import servables
from keras_bert_impl.serving.heads import classification


class MultiTaskServable(servables.Servable):
  """Answers texts or pairs of texts by several heads in one pass.

  The usual signatures answer by all heads: the encoder runs once, or once for
  those of texts and once for those of pairs, if there are both. Besides, each
  head has a signature of its own, which has the name of its task.

  Args:
    model: `MultiTaskClassifier`.
    tokenizer: as `Servable`.
    max_seq_length: as `Servable`.
    tasks: {name: {"head": str, "labels": list of str or None}}.
    tasks_of_pairs: list of str, the tasks of two texts, the second of which is
      `text_pair`; those of one text do not see it.

  Raises:
    ValueError: as `Servable`, or a task has the name of a usual signature.
  """

  head = "multi_task"
  has_pooler = True
  takes_ids = False

  def __init__(
    self, model, tokenizer, max_seq_length, tasks, tasks_of_pairs=()
  ):
    super().__init__(model, tokenizer, max_seq_length)
    # As JSON, because attributes that are dicts and lists would be tracked.
    self._heads = lambda: tasks
    self._of_pairs = frozenset(tasks_of_pairs)
    if self._of_pairs:
      servables.take_pairs(self)

  def answer(self, text, text_pair=None):
    """Answers texts [B], or pairs of texts [B] and [B], by all heads.

    Returns:
      {"<task>/<output>": [B, ...]} of the outputs of each head, as its own
      servable gives them; is_cut bool [B], whether a text has more tokens than
      max_seq_length has room for.
    """
    return self._answer([*self._heads()], text, text_pair)

  def definitions(self):
    """Returns as `Servable`, and the signature of each head by its task."""
    definitions = super().definitions()
    for name in self._heads():
      if name in definitions:
        raise ValueError(
          f"The task {name!r} must have another name: that is a signature of"
          " all exports."
        )
      definitions[name] = self._definition(name)
    return definitions

  def describe(self):
    """Returns {name: JSON value} that describes it; see `Servable`."""
    return super().describe() | {
      "tasks": self._heads(),
      "tasks_of_pairs": sorted(self._of_pairs),
    }

  def _definition(self, name):
    """Returns the `Signature` of one head."""
    taken = [servables.TEXT]
    if name in self._of_pairs:
      taken.append(servables.TEXT_PAIR)

    def answer(text, text_pair=None):
      found = self._answer([name], text, text_pair)
      return {k.removeprefix(f"{name}/"): x for k, x in found.items()}

    return servables.make_signature(
      answer,
      {name: self.inputs[name] for name in taken},
      {name: np.array(self.example[name], object) for name in taken},
    )

  def _answer(self, names, text, text_pair=None):
    """Returns the answers of some heads, as `answer`."""
    answers, are_cut = {}, []
    for is_of_pairs in (False, True):
      chosen = [x for x in names if (x in self._of_pairs) == is_of_pairs]
      if chosen:
        rows, is_cut = self.encode(text, text_pair if is_of_pairs else None)
        are_cut.append(is_cut)
        logits = self.outputs(rows, *(f"{name}/logits" for name in chosen))
        for name, found in zip(chosen, logits, strict=True):
          task = self._heads()[name]
          labels = task["labels"]
          own = classification.answer(task["head"], found, labels)
          answers |= {f"{name}/{output}": x for output, x in own.items()}
    is_cut = functools.reduce(tf.logical_or, are_cut)
    return answers | {servables.IS_CUT: is_cut}
