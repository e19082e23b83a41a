"""What models in files answer raw texts with, in numpy.

Each head answers as its servable does in a SavedModel. Axes: B texts, R rows, L
ids, C classes or choices.
"""

import abc

import numpy as np

from keras_bert_impl.serving import request_names as names
from keras_bert_impl.serving.local import errors
from keras_bert_impl.serving.small import text_rows

TEXT, FLAG = np.dtype(object), np.dtype(bool)
FLOAT, INT = np.dtype(np.float32), np.dtype(np.int32)
_SEPARATOR = "|"


class Head(abc.ABC):
  """Answers texts by a model in a file. Abstract.

  Args:
    model: `runtimes.Runtime`.
    rows: `text_rows.TextRows`.

  Attributes:
    about: content of model.json.
    inputs: {name: rank} of raw texts.
    outputs: {name: (dtype, size of each axis but the first; None: any)}.
    example: {name: texts}, a request.
  """

  example = {names.TEXT: ["The cat sat on the mat."]}

  def __init__(self, model, rows):
    self.about = model.description
    self._model = model
    self.rows = rows
    self.inputs = {names.TEXT: 1}
    self.outputs = {names.IS_CUT: (FLAG,)}

  @abc.abstractmethod
  def answer(self, **texts):
    """Returns {output: array [B, ...]} for {input: array of bytes [B, ...]}."""

  def on_ids(self, rows):
    """Returns what the file says of rows of ids, {name: int32 [B, L]}."""
    return self._run(rows)

  def on_texts(self):
    """Returns {signature: (function of texts, as `answer`; its outputs)}."""
    return {names.SERVING_DEFAULT: (self.answer, self.outputs)}

  def on_examples(self):
    """Returns {signature of examples: (function of answers; its outputs)}."""
    return {names.TF_EXAMPLE: (lambda answer: answer, self.outputs)}

  def _run(self, rows):
    """Returns the outputs of the model.

    Raises:
      errors.RequestError: logits are no numbers.
    """
    outputs = self._model(rows)
    for name, values in outputs.items():
      if name.endswith("logits") and not np.isfinite(values).all():
        raise errors.of_model(names.NO_NUMBERS)
    return outputs

  def _encode(self, text, text_pair=None):
    """Returns the rows of texts and whether they are cut, as `assemble`."""
    sides = [text] if text_pair is None else [text, text_pair]
    read = self.rows.library.pieces
    return self.rows.assemble(*(read(decoded(side)) for side in sides))


class _OfLogits(Head):
  """Base class of heads with logits of a text or pair. Abstract."""

  def __init__(self, model, rows):
    super().__init__(model, rows)
    self.labels = self.about["labels"]
    if self.about.get("text_pairs"):
      self.inputs[names.TEXT_PAIR] = 1
      self.example = self.example | {names.TEXT_PAIR: ["Where did it sit?"]}

  def answer(self, text, text_pair=None):
    """Returns what the logits of texts or pairs say; see `Head`."""
    rows, is_cut = self._encode(text, text_pair)
    logits = text_rows.map_rows(self._run, rows)["logits"]
    return self._read(logits) | {names.IS_CUT: is_cut}

  @abc.abstractmethod
  def _read(self, logits):
    """Returns the answers to logits, float32 [B, C]."""


class _OfLabels(_OfLogits):
  """Base class of heads with labels. Abstract."""

  def __init__(self, model, rows):
    super().__init__(model, rows)
    size = len(self.labels)
    self.outputs |= {
      "label": (TEXT,),
      "labels": (TEXT, size),
      "probabilities": (FLOAT, size),
    }

  def on_examples(self):
    """Returns as `Head`, with that of TF Serving's Classify."""
    size = len(self.labels)
    outputs = {"classes": (TEXT, size), "scores": (FLOAT, size)}
    return super().on_examples() | {
      names.CLASSIFY: (
        lambda x: {"classes": x["labels"], "scores": x["probabilities"]},
        outputs,
      )
    }

  def _all_labels(self, logits):
    return np.tile(encoded(self.labels), (len(logits), 1))


class Classification(_OfLabels):
  """The likeliest class, and the probability of each."""

  def __init__(self, model, rows):
    super().__init__(model, rows)
    self.outputs["score"] = (FLOAT,)

  def _read(self, logits):
    shares = softmax(logits)
    return {
      "label": encoded(self.labels)[shares.argmax(axis=1)],
      "score": shares.max(axis=1),
      "labels": self._all_labels(logits),
      "probabilities": shares,
    }


class MultiLabel(_OfLabels):
  """The labels that apply, and the probability of each."""

  def _read(self, logits):
    found = [
      [label for label, x in zip(self.labels, row, strict=True) if x > 0]
      for row in logits
    ]
    return {
      "label": encoded([_SEPARATOR.join(row) for row in found]),
      "labels": self._all_labels(logits),
      "probabilities": sigmoid(logits),
    }


class Regression(_OfLogits):
  """A score of each text or pair."""

  def __init__(self, model, rows):
    super().__init__(model, rows)
    self.outputs["scores"] = (FLOAT,)

  def on_examples(self):
    """Returns as `Head`, with that of TF Serving's Regress."""
    return super().on_examples() | {
      names.REGRESS: (
        lambda x: {"outputs": x["scores"][:, np.newaxis]},
        {"outputs": (FLOAT, 1)},
      )
    }

  def _read(self, logits):
    return {"scores": logits[:, 0]}


