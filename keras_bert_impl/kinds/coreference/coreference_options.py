"""Options of coreference: flags of the script, settings of `fit`."""

import dataclasses

from keras_bert_impl import options


@dataclasses.dataclass(frozen=True, kw_only=True)
class CoreferenceOptions:
  """Which spans are looked at, and the sizes of the head."""

  max_span_width: int = options.common(
    10,
    "Words of the longest mention that can be found.",
    interval="[1, 100]",
  )
  segment_overlap: int = options.common(
    0,
    "Tokens that a segment has in common with the one before it, at most half a"
    " segment; documents are read in segments of --max_seq_length.",
    interval=f"[0, {options.LONGEST}]",
  )
  keep_singletons: bool | None = options.common(
    None,
    "Whether a mention that nothing else refers to is a cluster, which is then"
    " trained, found and scored. Default: if the training data have such"
    " clusters.",
  )
  top_span_ratio: float = options.field(
    0.4,
    "Spans that are kept as possible mentions, per word.",
    interval="(0, 1]",
  )
  max_antecedents: int = options.field(
    50,
    "Spans before a span that are compared with it closely.",
    interval="[1, 1000]",
  )
  span_units: int = options.field(
    1000,
    "Units of what represents a span, and of the layer that compares two.",
    interval=options.WIDTHS,
  )
  span_dropout: float = options.field(
    0.3, "Dropout of these layers.", interval="[0, 1)"
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class CoreferenceServing:
  """Options of the servable of clusters."""

  segment_overlap: int | None = options.as_trained(
    CoreferenceOptions,
    "segment_overlap",
    "Tokens that a segment has in common with the one before it (coreference);"
    " default: as trained.",
  )


# Those of all servables of the kind.
SERVING = (CoreferenceServing,)
