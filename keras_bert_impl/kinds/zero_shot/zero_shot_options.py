"""Options of the servable that classifies by hypotheses."""

import dataclasses

from keras_bert_impl import options
from keras_bert_impl.serving import servable_options

TEMPLATE = "This example is {}."


@dataclasses.dataclass(frozen=True, kw_only=True)
class ZeroShotServing(servable_options.LabelOptions):
  """Options of labels as hypotheses."""

  hypothesis_template: str | None = options.field(
    None,
    "Sentence that a label of a request is put into, in place of {}, with"
    f" --head=zero_shot; default: {TEMPLATE}",
  )
  multi_label: bool | None = options.field(
    None,
    "Whether each label of a request is judged by itself, with"
    " --head=zero_shot; default: the likeliest is looked for.",
  )


# Those of all servables of the kind.
SERVING = (ZeroShotServing,)
