"""Options of tags: flags of the script, settings of `fit`."""

import dataclasses

from keras_bert_impl import choices, options
from keras_bert_impl.metrics import tagging
from keras_bert_impl.serving import servable_options
from keras_bert_impl.tokenizers.graph import token_pieces


@dataclasses.dataclass(frozen=True, kw_only=True)
class TagOptions:
  """Options of tags, and how a model finds them.

  Raises:
    ValueError: options contradict each other or are out of range.
  """

  token_unit: str = options.common(
    token_pieces.WORD,
    "Token on each line: a word with its columns, or a character (which may be"
    " a space), a tab and a tag, as in KLUE-NER.",
    token_pieces.UNITS,
  )
  tag_scheme: str | None = options.common(
    None,
    "Scheme of the tags; none: they mark no entities, such as parts of speech;"
    " spans: as --spans; default: that of most tags of the training data.",
    (*tagging.SCHEMES, tagging.NO_SCHEME, tagging.SPANS),
  )

  context: str = options.field(
    "document",
    "Text around a sentence in its row: as much of its document as fits, or"
    " only the sentence.",
    choices.CONTEXTS,
  )
  doc_stride: int | None = options.field(
    None,
    "Tokens from one window of a long sentence to the next; default: half a"
    " window.",
    interval=options.SEQ_LENGTHS,
  )
  approach: str = options.common(
    "fine_tuning",
    "Trained parts: encoder and linear layer, a BiLSTM on the frozen encoder,"
    " or encoder and BiLSTM.",
    choices.APPROACHES,
  )
  features: str | None = options.field(
    None,
    "Encoder layers that the BiLSTM reads; default: concat_last_four of a"
    " frozen encoder, else the last layer.",
    tuple(choices.FEATURES),
  )
  lstm_width: int = options.field(
    768, "Units of the BiLSTM per direction.", interval=options.WIDTHS
  )
  use_crf: bool = options.common(
    False,
    "Whether a CRF chooses the tags of a sentence.",
  )
  max_span_width: int = options.field(
    10, "Words of the longest entity, of spans.", interval="[1, 512]"
  )
  span_units: int = options.field(
    256, "Units of the vectors of spans.", interval=options.WIDTHS
  )

  def __post_init__(self):
    is_of_tags = self.use_crf or self.approach != "fine_tuning"
    if self.tag_scheme == tagging.SPANS and is_of_tags:
      raise ValueError(
        f"Spans need --approach=fine_tuning ({self.approach}) and no --use_crf."
      )
    if self.features and self.approach == "fine_tuning":
      raise ValueError(
        "--features needs --approach=features or fine_tuning_bilstm."
      )


@dataclasses.dataclass(frozen=True, kw_only=True)
class TagServing(servable_options.LabelOptions, servable_options.WindowOptions):
  """Options of the servable of tags."""

  trained_on: str | None = options.field(
    None,
    "What a model that labels tokens (token_classification) was trained on:"
    " texts as they are, or given words or characters, each tokenized by"
    " itself, as run_ner.py does. Default: as trained, or text.",
    tuple(token_pieces.TRAINED_ON),
  )
  tag_scheme: str | None = options.as_trained(
    TagOptions,
    "tag_scheme",
    "none if the labels mark no entities (token_classification), such as parts"
    " of speech: each token is answered by itself; default: as trained.",
  )


# Those of all servables of the kind.
SERVING = (TagServing,)
