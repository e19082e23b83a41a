"""Options of vectors: flags of the script, settings of `fit`."""

import dataclasses

from keras_bert_impl import choices, options
from keras_bert_impl.kinds.embeddings.tasks import mining_options
from keras_bert_impl.tasks.basics import vector_losses

# Kinds of vectors of texts.
DENSE, SPARSE, LATE = VECTORS = ("dense", "sparse", "late")


@dataclasses.dataclass(frozen=True, kw_only=True)
class LateOptions:
  """Options of late interaction: those of `LateInteraction`, and a width.

  The default is what the folder to start from says.
  """

  query_prefix: str | None = options.field(
    None,
    "Token after [CLS] of an anchor (late); '' for none. Default: the folder's,"
    " or [unused0].",
  )
  document_prefix: str | None = options.field(
    None, "The same of all other texts. Default: the folder's, or [unused1]."
  )
  query_length: int | None = options.field(
    None,
    "Tokens of an anchor (late). Default: the folder's, or 32.",
    interval=options.SEQ_LENGTHS,
  )
  do_query_expansion: bool | None = options.field(
    None,
    "Whether [MASK] fills anchors up (late). Default: the folder's, or true.",
  )
  attend_to_expansion_tokens: bool | None = options.field(
    None,
    "Whether the tokens of an anchor see it. Default: the folder's, or false.",
  )
  skiplist_words: str | None = options.field(
    None,
    "Tokens of documents that are not compared (late), separated by blanks."
    " Default: the folder's, or all ASCII punctuation.",
  )
  embedding_size: int | None = options.field(
    None,
    "Width of the vectors of tokens (late). Default: the folder's, or 128.",
    interval=options.WIDTHS,
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class EmbeddingOptions(LateOptions, mining_options.MiningOptions):
  """Options of text vectors: their losses, pooling and prompts.

  Raises:
    ValueError: one is out of range.
  """

  vectors: str | None = options.common(
    None,
    "One vector, weights of tokens (SPLADE), or a vector of each token"
    " (ColBERT); default: as in the folder to start from, or dense.",
    VECTORS,
  )
  loss: str = options.common(
    "in_batch",
    "Loss: in_batch (the positive among all texts of the batch) or triplet of"
    " pairs and triplets; the others of two texts and a score.",
    tuple(vector_losses.LOSSES),
  )
  chunk_size: int | None = options.common(
    None,
    "Examples to compute at once, as memory allows; the weights do not depend"
    " on it. Default: all.",
    interval=options.BATCH_SIZES,
  )
  temperature: float | None = options.field(
    None,
    "Number that similarities are divided by; of in_batch, cosent and angle."
    " Default: 0.05 of cosines, 1 of sparse vectors and late interaction.",
    interval="[1e-6, 1e6]",
  )
  both_ways: bool = options.field(
    False,
    "Whether in_batch also finds the anchor of a positive among all anchors.",
  )
  margin: float = options.field(
    1.0,
    "Margin of triplet, by which the negative is to be farther away.",
    interval="[0, 1e6]",
  )
  matryoshka_widths: tuple[int, ...] | None = options.listed(
    None,
    "Widths, comma-separated, to which vectors may be cut: each has a loss.",
  )
  query_flops_weight: float = options.field(
    5e-5,
    "Weight of the FLOPS regulariser of sparse anchors: more leaves them fewer"
    " tokens.",
    interval="[0, 1e6]",
  )
  document_flops_weight: float = options.field(
    3e-5, "The same of all other texts.", interval="[0, 1e6]"
  )
  pooling: str | None = options.field(
    None,
    "Vector of a text; default: as in the folder of sentence-transformers, or"
    " mean.",
    choices.POOLINGS,
  )
  query_prompt: str | None = options.field(
    None, "Text to put before each anchor; default: the folder's, or none."
  )
  document_prompt: str | None = options.field(
    None, "Text to put before each other text; default: the same."
  )
  # One was enough for Karpukhin et al. 2020, table 3; each costs a text.
  num_negatives: int = options.field(
    1, "Negatives of each pair, with --mine.", interval="[1, 1000]"
  )
  mine_every: int | None = options.field(
    None,
    "Epochs after which the encoder that is trained finds negatives anew, with"
    " --mine; default: never.",
    interval="[1, 1000000]",
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class PromptServing:
  """Options of the servables that put a prompt before texts."""

  prompt: str | None = options.field(
    None,
    "Text to put before each text (encoder, sparse), such as 'query: ';"
    " default: the model's default prompt, or none.",
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class SparseServing(PromptServing):
  """Options of the servable of sparse vectors."""

  top_k: int | None = options.field(
    None,
    "Number of tokens to return per text (sparse; default: 256).",
    interval="[1, 10000000]",
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class VectorServing(PromptServing):
  """Options of the servables of one vector for each text."""

  normalize: bool | None = options.field(
    None,
    "Whether to scale vectors (encoder) to length 1; default: the model's own,"
    " or false.",
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


@dataclasses.dataclass(frozen=True, kw_only=True)
class EncoderServing(VectorServing):
  """Options of the servable of an encoder of texts."""

  pooling: str | None = options.common(
    None,
    "Vector of a text (encoder): the hidden state of [CLS] or of the last"
    " token, a mean or the maximum of those of all tokens, or the pooler's"
    " output; default: the model's own, or mean.",
    choices.POOLINGS,
  )


# Those of all servables of the kind.
SERVING = (SparseServing, EncoderServing)
