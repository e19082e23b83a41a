"""Options of texts: flags of the script, settings of `fit`."""

import dataclasses

from keras_bert_impl import options
from keras_bert_impl.serving import servable_options


@dataclasses.dataclass(frozen=True, kw_only=True)
class TextOptions:
  """Options of texts with classes or scores."""

  metrics: tuple[str, ...] | None = options.listed(
    None,
    "Metrics, comma-separated, the main one first; default: accuracy,macro_f1"
    " for classes, micro_f1,macro_f1,exact_match for --multi_label,"
    " spearman,pearson for --regression.",
  )
  bilstm_width: int | None = options.field(
    None,
    "Units of a BiLSTM that replaces the pooler, as in the paper's"
    " left-to-right model; default: no BiLSTM.",
    interval=options.WIDTHS,
  )
  class_weight: dict[str, float] | None = options.listed(
    None,
    "Factors of the losses of classes, as negative=1,positive=3; those that are"
    " not named have 1.",
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class TextServing(servable_options.LabelOptions):
  """Options of the servables of texts."""

  text_pairs: bool | None = options.field(
    None,
    "Whether a classifier takes pairs of texts; default: as trained.",
  )


# Those of all servables of the kind.
SERVING = (TextServing,)