class MultipleChoice(Head):
  """The best of the choices for a text."""

  example = {
    names.TEXT: ["The cat sat down."],
    "choices": [["It slept on the mat.", "It was a fine car."]],
  }

  def __init__(self, model, rows):
    super().__init__(model, rows)
    self.inputs["choices"] = 2
    self.outputs |= {"choice": (INT,), "probabilities": (FLOAT, None)}

  def answer(self, text, choices):
    """Chooses; see `Head`."""
    is_choice = choices != b""
    texts = np.repeat(text, choices.shape[1])
    rows, is_cut = self._encode(texts, choices.reshape(-1))

    def run(rows):
      rows = {name: ids[:, np.newaxis] for name, ids in rows.items()}
      return {"logits": self._run(rows)["logits"][:, 0]}

    logits = text_rows.map_rows(run, rows)["logits"].reshape(choices.shape)
    shares = masked_softmax(logits, is_choice)
    has_choice = is_choice.any(axis=1)
    best = with_none(shares).argmax(axis=1)
    return {
      "choice": np.where(has_choice, best, -1).astype(np.int32),
      "probabilities": shares,
      names.IS_CUT: (is_cut.reshape(choices.shape) & is_choice).any(axis=1),
    }


class ZeroShot(Head):
  """The labels of a request that texts have, by a model of NLI."""

  example = {
    names.TEXT: ["The striker scored twice."],
    "labels": [["sport", "money"]],
  }

  def __init__(self, model, rows):
    super().__init__(model, rows)
    self.inputs["labels"] = 2
    self.outputs |= {
      "label": (TEXT,),
      "score": (FLOAT,),
      "labels": (TEXT, None),
      "scores": (FLOAT, None),
    }
    classes = [label.lower() for label in self.about["labels"]]
    entailed = [x.startswith("entail") for x in classes]
    self._entailment = entailed.index(True) if any(entailed) else -1

  def answer(self, text, labels):
    """Judges the labels; see `Head`."""
    is_label = labels != b""
    logits, is_cut = self._logits(text, labels)
    entailed = logits[..., self._entailment]
    against = logits[..., -1 if self._entailment == 0 else 0]
    scores = sigmoid(entailed - against)
    if not self.about["multi_label"]:
      is_one_of = is_label.sum(axis=1, keepdims=True) > 1
      scores = np.where(is_one_of, masked_softmax(entailed, is_label), scores)
    scores = np.where(is_label, scores, np.float32(0))
    if self.about["multi_label"]:
      found = [
        _SEPARATOR.encode().join(row[share > 0.5])
        for row, share in zip(labels, scores, strict=True)
      ]
    else:
      best = with_none(scores).argmax(axis=1)
      found = [[*row, b""][k] for row, k in zip(labels, best, strict=True)]
    return {
      "label": np.array(found, object),
      "score": with_none(scores).max(axis=1),
      "labels": labels,
      "scores": scores,
      names.IS_CUT: (is_cut & is_label).any(axis=1),
    }

  def _logits(self, text, labels):
    """Returns float32 [B, L, C], and whether texts are cut, bool [B, L]."""
    before, after = self.about["hypothesis_template"].split("{}")
    read, room = self.rows.library.pieces, self.rows.room(2)
    pairs = read([before + x + after for x in decoded(labels.reshape(-1))])
    texts = [x for x in read(decoded(text)) for _ in range(labels.shape[1])]
    # Hypotheses stay whole while there is room for a token of the text.
    most = [max(room - len(pair), 1) for pair in pairs]
    is_cut = [len(x) > n for x, n in zip(texts, most, strict=True)]
    texts = [x[:n] for x, n in zip(texts, most, strict=True)]
    rows, is_shortened = self.rows.assemble(texts, pairs)
    logits = text_rows.map_rows(self._run, rows)["logits"]
    is_cut = np.array(is_cut, bool) | is_shortened
    size = logits.shape[-1]
    return logits.reshape(*labels.shape, size), is_cut.reshape(labels.shape)


def decoded(texts):
  """Returns an array of bytes as list of str; what is no UTF-8 is dropped."""
  return [text.decode("utf-8", "ignore") for text in texts]


def encoded(texts):
  """Returns str as an array of bytes."""
  return np.array([text.encode("utf-8") for text in texts], object)


def softmax(logits):
  """Returns the shares of logits along the last axis."""
  if not logits.size:
    return logits
  shares = np.exp(logits - logits.max(axis=-1, keepdims=True))
  return shares / shares.sum(axis=-1, keepdims=True)


def masked_softmax(logits, is_there):
  """Returns the shares of the logits that are there; 0 of others."""
  lowest = np.finfo(logits.dtype).min
  shares = softmax(np.where(is_there, logits, lowest))
  return np.where(is_there, shares, np.float32(0))


def with_none(shares):
  """Returns shares [B, C] with a 0 more, because none has no largest."""
  return np.pad(shares, [[0, 0], [0, 1]])


def sigmoid(logits):
  """Returns the probabilities of logits."""
  return 1 / (1 + np.exp(-logits))
