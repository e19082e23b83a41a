"""Options of servables, which are the flags of an export.

Standard library only, so that `export_saved_model.py --help` is quick.
"""

import dataclasses

from keras_bert_impl import choices, options
from keras_bert_impl.metrics import tagging
from keras_bert_impl.tokenizers.graph import token_pieces


@dataclasses.dataclass(frozen=True)
class ServableOptions:
  """The options of all servables; see `servables.Servable.options`.

  A field is an argument of the servable's constructor; None leaves its default,
  or what the training recorded.
  """

  labels: str | None = options.common(
    None,
    "Class names, comma-separated, in the order of the logits; default: as"
    " trained.",
  )
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
  text_pairs: bool | None = options.field(
    None,
    "Whether a classifier takes pairs of texts; default: as trained.",
  )
  trained_on: str | None = options.field(
    None,
    "What a model that labels tokens (token_classification) was trained on:"
    " texts as they are, or given words or characters, each tokenized by"
    " itself, as run_ner.py does. Default: as trained, or text.",
    tuple(token_pieces.TRAINED_ON),
  )
  tag_scheme: str | None = options.field(
    None,
    "none if the labels mark no entities (token_classification), such as parts"
    " of speech: each token is answered by itself; default: as trained.",
    (*tagging.SCHEMES, tagging.NO_SCHEME),
  )
  max_query_length: int | None = options.field(
    None,
    "Maximum tokens of a question; default: as trained.",
    interval=options.SEQ_LENGTHS,
  )
  max_answer_length: int | None = options.field(
    None,
    "Maximum tokens of an answer; default: as trained.",
    interval=options.SEQ_LENGTHS,
  )
  null_score_diff_threshold: float | None = options.field(
    None,
    "Answer nothing if the score of no answer is above that of the best answer"
    " by more than this; default: the run's best threshold, if it has one.",
    interval="(-inf, inf)",
  )
  top_k: int | None = options.field(
    None,
    "Number of tokens to return per mask (fill_mask; default: 5) or per text"
    " (sparse; default: 256).",
    interval="[1, 10000000]",
  )
  pooling: str | None = options.common(
    None,
    "Vector of a text (encoder): the hidden state of [CLS] or of the last"
    " token, a mean or the maximum of those of all tokens, or the pooler's"
    " output; default: the model's own, or mean.",
    choices.POOLINGS,
  )
  normalize: bool | None = options.field(
    None,
    "Whether to scale vectors (encoder) to length 1; default: the model's own,"
    " or false.",
  )
  prompt: str | None = options.field(
    None,
    "Text to put before each text (encoder, sparse), such as 'query: ';"
    " default: the model's default prompt, or none.",
  )
  truncate_dim: int | None = options.field(
    None,
    "First numbers of a vector (encoder) to keep, of a model trained with"
    " --matryoshka_widths; default: all.",
    interval="[1, 1000000]",
  )
  precision: str | None = options.common(
    None,
    "What vectors (encoder) consist of: float32 numbers; int8 numbers and a"
    " scale for each vector; or bits, eight in a byte. Default: float32.",
    choices.PRECISIONS,
  )
