"""Servable of several heads on one encoder: texts to all of their answers."""

import functools

import numpy as np
import tensorflow as tf

from keras_bert_impl.kinds.tags import tag_servable
from keras_bert_impl.kinds.texts import text_servables
from keras_bert_impl.serving import servables, token_windows
from keras_bert_impl.tokenizers.graph import steps, token_pieces


class MultiTaskServable(servables.Servable):
  """Answers texts or pairs of texts by several heads in one pass.

  The usual signatures answer by all heads: the encoder runs once for all that
  read the same ids. Those of pairs read others; so do tags that were trained on
  characters or, but for WordPiece, on words. Besides, each head has a signature
  of its own, which has the name of its task.

  Args:
    model: `MultiTaskClassifier`.
    tokenizer: as `Servable`.
    max_seq_length: as `Servable`.
    tasks: {name: {"head": str, "labels": list of str or None}}.
    tasks_of_pairs: list of str, the tasks of two texts, the second of which is
      `text_pair`; those of one text do not see it.
    tasks_of_tags: {task of tags: options of its `TagPreprocessor`}.

  Raises:
    ValueError: as `Servable`, or a task has the name of a usual signature.
  """

  head = "multi_task"
  has_pooler = True
  takes_ids = False

  def __init__(
    self,
    model,
    tokenizer,
    max_seq_length,
    tasks,
    tasks_of_pairs=(),
    tasks_of_tags=None,
  ):
    super().__init__(model, tokenizer, max_seq_length)
    # Functions, because attributes that are dicts and lists would be tracked.
    self._heads = lambda: tasks
    readers, tags = {}, {}
    for name, options in (tasks_of_tags or {}).items():
      trained_on = token_pieces.trained_on(options["token_unit"])
      reading = trained_on, options["doc_stride"]
      if reading not in readers:
        readers[reading] = token_windows.Reader(
          tokenizer, max_seq_length, *reading
        )
      tags[name] = (
        readers[reading],
        tag_servable.Tags(tasks[name]["labels"], options["tag_scheme"]),
      )
    self._tags = lambda: tags
    self._options_of_tags = lambda: tasks_of_tags or {}
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
      "tasks_of_tags": self._options_of_tags(),
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
    text, tags = steps.drop_invalid(text), self._tags()
    of_texts = [n for n in names if n not in self._of_pairs and n not in tags]
    answers, are_cut = {}, []
    readers = dict.fromkeys(tags[name][0] for name in names if name in tags)
    for reader in readers:
      chosen = [n for n in names if n in tags and tags[n][0] is reader]
      shared = of_texts if reader.reads_whole_texts else []
      reading = reader.read(text)
      rows, _ = self.assemble(reading.pieces)
      logits = self._logits(rows, chosen + shared)
      for name in chosen:
        found = reading.label(logits[name])
        own = tags[name][1].answer(text, reading.tokens, *found)
        answers |= _of_task(name, own)
      for name in shared:
        answers |= self._values(name, reading.of_first_windows(logits[name]))
      are_cut.append(reading.is_long if shared else reading.is_cut)
      of_texts = [] if shared else of_texts
    for chosen, pair in (
      (of_texts, None),
      ([name for name in names if name in self._of_pairs], text_pair),
    ):
      if chosen:
        rows, is_cut = self.encode(text, pair)
        are_cut.append(is_cut)
        for name, found in self._logits(rows, chosen).items():
          answers |= self._values(name, found)
    is_cut = functools.reduce(tf.logical_or, are_cut)
    return answers | {servables.IS_CUT: is_cut}

  def _logits(self, rows, names):
    """Returns {task: logits} of rows."""
    found = self.outputs(rows, *(f"{name}/logits" for name in names))
    return dict(zip(names, found, strict=True))

  def _values(self, name, logits):
    """Returns the answer of a head of classes or scores, as `answer`."""
    task = self._heads()[name]
    return _of_task(
      name, text_servables.answer(task["head"], logits, task["labels"])
    )


def _of_task(name, outputs):
  """Returns the outputs under their names among those of all tasks."""
  return {f"{name}/{output}": x for output, x in outputs.items()}
