"""Options of parsing: flags of the script, settings of `fit`."""

import dataclasses

from keras_bert_impl import options
from keras_bert_impl.serving import servable_options

# How raw text is cut into words: at white space, or at punctuation too.
WHITESPACE, PUNCTUATION = "whitespace", "punctuation"
WORD_SPLITS = (WHITESPACE, PUNCTUATION)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ParsingOptions:
  """Sizes of the parser's head, and what a word of a text is."""

  arc_width: int = options.field(
    500, "Units of each layer that scores heads.", interval=options.WIDTHS
  )
  relation_width: int = options.field(
    100, "Units of each layer that scores relations.", interval=options.WIDTHS
  )
  parser_dropout: float = options.field(
    0.33, "Dropout of these layers.", interval="[0, 1)"
  )
  word_split: str | None = options.common(
    None,
    "Where the served model cuts texts into words: at white space, or at"
    " punctuation too. Default: as most words of the training data are.",
    WORD_SPLITS,
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ParsingServing(servable_options.LabelOptions):
  """Options of the servable of trees."""

  word_split: str | None = options.as_trained(
    ParsingOptions,
    "word_split",
    "Where texts are cut into words (dependency_parsing): at white space, or at"
    " punctuation too; default: as trained.",
  )


# Those of all servables of the kind.
SERVING = (ParsingServing,)
