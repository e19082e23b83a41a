"""The folder of sentence-transformers that a run of text vectors leaves."""

import shutil

from absl import logging

from keras_bert_impl import files, heads
from keras_bert_impl.model_folders import run_folder
from keras_bert_impl.sentences import folder_models, folders

NAMES = {heads.ENCODER: "sentence_encoder", heads.SPARSE: "sparse_encoder"}


def write(run):
  """Writes the model of a run with its tokenizer, pooling and prompts.

  Args:
    run: `fine_tuning_run.Run` of an `EmbeddingTask`, trained.
  """
  preprocessor = run.fine_tuning.preprocessor
  name = NAMES[run.fine_tuning.task.head]
  folder = run.folder.join(name)
  prompts = {
    "query": preprocessor.query_prompt,
    "document": preprocessor.document_prompt,
  }
  texts = folders.Texts(
    preprocessor.max_seq_length,
    preprocessor.lowers_texts,
    prompts if any(prompts.values()) else {},
  )
  if files.is_folder(folder):
    shutil.rmtree(folder)
  try:
    with files.new_folder(folder) as path:
      folder_models.write(path, run.experiment.model, texts)
      run_folder.RunFolder(path).keep_model_files(
        run.experiment.model.config, run.data.vocabulary, run.data.options
      )
  except ValueError as error:
    # The checkpoints say all that is needed here.
    logging.warning("%s is not written: %s", folder, error)
    return
  run.folder.artifacts[name.replace("_", " ")] = folder
