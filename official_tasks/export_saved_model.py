r"""Writes a trained model as a SavedModel that TF Serving takes as it is.

    python official_tasks/export_saved_model.py --checkpoint_dir=mrpc \
      --export_dir=served/mrpc

    ... --checkpoint_dir=uncased_L-12_H-768_A-12 --pooling=cls --normalize
                                            vectors of texts
    ... --checkpoint_dir=uncased_L-12_H-768_A-12 --head=fill_mask

--checkpoint_dir is the output_dir of a run_*.py, which knows what it was
trained for and how, or any other checkpoint. What is written takes raw strings
and needs neither this library nor the vocabulary any more. Each call adds a
version: served/mrpc/1, served/mrpc/2, ...

To try it out: python official_tasks/serve.py --model_dir=served/mrpc
"""

import dataclasses
import functools
import os

from absl import logging
from etils import epy

from keras_bert_impl import choices, files, options
from keras_bert_impl.checkpoints import names
from official_tasks.command_line import common
from official_tasks.model_folders import files as model_files
from official_tasks.model_folders import trained as trained_models

with epy.lazy_imports():
  from keras_bert_impl import tokenizers
  from keras_bert_impl.serving import (
    classification,
    encoder,
    export,
    fill_mask,
    multiple_choice,
    question_answering,
    replaced_tokens,
    token_classification,
  )
  from keras_bert_impl.training import report
  from tfrecords.labelled import classification_data

# Arguments that are not called as their flags.
_RENAMED = {"null_score_diff_threshold": "null_threshold"}


@dataclasses.dataclass(frozen=True)
class ExportConfig(model_files.ModelFilesConfig):
  """What is exported, and how it is to answer.

  Raises:
    ValueError: a value is out of range.
  """

  checkpoint_dir: str = dataclasses.field(
    metadata={
      "help": "output_dir of a run_*.py or of a search, or a checkpoint: a"
      " folder of safetensors, a prefix such as bert_model.ckpt, ..."
    }
  )
  export_dir: str = dataclasses.field(
    metadata={"help": "Folder of the versions; a new one is added."}
  )
  head: str | None = options.common(
    None,
    "What the model is to be used for; default: what it was trained for.",
    trained_models.HEADS,
  )
  max_seq_length: int | None = options.common(
    None,
    "Most tokens of a text or pair; default: as it was trained, or as many as"
    " the model takes.",
  )
  labels: str | None = options.common(
    None,
    "Names of the classes, comma-separated, in the order of the model; default:"
    " those it was trained with.",
  )
  text_pairs: bool | None = options.field(
    None,
    "Whether a classifier takes pairs of texts; default: as it was trained.",
  )
  pooling: str | None = options.common(
    None,
    "Vector of a text (encoder): that of [CLS], the mean of all tokens (the"
    " default), or the pooler's.",
    choices.POOLINGS,
  )
  normalize: bool | None = options.field(
    None, "Whether vectors of texts (encoder) have length 1; default: not."
  )
  top_k: int | None = options.field(
    None, "Tokens for each mask (fill_mask); default: 5."
  )
  doc_stride: int | None = options.field(
    None,
    "Tokens from one window of a long text to the next; default: as trained.",
  )
  max_query_length: int | None = options.field(
    None, "Most tokens of a question; default: as trained."
  )
  max_answer_length: int | None = options.field(
    None, "Most tokens of an answer; default: as trained."
  )
  null_score_diff_threshold: float | None = options.field(
    None,
    "No answer where its score is so far above that of the best one; default:"
    " what the run found best, and of a model that must answer, never.",
  )
  max_windows: int | None = options.field(
    None, "Windows of a long text that are read; default: 32."
  )
  weights_dtype: str = options.common(
    "float32",
    "How weights are stored; bfloat16 and float16 take half the space.",
    choices.WEIGHTS_DTYPES,
  )
  model_name: str | None = options.field(
    None, "What clients call the model; default: the name of export_dir."
  )

  def __post_init__(self):
    if self.max_seq_length is not None and self.max_seq_length < 1:
      raise ValueError(
        f"max_seq_length ({self.max_seq_length}) must be positive."
      )


common.define_flags(ExportConfig)


