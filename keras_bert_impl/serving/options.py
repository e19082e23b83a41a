"""Options of servables, which are the flags of an export.

Standard library only, so that `export_saved_model.py --help` is quick. A field
is an argument of the servable's constructor; None leaves its default, or what
the training recorded.
"""

import dataclasses

from keras_bert_impl import choices, heads, options


@dataclasses.dataclass(frozen=True)
class _LabelOptions:
  labels: str | None = options.common(
    None,
    "Names of the classes, comma-separated, in the order of the model; default:"
    " those it was trained with.",
  )


@dataclasses.dataclass(frozen=True)
class _WindowOptions:
  doc_stride: int | None = options.field(
    None,
    "Tokens from one window of a long text to the next; default: as trained.",
  )
  max_windows: int | None = options.field(
    None, "Windows of a long text that are read; default: 32."
  )


@dataclasses.dataclass(frozen=True)
class RegressionOptions:
  """Of `classification.RegressionServable`."""

  text_pairs: bool | None = options.field(
    None,
    "Whether a classifier takes pairs of texts; default: as it was trained.",
  )


@dataclasses.dataclass(frozen=True)
class ClassificationOptions(_LabelOptions, RegressionOptions):
  """Of `classification.ClassificationServable`."""


@dataclasses.dataclass(frozen=True)
class TokenClassificationOptions(_LabelOptions, _WindowOptions):
  """Of `token_classification.TokenClassificationServable`."""


@dataclasses.dataclass(frozen=True)
class QuestionAnsweringOptions(_WindowOptions):
  """Of `question_answering.QuestionAnsweringServable`."""

  max_query_length: int | None = options.field(
    None, "Most tokens of a question; default: as trained."
  )
  max_answer_length: int | None = options.field(
    None, "Most tokens of an answer; default: as trained."
  )
  null_score_diff_threshold: float | None = options.field(
    None,
    "No answer where its score is so far above that of the best one; default:"
    " what the run found best, and of a model that must answer, never.",
  )


@dataclasses.dataclass(frozen=True)
class FillMaskOptions:
  """Of `fill_mask.FillMaskServable`."""

  top_k: int | None = options.field(
    None, "Tokens for each mask (fill_mask); default: 5."
  )


@dataclasses.dataclass(frozen=True)
class EncoderOptions:
  """Of `encoder.EncoderServable`."""

  pooling: str | None = options.common(
    None,
    "Vector of a text (encoder): that of [CLS], the mean of all tokens (the"
    " default), or the pooler's.",
    choices.POOLINGS,
  )
  normalize: bool | None = options.field(
    None, "Whether vectors of texts (encoder) have length 1; default: not."
  )


@dataclasses.dataclass(frozen=True)
class NoOptions:
  """Of servables without options."""


OPTIONS = {
  heads.CLASSIFICATION: ClassificationOptions,
  heads.REGRESSION: RegressionOptions,
  heads.MULTIPLE_CHOICE: NoOptions,
  heads.TOKEN_CLASSIFICATION: TokenClassificationOptions,
  heads.QUESTION_ANSWERING: QuestionAnsweringOptions,
  heads.FILL_MASK: FillMaskOptions,
  heads.REPLACED_TOKENS: NoOptions,
  heads.ENCODER: EncoderOptions,
}


@dataclasses.dataclass(frozen=True)
class AllOptions(
  ClassificationOptions,
  TokenClassificationOptions,
  QuestionAnsweringOptions,
  FillMaskOptions,
  EncoderOptions,
):
  """The options of all servables."""


def names(options_class):
  """Returns the names of its options, list of str."""
  return [field.name for field in dataclasses.fields(options_class)]
