"""What models in files say of tokens and in vectors, in numpy.

Axes: as `answers`; M masks, K candidates, D numbers of a vector, T tokens.
"""

import numpy as np

from keras_bert_impl import choices, features
from keras_bert_impl.serving import quantization
from keras_bert_impl.serving import request_names as names
from keras_bert_impl.serving.small import answers, text_rows


class FillMask(answers.Head):
  """The likeliest tokens for the masks of texts."""

  def __init__(self, model, rows):
    super().__init__(model, rows)
    self.outputs |= {
      "num_masks": (answers.INT,),
      "tokens": (answers.TEXT, None, self.about["top_k"]),
      "scores": (answers.FLOAT, None, self.about["top_k"]),
    }
    mask = rows.vocabulary.mask_token
    self.example = {names.TEXT: [f"The cat sat on the {mask}."]}

  def answer(self, text):
    """Fills the masks; see `answers.Head`."""
    pieces = self.rows.library.pieces_around_masks(answers.decoded(text))
    rows, is_cut = self.rows.assemble(pieces)
    ids, top_k = rows[features.INPUT_IDS], self.about["top_k"]
    is_mask = ids == self.rows.vocabulary.mask_id
    counts = is_mask.sum(axis=1)
    places = [np.flatnonzero(row) for row in is_mask]
    # A file reads one place at least.
    places = text_rows.padded([[*x] or [0] for x in places], 0, np.int32)

    def run(rows):
      logits = self._run(rows)["token_logits"]
      logits = logits[..., : self.rows.vocabulary.size]
      return top_of(answers.softmax(logits), top_k)

    rows[features.MASKED_LM_POSITIONS] = places
    found = text_rows.map_rows(run, rows)
    most = max(counts, default=0)
    is_filled = np.arange(most) < counts[:, np.newaxis]
    is_filled = np.broadcast_to(
      is_filled[..., np.newaxis], (len(ids), most, top_k)
    )
    tokens = self.rows.shown_tokens[found["ids"][:, :most]]
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


class _OfTokens(answers.Head):
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
    shown = self.rows.shown_tokens
    return {
      "num_tokens": counts,
      "tokens": text_rows.padded([shown[x] for x in ids], b"", object),
      "starts": text_rows.padded(starts, 0, np.int32),
      "ends": text_rows.padded(ends, 0, np.int32),
      names.IS_CUT: is_cut,
      name: np.where(is_token, values, np.float32(0)),
    }

  def _folded(self, text):
    return answers.decoded(text)


_OF_TOKENS = {
  names.IS_CUT: (answers.FLAG,),
  "num_tokens": (answers.INT,),
  "tokens": (answers.TEXT, None),
  "starts": (answers.INT, None),
  "ends": (answers.INT, None),
}


class ReplacedTokens(_OfTokens):
  """The probability of each token that it was replaced."""

  def __init__(self, model, rows):
    super().__init__(model, rows)
    self.outputs = _OF_TOKENS | {"probabilities": (answers.FLOAT, None)}

  def answer(self, text):
    """Judges the tokens; see `answers.Head`."""
    return self._tokens(text, "probabilities", "logits", answers.sigmoid)


class _OfPrompts(_OfTokens):
  """Base class of vectors, whose texts may have a prompt. Abstract."""

  def _read(self, text):
    """Returns the rows of texts with their prompt, as `assemble`."""
    prompt = self.about.get("prompt", "")
    pieces = self.rows.library.pieces(self._folded(text, prompt))
    return self.rows.assemble(pieces)

  def _folded(self, text, prompt=""):
    texts = [prompt + x for x in answers.decoded(text)]
    lower = self.about["texts"].get("do_lower_case")
    return [x.lower() for x in texts] if lower else texts


class Vectors(_OfPrompts):
  """A vector of each text, or of each token."""

  def __init__(self, model, rows):
    super().__init__(model, rows)
    size = model.axes["embeddings"][-1]
    size = self.about.get("truncate_dim") or size
    nothing = self._compressed(np.zeros((0, size), np.float32))
    self.outputs |= {k: (x.dtype, *x.shape[1:]) for k, x in nothing.items()}
    self._pools_prompt = features.POOLING_MASK not in model.axes

  def answer(self, text):
    """Embeds texts; see `answers.Head`."""
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
    return self._compressed(vectors) | {names.IS_CUT: is_cut}

  def on_texts(self):
    """Returns as `answers.Head`, with that of the tokens."""
    width = self._model.axes["sequence_output"][-1]
    outputs = _OF_TOKENS | {"embeddings": (answers.FLOAT, None, width)}

    def embed_tokens(text):
      return self._tokens(text, "embeddings", "sequence_output")

    return super().on_texts() | {"token_embeddings": (embed_tokens, outputs)}

  def on_ids(self, rows):
    """Returns embeddings and sequence_output; all tokens are pooled."""
    mask = rows[features.INPUT_MASK]
    return self._run(rows | {features.POOLING_MASK: mask})

  def _compressed(self, vectors):
    """Returns the outputs that vectors float32 [B, D] are answered as."""
    precision = self.about.get("precision", choices.FLOAT32)
    arrays = quantization.compress(vectors, precision)
    return {"embeddings": arrays.pop("vectors"), **arrays}

  def _run(self, rows):
    # Rows of single tokens have no prompt.
    mask = rows[features.INPUT_MASK]
    return super()._run({features.POOLING_MASK: mask} | rows)

  def _text_mask(self, rows):
    """Returns `input_mask` without [CLS] and the prompt."""
    mask, size = rows[features.INPUT_MASK], 0
    if self.about.get("prompt"):
      [prompt] = self.rows.library.pieces(
        self._folded(answers.encoded([""]), self.about["prompt"])
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
      "tokens": (answers.TEXT, top_k),
      "token_ids": (answers.INT, top_k),
      "weights": (answers.FLOAT, top_k),
    }
    self._tokens_of_ids = answers.encoded(rows.vocabulary.tokens)

  def answer(self, text):
    """Expands texts; see `answers.Head`."""
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


def top_of(values, count):
  """Returns the largest along the last axis, {values, ids}: the first first."""
  ids = np.argsort(-values, axis=-1, kind="stable")[..., :count]
  return {
    "values": np.take_along_axis(values, ids, axis=-1),
    "ids": ids.astype(np.int32),
  }
