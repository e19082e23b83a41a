"""The heads of models: one name for each, from its class to its SavedModel.

The name is used in task.json, results.json and model.json, in
`export_saved_model.py --head` and in the classes of models, tasks and
servables. Standard library only.
"""

import dataclasses

CLASSIFICATION = "classification"
MULTI_LABEL = "multi_label"
REGRESSION = "regression"
MULTIPLE_CHOICE = "multiple_choice"
TOKEN_CLASSIFICATION = "token_classification"
QUESTION_ANSWERING = "question_answering"
FILL_MASK = "fill_mask"
REPLACED_TOKENS = "replaced_tokens"
ENCODER = "encoder"
# The head that fills masks, used for sparse vectors of texts; stored as that.
SPARSE = "sparse"
# Vectors of tokens, ColBERT; stored as an encoder and one matrix.
LATE = "late"
# A table of vectors of tokens, which is served as an encoder.
STATIC = "static"
# Another text, written by a decoder.
TEXT_TO_TEXT = "text_to_text"
# A model that writes text: with a decoder, or from left to right.
GENERATION = "generation"
# A classifier of pairs, of NLI, asked whether texts entail labels.
ZERO_SHOT = "zero_shot"
# Several of these on one encoder.
MULTI_TASK = "multi_task"
# Stored only: the two heads of BERT's pre-training, used to fill masks; and the
# search of starts and ends of XLNet, used to answer questions.
PRETRAINING = "pretraining"
ANSWER_BEAM = "answer_beam"


@dataclasses.dataclass(frozen=True)
class Head:
  """A head: how checkpoints store it.

  Attributes:
    name: str, one of the above.
    prefixes: tuple of str, beginnings of the names of its weights, all of which
      there must be.
    architecture: str, end of the name of the class in `transformers`.
    has_pooler: bool, whether that class has a pooler; None if families differ.
    num_rows: int, of the classifier's matrix, or None if it is any other.
    problem_type: str, what else config.json must say, or None.
  """

  name: str
  prefixes: tuple[str, ...]
  architecture: str
  has_pooler: bool | None = False
  num_rows: int | None = None
  problem_type: str | None = None


# Where the weights fit several, the first that fits is taken, so that what was
# trained last comes first.
HEADS = {
  head.name: head
  for head in (
    Head(REGRESSION, ("classifier/",), "ForSequenceClassification", True, 1),
    Head(CLASSIFICATION, ("classifier/",), "ForSequenceClassification", True),
    Head(
      MULTI_LABEL,
      ("classifier/",),
      "ForSequenceClassification",
      True,
      problem_type="multi_label_classification",
    ),
    Head(TOKEN_CLASSIFICATION, ("classifier/",), "ForTokenClassification"),
    Head(MULTIPLE_CHOICE, ("classifier/",), "ForMultipleChoice", True, 1),
    Head(ANSWER_BEAM, ("cls/beam/",), "ForQuestionAnswering"),
    Head(QUESTION_ANSWERING, ("cls/squad/",), "ForQuestionAnswering"),
    Head(REPLACED_TOKENS, ("discriminator_predictions/",), "ForPreTraining"),
    Head(
      PRETRAINING,
      ("cls/predictions/", "cls/seq_relationship/"),
      "ForPreTraining",
      None,
    ),
    Head(TEXT_TO_TEXT, ("bert/decoder/",), "ForConditionalGeneration"),
    Head(FILL_MASK, ("cls/predictions/",), "ForMaskedLM"),
    Head(ENCODER, (), "Model", None),
  )
}
# Which of these a classifier is for, its weights do not show.
CLASSIFIERS = (
  CLASSIFICATION,
  MULTI_LABEL,
  REGRESSION,
  TOKEN_CLASSIFICATION,
  MULTIPLE_CHOICE,
)
# {head that is only stored: the head that a model with it is used as}.
USES = {
  PRETRAINING: FILL_MASK,
  ANSWER_BEAM: QUESTION_ANSWERING,
  TEXT_TO_TEXT: GENERATION,
}
# {use that an export must be told: the head of the models that have it}.
MADE_OF = {ZERO_SHOT: CLASSIFICATION}
# Heads that are used as they are stored, whatever that use is called.
KEPT = (ANSWER_BEAM, TEXT_TO_TEXT)
# Heads of pre-training and of vectors, which answer no labelled task.
UNTRAINED = (FILL_MASK, REPLACED_TOKENS, ENCODER, SPARSE, LATE)
# Heads that a SavedModel can be made of.
SERVED = (
  *(name for name in HEADS if name not in USES),
  SPARSE,
  LATE,
  GENERATION,
  *MADE_OF,
)
