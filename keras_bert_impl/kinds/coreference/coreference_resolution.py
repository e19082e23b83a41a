"""Coreference: the antecedents of mentions, by their clusters.

Source: Lee et al. 2017, section 5: the marginal likelihood of all antecedents
in the cluster. Differs from it where mentions that stand alone are kept: then
being a mention is learned too, of all spans.
"""

import dataclasses

import numpy as np
from keras import ops

from keras_bert_impl import configs
from keras_bert_impl.kinds.coreference import (
  coreference_model,
  coreference_rows,
)
from keras_bert_impl.tasks.basics import cross_entropy, task


@dataclasses.dataclass(frozen=True)
class CoreferenceTask(task.Task):
  """Antecedents of the spans of documents.

  Attributes:
    config: `EncoderConfig`.
    max_seq_length: int, ids of a segment.
    genres: tuple of str, those of the training data.
    keep_singletons: bool, whether mentions alone are clusters.
    max_span_width: as `coreference_model.CoreferenceHead`.
    top_span_ratio: the same.
    max_antecedents: the same.
    span_units: units, the same.
    span_dropout: dropout_rate, the same.
  """

  config: configs.EncoderConfig
  max_seq_length: int
  genres: tuple[str, ...] = ()
  keep_singletons: bool = False
  max_span_width: int = 10
  top_span_ratio: float = 0.4
  max_antecedents: int = 50
  span_units: int = 1000
  span_dropout: float = 0.3

  head = coreference_model.HEAD

  def build_model(self):
    """Returns a `CoreferenceModel` with fresh weights."""
    head = {
      "num_genres": len(self.genres),
      "max_span_width": self.max_span_width,
      "top_span_ratio": self.top_span_ratio,
      "max_antecedents": self.max_antecedents,
      "units": self.span_units,
      "dropout_rate": self.span_dropout,
      "keep_singletons": self.keep_singletons,
    }
    return coreference_model.CoreferenceModel(
      self.config, self.max_seq_length, head, use_clusters=True
    )

  @property
  def _losses(self):
    return ("antecedent", *["mention"] * self.keep_singletons)

  def denominators(self, batch):
    """Returns the number of words, of each loss."""
    is_word = ops.cast(batch[coreference_rows.WORD_STARTS] >= 0, "float32")
    return dict.fromkeys(self._losses, ops.sum(is_word))

  def total_denominators(self, data):
    """Returns the number of words, of each loss."""
    starts = data[coreference_rows.WORD_STARTS]
    number = float(sum(np.sum(of_row >= 0) for of_row in starts))
    return dict.fromkeys(self._losses, number)

  def losses(self, batch, outputs):
    """Returns the sums over all spans, in nats."""
    del batch
    return {name: ops.sum(outputs[f"{name}_losses"]) for name in self._losses}

  def metrics(self, batch, outputs):
    """Returns the losses per word, and the padding share."""
    return cross_entropy.loss_metrics(self, batch, outputs) | {
      "padding_share": cross_entropy.padding_share(batch)
    }
