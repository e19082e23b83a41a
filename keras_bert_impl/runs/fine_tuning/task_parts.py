"""The three parts of each fine-tuning task, for scripts and estimators."""

import itertools

import keras
from absl import logging

from keras_bert_impl import heads
from keras_bert_impl.checkpoints import reading
from keras_bert_impl.metrics import tagging
from keras_bert_impl.runs.fine_tuning import vector_options
from keras_bert_impl.runs.labelled_data import (
  tag_splits,
  task_options,
  text_splits,
)
from keras_bert_impl.sentences import folders, modules
from keras_bert_impl.tasks import multi_task
from keras_bert_impl.tasks.answers import (
  question_answering,
  question_answering_rows,
  question_answering_scores,
)
from keras_bert_impl.tasks.basics import example_types, fine_tuning
from keras_bert_impl.tasks.embeddings import (
  embedding_rows,
  embedding_scores,
  embedding_task,
  late_task,
  losses,
  reranking,
  sparse_task,
)
from keras_bert_impl.tasks.tags import (
  token_classification,
  token_classification_rows,
  token_classification_scores,
)
from keras_bert_impl.tasks.texts import multi_label as multi_label_parts
from keras_bert_impl.tasks.texts import (
  multiple_choice,
  sequence_classification,
  sequence_regression,
  text_rows,
  text_scores,
)
from tfrecords.labelled import (
  choice_data,
  classification_data,
  embedding_data,
)

# Rows and task of each kind of text vectors.
_ROWS, _LATE_ROWS = (
  embedding_rows.EmbeddingPreprocessor,
  late_task.LatePreprocessor,
)
_OF_VECTORS = {
  task_options.DENSE: (_ROWS, embedding_task.EmbeddingTask),
  task_options.SPARSE: (_ROWS, sparse_task.SparseEmbeddingTask),
  task_options.LATE: (_LATE_ROWS, late_task.LateInteractionTask),
  heads.STATIC: (_ROWS, embedding_task.StaticEmbeddingTask),
}
# Layers that each approach to tags reads, if none are given.
_FEATURES = {
  "fine_tuning": None,
  "features": "concat_last_four",
  "fine_tuning_bilstm": "last",
}


def of_texts(
  run,
  splits,
  labels,
  metrics,
  submissions=None,
  bilstm_width=None,
  multi_label=False,
  class_weight=None,
):
  """Returns the `FineTuning` of classes or, where `labels` is None, scores.

  Args:
    run: `job.Job`.
    splits: {split: list of `TextExample`}.
    labels: tuple of str, or None.
    metrics: as `text_scores.ValueEvaluator`.
    submissions: the same.
    bilstm_width: as `models.SequenceClassifier`.
    multi_label: bool, whether a text may have several labels.
    class_weight: str, as of `TextOptions`; the examples to train on get them.
  """
  if class_weight:
    of_classes = labels if labels and not multi_label else ()
    weights = text_splits.class_weights(class_weight, of_classes)
    splits["train"] = [
      example_types.WeightedTextExample.of(each, weights.get(each.label, 1.0))
      for each in splits.get("train", ())
    ]
  rows_class = text_rows.TextPreprocessor
  if multi_label:
    rows_class = multi_label_parts.MultiLabelPreprocessor
  preprocessor = rows_class(
    run.settings.max_seq_length,
    labels,
    classification_data.are_pairs(splits),
    any(hasattr(example, "weight") for example in splits.get("train", ())),
  )
  if multi_label:
    task = multi_label_parts.MultiLabelTask(
      run.encoder_config, labels, bilstm_width
    )
    evaluator = multi_label_parts.MultiLabelEvaluator(labels, metrics)
  elif labels is None:
    task = sequence_regression.SequenceRegressionTask(
      run.encoder_config,
      bilstm_width,
      classification_data.mean_score(splits.get("train", ())),
    )
    evaluator = text_scores.NumberEvaluator(metrics, submissions or {})
  else:
    task = sequence_classification.SequenceClassificationTask(
      run.encoder_config, labels, bilstm_width
    )
    evaluator = text_scores.ClassEvaluator(labels, metrics, submissions or {})
  return fine_tuning.FineTuning(preprocessor, task, evaluator)


def of_several(run, parts, **training):
  """Returns the `FineTuning` of several tasks.

  Args:
    run: `job.Job`.
    parts: {task: `FineTuning` of texts or tags}.
    **training: weights, size_exponent and shares, as of `multi_task.MultiTask`.
  """
  tasks = {name: part.task for name, part in parts.items()}
  return fine_tuning.FineTuning(
    multi_task.MultiTaskPreprocessor(
      run.settings.max_seq_length,
      {name: part.preprocessor for name, part in parts.items()},
    ),
    multi_task.MultiTask(run.encoder_config, tasks, **training),
    multi_task.MultiTaskEvaluator(
      {name: part.evaluator for name, part in parts.items()}
    ),
  )


