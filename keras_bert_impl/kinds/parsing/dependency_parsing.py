"""Dependency parsing: the head of each word, and its relation to it.

Source: Dozat and Manning 2017, section 3.
"""

import dataclasses

import numpy as np
from keras import ops

from keras_bert_impl import configs, features
from keras_bert_impl.kinds.parsing import biaffine_parser, parsing_rows
from keras_bert_impl.tasks.basics import cross_entropy


@dataclasses.dataclass(frozen=True)
class DependencyParsingTask(cross_entropy.ClassifyingTask):
  """Heads, by a softmax over all nodes, and relations to the true heads.

  Attributes:
    config: `EncoderConfig`.
    labels: tuple of str, the relations in the order of the logits.
    arc_width: as `biaffine_parser.BiaffineParser`.
    relation_width: the same.
    parser_dropout: the same.
  """

  config: configs.EncoderConfig
  labels: tuple[str, ...]
  arc_width: int = 500
  relation_width: int = 100
  parser_dropout: float = 0.33

  head = biaffine_parser.HEAD

  def build_model(self):
    """Returns a `BiaffineParser` with fresh weights."""
    return biaffine_parser.BiaffineParser(
      self.config,
      len(self.labels),
      self.arc_width,
      self.relation_width,
      self.parser_dropout,
      use_head_ids=True,
    )

  def weights(self, batch):
    """Returns 1 for each word, and for those whose relation is known."""
    return {
      "arc": ops.cast(batch[parsing_rows.HEAD_IDS] >= 0, "float32"),
      "relation": ops.cast(batch[features.LABEL_IDS] >= 0, "float32"),
    }

  def total_denominators(self, data):
    """Returns the numbers of words."""
    columns = {
      "arc": data[parsing_rows.HEAD_IDS],
      "relation": data[features.LABEL_IDS],
    }
    return {
      name: float(sum(np.sum(of_row >= 0) for of_row in rows))
      for name, rows in columns.items()
    }

  def predictions(self, batch, outputs):
    """Returns heads and relations, [B, L] each."""
    heads = ops.maximum(batch[parsing_rows.HEAD_IDS], 0)
    labels = ops.maximum(batch[features.LABEL_IDS], 0)
    return {
      "arc": cross_entropy.Prediction(outputs["arc_logits"], heads),
      "relation": cross_entropy.Prediction(outputs["gold_head_logits"], labels),
    }
