"""Kinds of tasks, each in a package of its own; this is their one table.

  texts       classes, scores or several labels of texts and pairs
  tags        named entities, other spans, parts of speech
  answers     spans of a text that answer questions
  choices     continuations and answers to choose among
  embeddings  vectors of texts: dense, sparse, of each token, static
  reranking   documents put in order for a query
  fill_mask   what the heads of pre-training say of texts
  generation  texts that follow, or are written of, other texts
  multi_task  several of texts and tags on one encoder
  parsing     dependency trees of sentences
  coreference clusters of the mentions of documents
  zero_shot   labels that come with the texts

Beside them few_shot evaluates models of generation, of which it has no head.

A package has the options of its kind, its files of examples and their splits,
rows, task, scores, servable and class for Python. `<name>_kind.KIND` names them
for the machinery below, which knows no kind by name: `runs`, `model_folders`,
`serving` and `estimators`.
"""

import functools
from types import ModuleType
from typing import NamedTuple

from etils import epy

from keras_bert_impl import options

with epy.lazy_imports():
  from keras_bert_impl.kinds.answers import (
    answer_kind,
    answer_options,
    question_answerer,
  )
  from keras_bert_impl.kinds.choices import choice_answerer, choice_kind
  from keras_bert_impl.kinds.coreference import (
    coreference_kind,
    coreference_options,
    coreference_resolver,
  )
  from keras_bert_impl.kinds.embeddings import embedding_kind, embedding_trainer
  from keras_bert_impl.kinds.embeddings.encoders import (
    multi_vector_encoder,
    sentence_encoder,
    sparse_encoder,
    static_encoder,
  )
  from keras_bert_impl.kinds.embeddings.tasks import embedding_options
  from keras_bert_impl.kinds.fill_mask import (
    fill_mask_kind,
    fill_mask_options,
    mask_filling,
  )
  from keras_bert_impl.kinds.generation import (
    generation_kind,
    generation_options,
    text_generator,
  )
  from keras_bert_impl.kinds.multi_task import multi_task_kind
  from keras_bert_impl.kinds.parsing import (
    dependency_parser,
    parsing_kind,
    parsing_options,
  )
  from keras_bert_impl.kinds.reranking import reranker, reranking_kind
  from keras_bert_impl.kinds.tags import tag_kind, tag_options, token_tagger
  from keras_bert_impl.kinds.texts import (
    text_classifier,
    text_kind,
    text_options,
  )
  from keras_bert_impl.kinds.zero_shot import (
    zero_shot_classifier,
    zero_shot_kind,
    zero_shot_options,
  )


class _Row(NamedTuple):
  """A kind, as modules that are imported when they are used.

  Attributes:
    kind: that of its `KIND`.
    doors: {name of a class of `kb`: its module}.
    options: that of its `SERVING`, which needs the standard library only; None
      without such options.
  """

  kind: ModuleType
  doors: dict[str, ModuleType]
  options: ModuleType | None = None


_ENCODERS = {
  "SentenceEncoder": sentence_encoder,
  "SparseEncoder": sparse_encoder,
  "MultiVectorEncoder": multi_vector_encoder,
  "StaticEncoder": static_encoder,
}
# A head is that of the first kind which has it.
_TABLE = (
  _Row(text_kind, {"TextClassifier": text_classifier}, text_options),
  _Row(tag_kind, {"TokenTagger": token_tagger}, tag_options),
  _Row(answer_kind, {"QuestionAnswerer": question_answerer}, answer_options),
  _Row(choice_kind, {"ChoiceAnswerer": choice_answerer}),
  _Row(embedding_kind, _ENCODERS, embedding_options),
  _Row(fill_mask_kind, {"FillMask": mask_filling}, fill_mask_options),
  _Row(reranking_kind, {"Reranker": reranker}),
  _Row(multi_task_kind, {}),
  _Row(parsing_kind, {"DependencyParser": dependency_parser}, parsing_options),
  _Row(
    coreference_kind,
    {"CoreferenceResolver": coreference_resolver},
    coreference_options,
  ),
  _Row(generation_kind, {"TextGenerator": text_generator}, generation_options),
  _Row(
    zero_shot_kind,
    {"ZeroShotClassifier": zero_shot_classifier},
    zero_shot_options,
  ),
)
# {name of a class of `kb`: its module}.
DOORS = {name: at for row in _TABLE for name, at in row.doors.items()}


def all_kinds():
  """Returns the `Kind`s, tuple."""
  return tuple(row.kind.KIND for row in _TABLE)


def servables():
  """Returns {head: class of its `Servable`}, of all kinds."""
  return {h: x for kind in all_kinds()[::-1] for h, x in kind.servables.items()}


def scorers():
  """Returns {head: estimator that scores what a model says of rows}."""
  classes = [getattr(at, name) for name, at in DOORS.items()]
  classes.append(embedding_trainer.VectorScorer)
  return {
    head: one
    for one in classes
    for head in (one.kind.scored if hasattr(one, "kind") else ())
  }


@functools.cache
def serving_options():
  """Returns the dataclass of the options of all servables, flags of an export.

  It needs the standard library only.
  """
  of_kinds = [row.options.SERVING for row in _TABLE if row.options is not None]
  return options.joined(
    "ServingOptions", "Options of the served model.", *sum(of_kinds, ())
  )