def of_tags(run, splits, options, known=None):
  """Returns the `FineTuning` of tags.

  Labels and scheme are those of the training data or, without these, of the
  trained model.

  Args:
    run: `job.Job`.
    splits: {split: list of `TaggedSentence`}.
    options: `task_options.TagOptions`.
    known: {option: JSON value} of the trained model's task; default: the run's.

  Raises:
    ValueError: neither data nor a model name the labels.
  """
  labels, tag_scheme = _labels_and_scheme(
    run, splits, options.tag_scheme, known or run.described_task()
  )
  preprocessor = token_classification_rows.TagPreprocessor(
    run.settings.max_seq_length,
    labels,
    options.context,
    options.doc_stride,
    options.token_unit,
    tag_scheme,
  )
  task = token_classification.TokenClassificationTask(
    run.encoder_config,
    labels,
    options.approach,
    options.features or _FEATURES[options.approach],
    options.lstm_width,
    options.use_crf,
  )
  evaluator = token_classification_scores.make_evaluator(labels, tag_scheme)
  return fine_tuning.FineTuning(preprocessor, task, evaluator)


def of_questions(run, options):
  """Returns the `FineTuning` of questions.

  Args:
    run: `job.Job`.
    options: `task_options.QuestionOptions`.

  Raises:
    ValueError: the head does not fit the model or another option.
  """
  preprocessor = question_answering_rows.QuestionPreprocessor(
    run.settings.max_seq_length,
    options.doc_stride,
    options.max_query_length,
    options.version_2_with_negative,
    options.answer_rules,
  )
  evaluator = question_answering_scores.AnswerEvaluator(
    options.version_2_with_negative,
    options.null_score_diff_threshold,
    options.n_best_size,
    options.max_answer_length,
    options.answer_rules,
  )
  return fine_tuning.FineTuning(
    preprocessor, _question_task(run, options), evaluator
  )


def of_choices(run, splits):
  """Returns the `FineTuning` of choices.

  Args:
    run: `job.Job`.
    splits: {split: list of `MultipleChoiceExample`}.

  Raises:
    ValueError: as `choice_data.count_choices`.
  """
  number = choice_data.count_choices([*itertools.chain(*splits.values())])
  logging.info("Each example has %d choices.", number)
  return fine_tuning.FineTuning(
    multiple_choice.ChoicePreprocessor(run.settings.max_seq_length, number),
    multiple_choice.MultipleChoiceTask(run.encoder_config, number),
    multiple_choice.ChoiceEvaluator(),
  )


def of_rankings(run, splits, options):
  """Returns the `FineTuning` of queries and their documents.

  Args:
    run: `job.Job`.
    splits: {split: list of `RankingExample`}; all of training have as many
      documents.
    options: `task_options.RerankingOptions`.

  Raises:
    ValueError: they have not, or have one alone; names file and row.
  """
  training = splits.get("train", ())
  number = run.described_task().get("num_choices", 8)
  if training:
    number = len(training[0].documents)
  for example in training:
    if len(example.documents) != number or number < 2:
      raise ValueError(
        f"{example.origin} has {len(example.documents)} documents, but all"
        f" queries to train on must have {max(number, 2)}, a positive and"
        " negatives: give them, or --mine."
      )
  return fine_tuning.FineTuning(
    reranking.RerankingPreprocessor(run.settings.max_seq_length, number),
    reranking.RerankingTask(run.encoder_config, options.ranking_loss),
    reranking.RerankingEvaluator(),
  )


def of_embeddings(run, splits, options):
  """Returns the `FineTuning` of text vectors.

  Pooling, layers and prompts are those of the folder of sentence-transformers
  to start from, or of the run to go on with.

  Args:
    run: `job.Job`.
    splits: {split: list of `EmbeddingExample`}.
    options: `task_options.EmbeddingOptions`.

  Raises:
    ValueError: the examples are not those of the loss.
  """
  folder = folders.Folder("")
  if run.init_checkpoint:
    folder = folders.read(run.init_checkpoint)
  known = run.described_task()
  kind = vector_options.kind(folder, known, options)
  if kind == task_options.DENSE:
    vectors = _pooling(run.encoder_config, folder, known, options.pooling)
  else:
    vectors = vector_options.of_task(
      kind, run.encoder_config, folder, known, options
    )
  make_rows, task_class = _OF_VECTORS[kind]
  preprocessor = make_rows(
    run.settings.max_seq_length,
    include_prompt=vectors.get("include_prompt", True),
    do_lower_case=known.get("do_lower_case", folder.texts.do_lower_case),
    frames_texts=kind != heads.STATIC,
    **vector_options.of_rows(kind, folder, known, options),
  )
  training = splits.get("train", ())
  if training:
    loss = losses.LOSSES[options.loss]
    training = embedding_data.check_training(training, loss, options.loss)
    splits["train"] = training
  if options.temperature is not None:
    vectors["temperature"] = options.temperature
  task = task_class(
    run.encoder_config,
    len(training[0].texts) if training else 2,
    options.loss,
    both_ways=options.both_ways,
    margin=options.margin,
    widths=_widths(options.matryoshka_widths),
    chunk_size=options.chunk_size,
    **vectors,
  )
  scored = [e for k, found in splits.items() if k != "train" for e in found]
  evaluator = embedding_evaluator(scored, task.similarity)
  return fine_tuning.FineTuning(preprocessor, task, evaluator)