@functools.cache
def _servables():
  """Returns {head: (what serves it, what that is told besides the model)}."""
  return {
    trained_models.CLASSIFICATION: (
      classification.ClassificationServable,
      ("labels", "text_pairs", "label_names"),
    ),
    trained_models.REGRESSION: (
      classification.RegressionServable,
      ("text_pairs",),
    ),
    names.MULTIPLE_CHOICE: (multiple_choice.MultipleChoiceServable, ()),
    names.QUESTION_ANSWERING: (
      question_answering.QuestionAnsweringServable,
      (
        "doc_stride",
        "max_query_length",
        "max_answer_length",
        "null_score_diff_threshold",
        "max_windows",
      ),
    ),
    names.TOKEN_CLASSIFICATION: (
      token_classification.TokenClassificationServable,
      ("labels", "token_unit", "doc_stride", "max_windows"),
    ),
    trained_models.FILL_MASK: (fill_mask.FillMaskServable, ("top_k",)),
    trained_models.ENCODER: (
      encoder.EncoderServable,
      ("pooling", "normalize"),
    ),
    names.REPLACED_TOKENS: (replaced_tokens.ReplacedTokensServable, ()),
  }


def main():
  """Reads the model, writes it and says where."""
  config = common.from_flags(ExportConfig)
  logging.set_verbosity(logging.WARNING)  # Saving logs each renamed input.
  export.check_folder(config.export_dir)
  path = trained_models.find_folder(config.checkpoint_dir)
  trained = trained_models.load(path, config.head)
  servable = _servable(config, path, trained)
  version_dir = export.export(
    servable, config.export_dir, config.model_name, config.weights_dtype
  )
  _report(config, trained, servable, version_dir)


def _servable(config, path, trained):
  """Returns the servable of a `TrainedModel`."""
  make, options = _servables()[trained.head]
  recorded = trained.recorded
  max_seq_length = config.max_seq_length or recorded.get("max_seq_length")
  files = model_files.find(config, path, max_seq_length or 1)
  tokenizer = tokenizers.load(
    files.vocabulary_path, **vars(files.tokenizer_options)
  )
  return make(
    trained.model,
    tokenizer,
    max_seq_length or files.encoder_config.max_sequence_length,
    **_arguments(config, trained, options),
  )


def _arguments(config, trained, options):
  """Returns {name: value} of what flags and training say of `options`.

  Raises:
    ValueError: a flag is for another head, or something must be said.
  """
  every = {name for _, some in _servables().values() for name in some}
  given = {
    name: getattr(config, name)
    for name in sorted(every)
    if getattr(config, name, None) is not None  # Some are no flags.
  }
  if isinstance(given.get("labels"), str):
    given["labels"] = tuple(common.split_names(given["labels"]))
  for name in given:
    if name not in options:
      raise ValueError(f"--{name} is not for --head={trained.head}.")
  recorded = {
    name: trained.recorded[name]
    for name in options
    if trained.recorded.get(name) is not None
  }
  arguments = recorded | given
  if "text_pairs" in options and "text_pairs" not in arguments:
    raise ValueError(
      f"{trained.path} does not say whether it was trained on pairs of texts:"
      " give --text_pairs or --notext_pairs."
    )
  if "labels" in options and "labels" not in arguments:
    num_classes = trained.model.output["logits"].shape[-1]
    arguments["labels"] = tuple(f"LABEL_{i}" for i in range(num_classes))
  if "label_names" in options:
    task_name = trained.recorded.get("task_name")
    arguments["label_names"] = classification_data.label_names(task_name)
  return {_RENAMED.get(name, name): v for name, v in arguments.items()}


def _report(config, trained, servable, version_dir):
  """Prints and writes what came out."""
  described = servable.describe()
  results = {
    "checkpoint": trained.path,
    "version_dir": version_dir,
    "model": described,
    "signatures": sorted(servable.signatures),
    "configuration": dataclasses.asdict(config),
    "versions": report.versions(),
  }
  files.write_json(
    os.path.join(config.export_dir, report.RESULTS_NAME), results
  )
  rows = [
    (name, ", ".join(value) if isinstance(value, list) else str(value))
    for name, value in (
      described | {"signatures": results["signatures"]}
    ).items()
    if value is not None
  ]
  width = max(len(name) for name, _ in rows)
  for name, value in rows:
    print(f"{name:<{width}}  {value}")
  print(version_dir)


if __name__ == "__main__":
  common.run(main)
