"""Options that servables of several kinds have.

Those of a kind are a dataclass of its package, made of these and its own; an
export has the flags of all. None leaves what the training recorded, or the
servable's default. Standard library only, so that
`export_saved_model.py --help` is quick.
"""

import dataclasses

from keras_bert_impl import options


@dataclasses.dataclass(frozen=True, kw_only=True)
class LabelOptions:
  """Names of classes."""

  labels: tuple[str, ...] | None = options.listed(
    None,
    "Class names, comma-separated, in the order of the logits; default: as"
    " trained.",
    is_common=True,
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class WindowOptions:
  """Windows of texts that are longer than a row."""

  doc_stride: int | None = options.field(
    None,
    "Tokens from one window of a long text to the next; default: as trained.",
    interval=options.SEQ_LENGTHS,
  )
  max_windows: int | None = options.field(
    None,
    "Maximum windows of a long text; the rest is dropped. Default: 32.",
    interval="[1, 1000000]",
  )
