"""What models in files answer raw texts with, in numpy.

Each head answers as its servable does in a SavedModel. Axes: B texts, R rows, L
ids, C classes or choices, M masks, K candidates, D numbers of a vector, T
tokens.
"""

import abc

import numpy as np

from keras_bert_impl import choices, features, heads
from keras_bert_impl.serving import request_names as names
from keras_bert_impl.serving.local import errors
from keras_bert_impl.serving.small import text_rows
from keras_bert_impl.tokenizers.formats import token_texts

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

  def signatures(self):
    """Returns {name: (function of answers, its outputs)} of tf.Examples."""
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

  def signatures(self):
    """Returns as `Head`, with that of TF Serving's Classify."""
    size = len(self.labels)
    outputs = {"classes": (TEXT, size), "scores": (FLOAT, size)}
    return super().signatures() | {
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

  def signatures(self):
    """Returns as `Head`, with that of TF Serving's Regress."""
    return super().signatures() | {
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


class FillMask(Head):
  """The likeliest tokens for the masks of texts."""

  def __init__(self, model, rows):
    super().__init__(model, rows)
    self.outputs |= {
      "num_masks": (INT,),
      "tokens": (TEXT, None, self.about["top_k"]),
      "scores": (FLOAT, None, self.about["top_k"]),
    }
    mask = rows.vocabulary.mask_token
    self.example = {names.TEXT: [f"The cat sat on the {mask}."]}
    self._shown = shown_tokens(rows)

  def answer(self, text):
    """Fills the masks; see `Head`."""
    pieces = self.rows.library.pieces_around_masks(decoded(text))
    rows, is_cut = self.rows.assemble(pieces)
    ids, top_k = rows[features.INPUT_IDS], self.about["top_k"]
    is_mask = ids == self.rows.vocabulary.mask_id
    counts = is_mask.sum(axis=1)
    places = [np.flatnonzero(row) for row in is_mask]
    # A file reads one place at least.
    places = text_rows.padded([[*x] or [0] for x in places], 0, np.int32)

    def run(rows):
      logits = self._run(rows)["token_logits"]
      return top_of(softmax(logits[..., : self.rows.vocabulary.size]), top_k)

    rows[features.MASKED_LM_POSITIONS] = places
    found = text_rows.map_rows(run, rows)
    most = max(counts, default=0)
    is_filled = np.arange(most) < counts[:, np.newaxis]
    is_filled = np.broadcast_to(
      is_filled[..., np.newaxis], (len(ids), most, top_k)
    )
    tokens = self._shown[found["ids"][:, :most]]
    return {
      "num_masks": counts.astype(np.int32),
      "tokens": np.where(is_filled, tokens, b""),
      "scores": np.where(is_filled, found["values"][:, :most], np.float32(0)),
      names.IS_CUT: is_cut,
    }

  def on_ids(self, rows):
    """Returns token_logits float32 [B, L, V] for every position."""
    shape = rows[features.INPUT_IDS].shape
    places = np.broadcast_to(np.arange(shape[1], dtype=np.int32), shape)
    return self._run(rows | {features.MASKED_LM_POSITIONS: places})


class _OfTokens(Head):
  """Base class of heads that say something of each token. Abstract."""

  def _tokens(self, text, name, output, activation=lambda x: x):
    """Returns the tokens of texts and what the model says of each.

    Args:
      text: array of bytes [B].
      name: str, what the values are called.
      output: str, the model's, that has them.
      activation: function of it.
    """
    room = self.rows.room()
    found = self.rows.library.align(self._folded(text))
    rows, is_cut = self.rows.assemble([ids for ids, _, _ in found])
    values = text_rows.map_rows(
      lambda rows: {name: activation(self._run(rows)[output])}, rows
    )[name]
    columns = [
      [x[:room] for x in column] for column in zip(*found, strict=True)
    ]
    ids, starts, ends = columns or [[], [], []]
    counts = np.array([*map(len, ids)], np.int32)
    most, before = max(counts, default=0), self.rows.framing.num_before
    values = values[:, before : before + most]
    is_token = np.arange(most) < counts[:, np.newaxis]
    is_token = is_token.reshape(*is_token.shape, *[1] * (values.ndim - 2))
    shown = shown_tokens(self.rows)
    return {
      "num_tokens": counts,
      "tokens": text_rows.padded([shown[x] for x in ids], b"", object),
      "starts": text_rows.padded(starts, 0, np.int32),
      "ends": text_rows.padded(ends, 0, np.int32),
      names.IS_CUT: is_cut,
      name: np.where(is_token, values, np.float32(0)),
    }

  def _folded(self, text):
    return decoded(text)


_OF_TOKENS = {
  names.IS_CUT: (FLAG,),
  "num_tokens": (INT,),
  "tokens": (TEXT, None),
  "starts": (INT, None),
  "ends": (INT, None),
}


class ReplacedTokens(_OfTokens):
  """The probability of each token that it was replaced."""

  def __init__(self, model, rows):
    super().__init__(model, rows)
    self.outputs = _OF_TOKENS | {"probabilities": (FLOAT, None)}

  def answer(self, text):
    """Judges the tokens; see `Head`."""
    return self._tokens(text, "probabilities", "logits", sigmoid)


class _OfPrompts(_OfTokens):
  """Base class of vectors, whose texts may have a prompt. Abstract."""

  def _read(self, text):
    """Returns the rows of texts with their prompt, as `assemble`."""
    prompt = self.about.get("prompt", "")
    pieces = self.rows.library.pieces(self._folded(text, prompt))
    return self.rows.assemble(pieces)

  def _folded(self, text, prompt=""):
    texts = [prompt + x for x in decoded(text)]
    lower = self.about["texts"].get("do_lower_case")
    return [x.lower() for x in texts] if lower else texts


class Vectors(_OfPrompts):
  """A vector of each text, or of each token."""

  def __init__(self, model, rows):
    super().__init__(model, rows)
    size = model.axes["embeddings"][-1]
    size = self.about.get("truncate_dim") or size
    self._compress, kinds = _OF_PRECISION[
      self.about.get("precision", choices.FLOAT32)
    ]
    self.outputs |= kinds(size)
    self._pools_prompt = features.POOLING_MASK not in model.axes

  def answer(self, text):
    """Embeds texts; see `Head`."""
    rows, is_cut = self._read(text)
    if not self._pools_prompt:
      rows[features.POOLING_MASK] = self._text_mask(rows)
    vectors = text_rows.map_rows(
      lambda rows: {"x": self._run(rows)["embeddings"]}, rows
    )["x"]
    if size := self.about.get("truncate_dim"):
      vectors = vectors[:, :size]
      if self.about["normalize"]:
        squares = np.square(vectors).sum(axis=1, keepdims=True)
        vectors /= np.sqrt(np.maximum(squares, 1e-12))
    return self._compress(vectors) | {names.IS_CUT: is_cut}

  def token_embeddings(self, text):
    """Embeds the tokens of texts; as `answer`."""
    return self._tokens(text, "embeddings", "sequence_output")

  def token_outputs(self):
    """Returns the outputs of `token_embeddings`."""
    width = self._model.axes["sequence_output"][-1]
    return _OF_TOKENS | {"embeddings": (FLOAT, None, width)}

  def on_ids(self, rows):
    """Returns embeddings and sequence_output; all tokens are pooled."""
    mask = rows[features.INPUT_MASK]
    return self._run(rows | {features.POOLING_MASK: mask})

  def _run(self, rows):
    # Rows of single tokens have no prompt.
    mask = rows[features.INPUT_MASK]
    return super()._run({features.POOLING_MASK: mask} | rows)

  def _text_mask(self, rows):
    """Returns `input_mask` without [CLS] and the prompt."""
    mask, size = rows[features.INPUT_MASK], 0
    if self.about.get("prompt"):
      [prompt] = self.rows.library.pieces(
        self._folded(encoded([""]), self.about["prompt"])
      )
      size = self.rows.framing.num_before + len(prompt)
      size = min(size, self.rows.max_seq_length - 1)
    return mask * (np.arange(mask.shape[1]) >= size).astype(np.int32)


class Sparse(_OfPrompts):
  """The strongest tokens of texts and their weights."""

  def __init__(self, model, rows):
    super().__init__(model, rows)
    top_k = self.about["top_k"]
    self.outputs |= {
      "tokens": (TEXT, top_k),
      "token_ids": (INT, top_k),
      "weights": (FLOAT, top_k),
    }
    self._tokens_of_ids = encoded(rows.vocabulary.tokens)

  def answer(self, text):
    """Expands texts; see `Head`."""
    rows, is_cut = self._read(text)
    size = self.rows.vocabulary.size
    found = text_rows.map_rows(
      lambda rows: top_of(
        self._run(rows)["embeddings"][:, :size], self.about["top_k"]
      ),
      rows,
    )
    is_token, ids = found["values"] > 0, found["ids"]
    return {
      "tokens": np.where(is_token, self._tokens_of_ids[ids], b""),
      "token_ids": np.where(is_token, ids, 0).astype(np.int32),
      "weights": found["values"],
      names.IS_CUT: is_cut,
    }


def decoded(texts):
  """Returns an array of bytes as list of str; what is no UTF-8 is dropped."""
  return [text.decode("utf-8", "ignore") for text in texts]


def encoded(texts):
  """Returns str as an array of bytes."""
  return np.array([text.encode("utf-8") for text in texts], object)


def shown_tokens(rows):
  """Returns the tokens of a vocabulary as people read them, bytes [V]."""
  texts = token_texts.of(rows.vocabulary)
  return encoded([text.decode("utf-8", "replace") for text in texts])


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


def top_of(values, count):
  """Returns the largest along the last axis, {values, ids}: the first first."""
  ids = np.argsort(-values, axis=-1, kind="stable")[..., :count]
  return {
    "values": np.take_along_axis(values, ids, axis=-1),
    "ids": ids.astype(np.int32),
  }


def _as_int8(vectors):
  largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0)
  scales = np.where(largest > 0, largest, np.float32(1)) / np.float32(127)
  numbers = np.rint(vectors / scales).astype(np.int8)
  return {"embeddings": numbers, "scales": scales[:, 0]}


# {precision: (function of vectors, function of D to the outputs)}.
_OF_PRECISION = {
  choices.FLOAT32: (
    lambda vectors: {"embeddings": vectors},
    lambda size: {"embeddings": (FLOAT, size)},
  ),
  choices.INT8: (
    _as_int8,
    lambda size: {
      "embeddings": (np.dtype(np.int8), size),
      "scales": (FLOAT,),
    },
  ),
  choices.BINARY: (
    lambda vectors: {"embeddings": np.packbits(vectors > 0, axis=1)},
    lambda size: {"embeddings": (np.dtype(np.uint8), -(-size // 8))},
  ),
}

# {head: class}.
HEADS = {
  heads.CLASSIFICATION: Classification,
  heads.MULTI_LABEL: MultiLabel,
  heads.REGRESSION: Regression,
  heads.MULTIPLE_CHOICE: MultipleChoice,
  heads.ZERO_SHOT: ZeroShot,
  heads.FILL_MASK: FillMask,
  heads.REPLACED_TOKENS: ReplacedTokens,
  heads.ENCODER: Vectors,
  heads.SPARSE: Sparse,
}
