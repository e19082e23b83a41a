"""Options of fine-tuning tasks: flags of scripts, arguments of estimators."""

import dataclasses

from keras_bert_impl import choices, heads, options
from keras_bert_impl.metrics import question_answering, tagging
from keras_bert_impl.tasks.embeddings import losses
from keras_bert_impl.tokenizers.graph import token_pieces

# {name of a head for questions: head}.
ANSWER_HEADS = {
  "simple": heads.QUESTION_ANSWERING,
  "beam": heads.ANSWER_BEAM,
}
# Options that only queries with mined documents have.
OF_MINING = (
  "num_negatives",
  "first_mined_rank",
  "last_mined_rank",
  "mining_margin",
  "num_candidates",
)
# Kinds of vectors of texts.
DENSE, SPARSE, LATE = VECTORS = ("dense", "sparse", "late")


@dataclasses.dataclass(frozen=True, kw_only=True)
class NoOptions:
  """Options of a task without any."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class TextOptions:
  """Options of texts with classes or scores."""

  metrics: str | None = options.field(
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
  class_weight: str | None = options.field(
    None,
    "Factors of the losses of classes, as negative=1,positive=3; those that are"
    " not named have 1.",
  )


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
    "Scheme of the tags, or none for tags that mark no entities, such as parts"
    " of speech; default: that of most tags of the training data.",
    (*tagging.SCHEMES, tagging.NO_SCHEME),
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

  def __post_init__(self):
    if self.features and self.approach == "fine_tuning":
      raise ValueError(
        "--features needs --approach=features or fine_tuning_bilstm."
      )


@dataclasses.dataclass(frozen=True, kw_only=True)
class QuestionOptions:
  """Options of questions, their windows and their answers."""

  doc_stride: int = options.field(
    128,
    "Tokens from one window of a long text to the next.",
    interval=options.SEQ_LENGTHS,
  )
  max_query_length: int = options.field(
    64,
    "Maximum tokens of a question; longer questions are cut.",
    interval=options.SEQ_LENGTHS,
  )
  n_best_size: int = options.field(
    20,
    "Answers per question in nbest_predictions.json.",
    interval="[1, 10000]",
  )
  max_answer_length: int = options.field(
    30, "Maximum tokens of an answer.", interval=options.SEQ_LENGTHS
  )
  version_2_with_negative: bool = options.common(
    False, "Whether questions may have no answer, as in SQuAD 2.0."
  )
  null_score_diff_threshold: float | None = options.field(
    None,
    "Answer nothing if the score of no answer is above that of the best answer"
    " by more than this; default: the best for F1 on the dev set, or 0.",
    interval="(-inf, inf)",
  )
  answer_rules: str = options.field(
    "squad",
    "Data set whose official script decides how answers are compared.",
    choices=tuple(question_answering.RULES),
  )
  answer_head: str | None = options.field(
    None,
    "Head: simple scores starts and ends apart, beam the ends of each of the"
    " likeliest starts, where [CLS] comes last; default: the checkpoint's, or"
    " beam where it can be, and else simple.",
    tuple(ANSWER_HEADS),
  )
  bilstm_width: int | None = options.field(
    None,
    "Units of a BiLSTM between encoder and head, as in the paper's"
    " left-to-right model; default: no BiLSTM.",
    interval=options.WIDTHS,
  )


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
class EmbeddingOptions(LateOptions):
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
    tuple(losses.LOSSES),
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
  matryoshka_widths: str | None = options.field(
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

  def __post_init__(self):
    options.check_fields(self)


@dataclasses.dataclass(frozen=True, kw_only=True)
class RerankingOptions:
  """Options of reranking, and of the documents that an encoder finds for it.

  Raises:
    ValueError: one is out of range.
  """

  ranking_loss: str = options.common(
    "listwise",
    "Loss of a query's documents: listwise (softmax over all), pairwise (each"
    " relevant one above each other) or pointwise (relevant or not).",
    choices.RANKING_LOSSES,
  )
  num_negatives: int = options.common(
    7, "Negatives of each query, with --mine.", interval="[1, 1000]"
  )
  first_mined_rank: int = options.field(
    1, "First rank from which negatives are taken.", interval="[1, 1000000]"
  )
  last_mined_rank: int = options.field(
    50, "Last rank from which negatives are taken.", interval="[1, 1000000]"
  )
  mining_margin: float = options.field(
    0.05,
    "How far the cosine of a negative must be below that of the positive: what"
    " is nearer may be relevant, too.",
    interval="[-2, 2]",
  )
  num_candidates: int = options.common(
    20,
    "Documents to put in order for each query of dev_file, with --mine.",
    interval="[1, 10000]",
  )

  def __post_init__(self):
    options.check_fields(self)
