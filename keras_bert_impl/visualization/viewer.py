"""Texts in, pages out."""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from keras_bert_impl import features, heads, kinds, options
from keras_bert_impl.serving import text_row
from keras_bert_impl.visualization import page, saliency, states


class View(NamedTuple):
  """The page of a text.

  Attributes:
    html: str, the whole file.
    num_tokens: int, those that are shown.
    num_cut: int, those that are not.
  """

  html: str
  num_tokens: int
  num_cut: int


class Viewer:
  """Shows what a model does with texts.

  Args:
    model: an encoder, or a model with an `encoder` and a head.
    head: str, one of `heads.SERVED`.
    tokenizer: of `tokenizers.load`.
    max_seq_length: int, most tokens of a text or pair.
    labels: list of str, the names of the model's classes; None: numbered.
    layers: list of int, those to show, as of `states.StateReader`; None for
      all.
    name: str, what the page calls the model.
    recorded: {name: value} of its training, as of `Servable.of_training`, for
      how texts are read, and what a decoder begins with; None: nothing.

  Raises:
    ValueError: as `states.StateReader`.
  """

  def __init__(
    self,
    model,
    head,
    tokenizer,
    max_seq_length,
    labels=None,
    layers=None,
    name="",
    recorded=None,
  ):
    self._model = model
    self._encoder = getattr(model, "encoder", model)
    self._head = head
    servables = kinds.servables()
    options.check_choice("head", head, tuple(servables))
    self._servable_class = servables[head]
    self._tokenizer = tokenizer
    self._max_seq_length = max_seq_length
    self._tokens = [x.decode("utf-8", "replace") for x in tokenizer.token_texts]
    self._labels = self._tokens if head == heads.FILL_MASK else labels
    self._name = name
    self._read = self._servable_class.reader(recorded or {})
    self._start = None
    if model.config.num_decoder_layers:
      self._start = self._servable_class.of_training(recorded)["start"]
      self._reader = states.DecoderReader(model, layers)
    else:
      self._reader = states.StateReader(self._encoder, layers)

  def view(self, text, text_pair=None, above=""):
    """Returns the `View` of a text or a pair.

    A text that would make the page larger than `page.MOST_BYTES` is cut.

    Args:
      text: str; of a model that fills masks, with any number of them.
      text_pair: str, or None; of a model with a decoder, what it writes.
      above: str, HTML to be put before all else.

    Raises:
      ValueError: not even a few tokens fit on a page, or a decoder has no text.
    """
    if self._start is not None and not text_pair:
      raise ValueError(
        f"text_pair ({text_pair!r}) must be the text that the model writes: it"
        " has a decoder."
      )
    texts = [text, text_pair] if text_pair else [text]
    length = self._max_seq_length
    while True:
      row = self._row(texts, length)
      found = self._reader.read(row.inputs)
      html = page.render(self._content(row, found), found.attention, above)
      size, length = len(html.encode("utf-8")), len(row.tokens)
      if size <= page.MOST_BYTES:
        return View(html, length, row.num_tokens - length)
      # The size of a page grows with the square of the length.
      length = min(length - 1, int(length * (page.MOST_BYTES / size) ** 0.5))
      if length < 8:
        raise ValueError(
          f"The attention of {len(self._reader.groups)} layers takes more than"
          f" the {page.MOST_BYTES // 1000} kB of a page: give fewer layers."
        )

  def _row(self, texts, length):
    """Returns the `text_row.TextRow` of texts; a decoder's are one after one.

    Args:
      texts: list of one or two str.
      length: int, most tokens; with a decoder, of each text.
    """
    if self._start is None:
      return text_row.make(self._tokenizer, texts, length, self._read)
    source, written = texts
    row = text_row.make(self._tokenizer, [source], length, self._read)
    pieces = self._read(self._tokenizer, written)
    name = self._tokens[self._start]
    tokens = [text_row.Token(name, name, 0)] + [
      text_row.Token(text, self._tokens[index], 2) for index, text in pieces
    ]
    ids = [self._start, *(index for index, _ in pieces)]
    return text_row.TextRow(
      row.inputs | {features.DECODER_IDS: tf.constant([ids[:length]])},
      row.tokens + tokens[:length],
      row.num_tokens + len(tokens),
    )

  def _content(self, row, found):
    """Returns all that the page shows besides attention, a JSON value."""
    places, cosines = states.neighbours(found.hidden)
    config = self._encoder.config
    return {
      "name": self._name,
      "head": self._head,
      "groups": self._reader.groups,
      "layers": self._reader.layers,
      "heads": self._reader.num_heads,
      "direction": "decoder"
      if self._start is not None
      else config.reading_direction or "",
      "window": max(config.windows_by_layer),
      "tokens": [[token.text, token.piece, token.side] for token in row.tokens],
      "numCut": row.num_tokens - len(row.tokens),
      "neighbours": {
        "places": places.tolist(),
        "cosines": _rounded(cosines),
      },
      "alike": self._alike(row),
      **self._predictions(row),
    }

  def _alike(self, row):
    """Returns [[token, cosine]] of the vocabulary for each token of a row."""
    names = (features.INPUT_IDS, features.DECODER_IDS)
    ids = [row.inputs[name].numpy()[0] for name in names if name in row.inputs]
    ids = np.concatenate(ids)
    places, cosines = self._reader.neighbours_in_table(ids, len(self._tokens))
    return [
      [
        [self._tokens[index], cosine]
        for index, cosine in zip(*both, strict=True)
      ]
      for both in zip(places.tolist(), _rounded(cosines), strict=True)
    ]

  def _predictions(self, row):
    """Returns the predictions and what they rest on, or why there is none."""
    found, reason = saliency.predictions(
      self._model, self._servable_class, row, self._labels
    )
    values = saliency.saliency(self._model, row, found) if found else []
    return {
      "reason": reason,
      "predictions": [
        # Four digits: more than these nobody sees.
        [one.label, one.place, [float(f"{x:.4g}") for x in each]]
        for one, each in zip(found, values, strict=True)
      ],
    }


def _rounded(cosines):
  return np.round(cosines.astype(np.float64), 3).tolist()
