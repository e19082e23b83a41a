"""Options of answers: flags of the script, settings of `fit`."""

import dataclasses

from keras_bert_impl import heads, options
from keras_bert_impl.metrics import question_answering
from keras_bert_impl.serving import servable_options

# {name of a head for questions: head}.
ANSWER_HEADS = {
  "simple": heads.QUESTION_ANSWERING,
  "beam": heads.ANSWER_BEAM,
}


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
class AnswerServing(servable_options.WindowOptions):
  """Options of the servable of answers."""

  max_query_length: int | None = options.as_trained(
    QuestionOptions,
    "max_query_length",
    "Maximum tokens of a question; default: as trained.",
  )
  max_answer_length: int | None = options.as_trained(
    QuestionOptions,
    "max_answer_length",
    "Maximum tokens of an answer; default: as trained.",
  )
  null_score_diff_threshold: float | None = options.as_trained(
    QuestionOptions,
    "null_score_diff_threshold",
    "Answer nothing if the score of no answer is above that of the best answer"
    " by more than this; default: the run's best threshold, if it has one.",
  )


# Those of all servables of the kind.
SERVING = (AnswerServing,)
