"""Rows of pairs: what a decoder reads and writes, or a text that goes on.

decoder         input_ids: the text that is read. decoder_ids: the id that
                begins the other text, and that text.
left to right   input_ids: the text, and the one that follows it.
                masked_lm_positions: where each token of the second is
                predicted, that before it; no other place has logits.

Both have label_ids: the text that is written, and its end. The two texts have
lengths of their own.
"""

import dataclasses

import numpy as np

from keras_bert_impl import features
from keras_bert_impl.tasks.basics import fine_tuning

NONE = -1  # In label_ids, where nothing is predicted.
_OF_TARGET = ("target",)
_PAIRS = 1000  # that are tokenized at once


@dataclasses.dataclass(frozen=True)
class PairPreprocessor(fine_tuning.Preprocessor):
  """Makes rows of `Pair`s.

  Attributes:
    max_seq_length: int, most ids of a text that is read.
    max_target_length: int, most ids of one that is written, special ones
      included.
    has_decoder: bool, whether the model has one.
    prefix: str, before each text that is read.
    start: int, the id with which a decoder begins; of a model without one, what
      stands for a text without tokens, or None.
    target_begin: tuple of int, the first ids of a text that is written.
    target_end: tuple of int, its last ones.
  """

  max_seq_length: int
  max_target_length: int = 64
  has_decoder: bool = True
  prefix: str = ""
  start: int | None = None
  target_begin: tuple[int, ...] = ()
  target_end: tuple[int, ...] = ()

  @property
  def columns(self):
    """{name: `Column`} of the rows."""
    written = (
      features.DECODER_IDS if self.has_decoder else features.MASKED_LM_POSITIONS
    )
    return {
      features.INPUT_IDS: fine_tuning.Column(),
      features.SEGMENT_IDS: fine_tuning.Column(),
      written: fine_tuning.Column(shape=_OF_TARGET),
      features.LABEL_IDS: fine_tuning.Column(shape=_OF_TARGET, padding=NONE),
    }

  @property
  def longest_row(self):
    """The most ids along the axis of input_ids, int."""
    others = 0 if self.has_decoder else self.max_target_length
    return self.max_seq_length + others

  def texts(self, example):
    """Returns the text and, if it is known, the target."""
    return [self.prefix + example.text, *filter(None, [example.target])]

  def make_rows(self, examples, tokenizer, counts):
    """Yields a row for each pair; see `Preprocessor`."""
    prompts = self._prompts(examples, tokenizer, counts)
    targets = self._targets(examples, tokenizer, counts)
    for example, (ids, segments), target in zip(
      examples, prompts, targets, strict=True
    ):
      if self.has_decoder:
        row = self._pair(ids, segments, target)
      else:
        # A text that goes on has not ended.
        size = len(ids) - tokenizer.framing.end
        row = self._continued(ids[:size], segments[:size], target, example)
      yield {name: np.asarray(x, np.int32) for name, x in row.items()}

  def _prompts(self, examples, tokenizer, counts):
    """Yields ids and segments of the texts that are read, as when served."""
    size = self.max_seq_length
    for start in range(0, len(examples), _PAIRS):
      some = examples[start : start + _PAIRS]
      texts = [self.prefix + example.text for example in some]
      pieces = tokenizer.tokenize_around_masks(texts)
      rows = tokenizer.assemble(pieces, max_seq_length=size)
      rows = {name: values.numpy() for name, values in rows.items()}
      room = size - tokenizer.num_special_tokens(1)
      num_cut = np.sum(pieces.row_lengths().numpy() > room)
      fine_tuning.add_counts(counts, {"texts cut to max_seq_length": num_cut})
      for ids, mask, segments in zip(
        *(rows[name] for name in (features.INPUT_IDS, features.INPUT_MASK)),
        rows[features.SEGMENT_IDS],
        strict=True,
      ):
        yield ids[mask > 0], segments[mask > 0]

  def _targets(self, examples, tokenizer, counts):
    """Yields the ids of the targets, arrays; [NONE] where there is none."""
    room = self.max_target_length - len(self.target_begin + self.target_end)
    for start in range(0, len(examples), _PAIRS):
      some = examples[start : start + _PAIRS]
      pieces = tokenizer.target_tokenizer.tokenize(
        [x.target or "" for x in some]
      )
      starts = pieces.row_splits.numpy()
      values = pieces.flat_values.numpy()
      for number, example in enumerate(some):
        ids = values[starts[number] : starts[number + 1]]
        if len(ids) > room:
          counts["targets cut to max_target_length"] += 1
        framed = (self.target_begin, ids[:room], self.target_end)
        yield np.concatenate(framed if example.is_labelled else [[NONE]])

  def _pair(self, ids, segments, target):
    """Returns the row of a decoder."""
    return {
      features.INPUT_IDS: ids,
      features.SEGMENT_IDS: segments,
      features.DECODER_IDS: [self.start, *target[:-1]],
      features.LABEL_IDS: target,
    }

  def _continued(self, ids, segments, target, example):
    """Returns the row of a model from left to right."""
    if not len(ids):
      if self.start is None:
        raise ValueError(
          f"{example.origin}: the text has no tokens, and the model has none"
          " that begins texts: leave it out."
        )
      ids, segments = np.array([self.start]), np.zeros(1)
    more = len(target) - 1
    return {
      features.INPUT_IDS: np.concatenate([ids, target[:more]]),
      features.SEGMENT_IDS: np.pad(segments, (0, more)),
      features.MASKED_LM_POSITIONS: len(ids) - 1 + np.arange(len(target)),
      features.LABEL_IDS: target,
    }
