"""The folder of sentence-transformers that a run of text vectors leaves."""

import dataclasses
import shutil

from absl import logging

from keras_bert_impl import files, heads
from keras_bert_impl.model_folders import trained_models
from keras_bert_impl.runs.fine_tuning import kind
from keras_bert_impl.sentences import folder_models, folders

NAMES = {
  heads.ENCODER: "sentence_encoder",
  heads.SPARSE: "sparse_encoder",
  heads.LATE: "multi_vector_encoder",
  heads.STATIC: "static_encoder",
}


def write(run):
  """Writes the model of a run with its tokenizer, pooling and prompts.

  Args:
    run: `fine_tuning_run.Run` of an `EmbeddingTask`, trained.
  """
  task = run.fine_tuning.task
  name = NAMES[task.head]
  folder = run.folder.join(name)
  if files.is_folder(folder):
    shutil.rmtree(folder)
  model = run.experiment.model
  if run.experiment.config.lora_rank:  # Read again, adapters are merged.
    model = trained_models.load(run.output_dir, [kind.of_task(task)]).model
  try:
    with files.new_folder(folder) as path:
      folder_models.write(
        path, model, texts_of(run), run.data.vocabulary, run.data.options
      )
  except ValueError as error:
    # The checkpoints say all that is needed here.
    logging.warning("%s is not written: %s", folder, error)
    return
  run.folder.artifacts[name.replace("_", " ")] = folder


def texts_of(run):
  """Returns the `folders.Texts` of a run: as it began, with its own prompts."""
  preprocessor = run.fine_tuning.preprocessor
  start, texts = run.experiment.config.init_checkpoint, folders.Texts()
  if start and folders.is_one(start):
    texts = folders.read(start).texts
  prompts = texts.prompts | {
    "query": preprocessor.query_prompt,
    "document": preprocessor.document_prompt,
  }
  longest = preprocessor.max_seq_length
  if not preprocessor.frames_texts:  # A table reads texts of any length.
    longest = texts.max_seq_length
  return dataclasses.replace(
    texts,
    max_seq_length=longest,
    do_lower_case=preprocessor.do_lower_case,
    prompts=prompts if texts.prompts or any(prompts.values()) else {},
    late=preprocessor.late,
  )