def embedding_evaluator(examples, similarity="cosine"):
  """Returns the evaluator of examples: of scores where they have any.

  Args:
    examples: list of `EmbeddingExample`.
    similarity: str, of `embedding_scores.SIMILARITIES`, or `losses.MAX_SIM`.

  Raises:
    ValueError: some have a score, others not; or late interaction gets scores.
  """
  scored = [example for example in examples if example.score is not None]
  if not scored:
    embedding_data.check_relevant(examples)
  if not scored and similarity == losses.MAX_SIM:
    return late_task.LateRetrievalEvaluator()
  if not scored:
    return embedding_scores.RetrievalEvaluator(similarity=similarity)
  if similarity == losses.MAX_SIM:
    raise ValueError(
      f"{scored[0].origin} has a score, but late interaction finds documents:"
      " leave the column of scores out."
    )
  for example in examples:
    if example.score is None or len(example.texts) != 2:
      raise ValueError(
        f"{example.origin} must have two texts and a score, like"
        f" {scored[0].origin}."
      )
  return embedding_scores.LikenessEvaluator(similarity=similarity)


def _pooling(config, folder, known, pooling):
  """Returns the fields of `EmbeddingTask` that say what a vector is."""
  modes, include_prompt, layers = modules.read(
    folder.modules, config.hidden_size
  )
  found = {
    "pooling": modes,
    "include_prompt": include_prompt,
    "final_layers": tuple(map(keras.saving.serialize_keras_object, layers)),
    # Of a run that goes on, too: it may not have a checkpoint yet.
    "final_weights": {
      weight.path: keras.ops.convert_to_numpy(weight)
      for layer in layers
      for weight in layer.weights
    },
  }
  known = {name: known[name] for name in found if name in known}
  return _pooled(_pooled(found, pooling) | known, pooling)


def _pooled(found, pooling):
  """Returns the fields of `_pooling` with another pooling, if one is given."""
  if not pooling or (pooling,) == tuple(found["pooling"]):
    return found
  without = {"final_layers": (), "final_weights": {}}
  return found | {"pooling": (pooling,)} | without


def _widths(text):
  """Returns the widths of --matryoshka_widths, tuple of int."""
  given = [name.strip() for name in (text or "").split(",") if name.strip()]
  for width in given:
    if not width.isdecimal() or not int(width):
      raise ValueError(
        f"matryoshka_widths ({text!r}) must be integers above 0, separated by"
        " commas, such as 64,128,256."
      )
  return tuple(map(int, given))


def _labels_and_scheme(run, splits, tag_scheme, known):
  """Returns labels and scheme of the training data, or of the trained model."""
  if "train" in splits:
    sentences = splits["train"]
    if tag_scheme is None:
      tag_scheme = tagging.detect_scheme(s.tags for s in sentences)
      logging.info("The tags are %s.", tag_scheme)
    labels = token_classification_rows.labels_of(sentences, tag_scheme)
    return labels, tag_scheme
  if known.get("labels") and known.get("tag_scheme"):
    return tuple(known["labels"]), known["tag_scheme"]
  labels = tag_splits.labels_of_checkpoint(run.init_checkpoint, tag_scheme)
  if labels:
    return labels, tag_scheme or tagging.scheme_of_labels(labels)
  raise ValueError(
    f"output_dir ({run.output_dir}) has no run of this script that names the"
    " labels: train with --do_train, or give the output_dir of a run."
  )


def _question_task(run, options):
  """Returns the task of the head for questions.

  It is the one that is asked for, that of the run or checkpoint to go on with,
  or the beam for XLNet and the simple one for others.
  """
  config, known = run.encoder_config, _known_answer_head(run)
  width = options.bilstm_width
  head = task_options.ANSWER_HEADS.get(options.answer_head)
  if head is None:
    can_be_beam = config.family.framing.cls_at_end and width is None
    usual = heads.ANSWER_BEAM if can_be_beam else heads.QUESTION_ANSWERING
    stored = known.get("head")
    is_one = stored in task_options.ANSWER_HEADS.values()
    head = stored if is_one else usual
  if head == heads.QUESTION_ANSWERING:
    return question_answering.QuestionAnsweringTask(config, width)
  if width is not None:
    raise ValueError(
      f"bilstm_width ({width}) needs --answer_head=simple: give it, or leave"
      " the width out."
    )
  if run.settings.members:
    raise ValueError(
      "--ensemble_dirs averages the scores of all places, which a beam does not"
      " give: train the runs with --answer_head=simple."
    )
  wide = {n: known[n] for n in ("start_n_top", "end_n_top") if n in known}
  return question_answering.AnswerBeamTask(config, **wide)


def _known_answer_head(run):
  """Returns the head and its options of a run's task.json or a checkpoint."""
  task = run.described_task()
  if task or not run.init_checkpoint:
    return task
  description = reading.open_checkpoint(run.init_checkpoint).description
  if description is None:
    return {}
  return {**description.source, "head": description.head}
