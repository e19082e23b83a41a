"""Kinds of tasks, each in a package of its own; this is their one table.

  texts       classes, scores or several labels of texts and pairs
  tags        named entities, other spans, parts of speech
  answers     spans of a text that answer questions
  choices     continuations and answers to choose among
  embeddings  vectors of texts: dense, sparse, of each token, static
  reranking   documents put in order for a query
  fill_mask   what the heads of pre-training say of texts
  multi_task  several of texts and tags on one encoder

A package has the options of its kind, its files of examples and their splits,
rows, task, scores, servable and class for Python. `<name>_kind.KIND` names them
for the machinery below, which knows no kind by name: `runs`, `model_folders`,
`serving` and `estimators`.
"""

import functools

from etils import epy

from keras_bert_impl import options

with epy.lazy_imports():
  from keras_bert_impl.kinds.answers import answer_options, question_answerer
  from keras_bert_impl.kinds.choices import choice_answerer
  from keras_bert_impl.kinds.embeddings import embedding_trainer
  from keras_bert_impl.kinds.embeddings.tasks import embedding_options
  from keras_bert_impl.kinds.fill_mask import fill_mask_options, mask_filling
  from keras_bert_impl.kinds.multi_task import multi_task_kind
  from keras_bert_impl.kinds.reranking import reranker
  from keras_bert_impl.kinds.tags import tag_options, token_tagger
  from keras_bert_impl.kinds.texts import text_classifier, text_options


@functools.cache
def doors():
  """Returns the classes that answer and are trained from Python, tuple."""
  return (
    text_classifier.TextClassifier,
    token_tagger.TokenTagger,
    question_answerer.QuestionAnswerer,
    choice_answerer.ChoiceAnswerer,
    embedding_trainer.EmbeddingTrainer,
    mask_filling.FillMask,
    reranker.Reranker,
  )


@functools.cache
def serving_options():
  """Returns the dataclass of the options of all servables, flags of an export.

  It needs the standard library only.
  """
  return options.joined(
    "ServingOptions",
    "Options of the served model.",
    text_options.TextServing,
    tag_options.TagServing,
    answer_options.AnswerServing,
    fill_mask_options.FillMaskServing,
    embedding_options.SparseServing,
    embedding_options.EncoderServing,
  )


def all_kinds():
  """Returns the `Kind`s, tuple; a head is that of the first which has it."""
  return (*(door.kind for door in doors()), multi_task_kind.KIND)


def servables():
  """Returns {head: class of its `Servable`}, of all kinds."""
  return {h: x for kind in all_kinds()[::-1] for h, x in kind.servables.items()}


def scorers():
  """Returns {head: class of `doors` that scores what a model says of rows}."""
  return {head: door for door in doors() for head in door.kind.scored}
