"""Vectors of texts: the kind, whole."""

import keras

from keras_bert_impl import heads
from keras_bert_impl.kinds.embeddings import (
  embedding_data,
  sentence_folder,
  vector_options,
)
from keras_bert_impl.kinds.embeddings.servables import (
  late_vectors,
  sparse_vectors,
  static_vectors,
  text_vectors,
)
from keras_bert_impl.kinds.embeddings.tasks import (
  embedding_options,
  embedding_rows,
  embedding_scores,
  embedding_task,
  late_task,
  sparse_task,
)
from keras_bert_impl.runs.fine_tuning import kind
from keras_bert_impl.sentences import folders, modules
from keras_bert_impl.tasks.basics import fine_tuning, vector_losses

# Rows and task of each kind of vectors.
_ROWS, _LATE_ROWS = (
  embedding_rows.EmbeddingPreprocessor,
  late_task.LatePreprocessor,
)
_OF_VECTORS = {
  embedding_options.DENSE: (_ROWS, embedding_task.EmbeddingTask),
  embedding_options.SPARSE: (_ROWS, sparse_task.SparseEmbeddingTask),
  embedding_options.LATE: (_LATE_ROWS, late_task.LateInteractionTask),
  heads.STATIC: (_ROWS, embedding_task.StaticEmbeddingTask),
}


def make_parts(run, splits, options):
  """Returns the `FineTuning` of text vectors.

  Pooling, layers and prompts are those of the folder of sentence-transformers
  to start from, or of the run to go on with.

  Args:
    run: `job.Job`.
    splits: {split: list of `EmbeddingExample`}.
    options: `embedding_options.EmbeddingOptions`.

  Raises:
    ValueError: the examples are not those of the loss.
  """
  folder = folders.Folder("")
  if run.init_checkpoint:
    folder = folders.read(run.init_checkpoint)
  known = run.described_task(KIND)
  chosen = vector_options.kind(folder, known, options)
  if chosen == embedding_options.DENSE:
    vectors = _pooling(run.encoder_config, folder, known, options.pooling)
  else:
    vectors = vector_options.of_task(
      chosen, run.encoder_config, folder, known, options
    )
  make_rows, task_class = _OF_VECTORS[chosen]
  preprocessor = make_rows(
    run.settings.max_seq_length,
    include_prompt=vectors.get("include_prompt", True),
    do_lower_case=known.get("do_lower_case", folder.texts.do_lower_case),
    frames_texts=chosen != heads.STATIC,
    **vector_options.of_rows(chosen, folder, known, options),
  )
  training = splits.get("train", ())
  if training:
    loss = vector_losses.LOSSES[options.loss]
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
  evaluator = make_evaluator(scored, task.similarity)
  return fine_tuning.FineTuning(
    preprocessor, task, evaluator, sentence_folder.write
  )


def make_evaluator(examples, similarity="cosine"):
  """Returns the evaluator of examples: of scores where they have any.

  Args:
    examples: list of `EmbeddingExample`.
    similarity: str, of `embedding_scores.SIMILARITIES`, or
      `vector_losses.MAX_SIM`.

  Raises:
    ValueError: some have a score, others not; or late interaction gets scores.
  """
  scored = [example for example in examples if example.score is not None]
  if not scored:
    embedding_data.check_relevant(examples)
  if not scored and similarity == vector_losses.MAX_SIM:
    return late_task.LateRetrievalEvaluator()
  if not scored:
    return embedding_scores.RetrievalEvaluator(similarity=similarity)
  if similarity == vector_losses.MAX_SIM:
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


def _widths(widths):
  """Returns the widths of --matryoshka_widths, tuple of int."""
  for width in widths or ():
    if width < 1:
      raise ValueError(
        f"matryoshka_widths ({widths!r}) must be integers above 0, such as"
        " 64,128,256."
      )
  return widths or ()


KIND = kind.Kind(
  "embeddings",
  tasks={
    heads.ENCODER: embedding_task.EmbeddingTask,
    heads.SPARSE: sparse_task.SparseEmbeddingTask,
    heads.LATE: late_task.LateInteractionTask,
  },
  servables={
    heads.ENCODER: text_vectors.EncoderServable,
    heads.SPARSE: sparse_vectors.SparseServable,
    heads.LATE: late_vectors.LateInteractionServable,
    heads.STATIC: static_vectors.StaticServable,
  },
  options=embedding_options.EmbeddingOptions,
  described=(_ROWS, _LATE_ROWS),
  scored=(heads.ENCODER,),
)
