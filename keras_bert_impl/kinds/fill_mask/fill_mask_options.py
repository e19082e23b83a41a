"""Options of the servable that fills masks."""

import dataclasses

from keras_bert_impl import options


@dataclasses.dataclass(frozen=True, kw_only=True)
class FillMaskServing:
  """Options of the servable that fills masks."""

  top_k: int | None = options.field(
    None,
    "Number of tokens to return per mask (fill_mask; default: 5).",
    interval="[1, 10000000]",
  )


# Those of all servables of the kind.
SERVING = (FillMaskServing,)
