r"""Exports a trained model for TF Serving, phones, browsers or ONNX Runtime.

    python official_tasks/export_saved_model.py --checkpoint_dir=mrpc \
      --export_dir=served/mrpc

    ... --checkpoint_dir=uncased_L-12_H-768_A-12 --pooling=cls --normalize
                                            vectors of texts
    ... --checkpoint_dir=uncased_L-12_H-768_A-12 --head=fill_mask
    ... --checkpoint_dir=mrpc --format=litert --weights_dtype=int8   (or onnx)

--checkpoint_dir is the output_dir of a run_*.py, which records what it was
trained for and how, a folder of sentence-transformers, which says how texts are
pooled, or any other checkpoint. The SavedModel takes raw strings
and needs neither this library nor the vocabulary. A LiteRT or ONNX file takes
ids; beside it are tokenizer.json and model.json. Each call adds a version:
served/mrpc/1, served/mrpc/2, ...

To try it out: python official_tasks/serve.py --model_dir=served/mrpc
"""

import dataclasses
import os

from absl import logging
from etils import epy

from keras_bert_impl import choices, files, heads, kinds, options
from keras_bert_impl.command_line import program
from keras_bert_impl.model_folders import model_files

with epy.lazy_imports():
  from keras_bert_impl.kinds import comparison, opening
  from keras_bert_impl.serving import export, signature_names
  from keras_bert_impl.serving.small import export as small
  from keras_bert_impl.training import run_results


@dataclasses.dataclass(frozen=True)
class ExportConfig(model_files.TrainedModelConfig):
  """Model, head and format of the export.

  Raises:
    ValueError: a value is out of range.
  """

  export_dir: str = options.required(
    "Folder of the model's versions; each export adds one."
  )
  format: str = options.common(
    choices.SAVED_MODEL,
    "What to write: a SavedModel, or the file of LiteRT or ONNX.",
    choices.FORMATS,
  )
  head: str | None = options.common(
    None,
    "Head to export; default: the head that was trained.",
    heads.SERVED,
  )
  max_seq_length: int | None = options.common(
    None,
    "Maximum tokens of a text or pair; default: as trained, or the model's"
    " maximum.",
    interval=options.SEQ_LENGTHS,
  )
  compute_dtype: str = options.common(
    "float32",
    "Dtype the model computes in; bfloat16 is faster where the processor has"
    " instructions for it.",
    choices.COMPUTE_DTYPES,
  )
  weights_dtype: str | None = options.field(
    None,
    "Dtype of the stored weights: bfloat16 (of a SavedModel), float16, or int8,"
    " in which LiteRT and ONNX compute too. Default: compute_dtype.",
    choices.WEIGHTS_DTYPES,
  )
  fixed_length: int | None = options.field(
    None,
    "Tokens of the only row that a LiteRT or ONNX file takes; default: any"
    " rows.",
    interval=options.SEQ_LENGTHS,
  )
  compare_with: str | None = options.field(
    None,
    "File of labelled examples to compare the export with the checkpoint on:"
    " size, time of one row of ids, and scores.",
  )
  compare_columns: str = options.field(
    "",
    "Columns of that file, comma-separated: of one text or two, then of the"
    " label; default: those that the task's script reads.",
  )
  signature_names: str = options.field(
    choices.GOOGLE,
    "Names of inputs and outputs of serving_default: google for raw strings,"
    " or transformers for token ids as its SavedModels took them; then the"
    " signature `text` takes the strings.",
    choices.NAMES,
  )
  model_name: str | None = options.field(
    None,
    "Name of the model for clients; default: the name of export_dir.",
    forbidden=options.URL_SEPARATORS,
  )

  def __post_init__(self):
    if self.compare_columns and not self.compare_with:
      raise ValueError(
        f"--compare_columns ({self.compare_columns}) needs --compare_with, the"
        " file that has them."
      )


program.define_flags(ExportConfig)
program.define_flags(kinds.serving_options())


def main():
  """Loads the model, exports it and prints where."""
  config = program.from_flags(ExportConfig)
  chosen = program.from_flags(kinds.serving_options())
  logging.set_verbosity(logging.WARNING)  # Saving logs each renamed input.
  export.check_folder(config.export_dir)
  form = small.check_form(
    {name: getattr(config, name) for name in small.OPTIONS}
  )
  servable, checkpoint = opening.make_servable(
    config,
    config.checkpoint_dir,
    config.head,
    config.max_seq_length,
    vars(chosen),
  )
  compared = None
  if config.compare_with:
    compared = comparison.Comparison(
      servable,
      config.checkpoint_dir,
      config.compare_with,
      config.format,
      program.split_names(config.compare_columns),
      **model_files.values(config),
    )
  version_dir = small.export_as(
    servable, config.export_dir, config.model_name, **form
  )
  if compared:
    compared.add(version_dir, config.weights_dtype)
  _report(config, chosen, checkpoint, servable, version_dir, compared)


def _report(config, chosen, checkpoint, servable, version_dir, compared):
  """Prints and writes the results."""
  described = servable.describe()
  results = {
    "checkpoint": checkpoint,
    "version_dir": version_dir,
    "model": described,
    "signatures": sorted(
      signature_names.definitions(servable, config.signature_names)
    )
    if config.format == choices.SAVED_MODEL
    else None,
    "comparison": compared and compared.results,
    "configuration": program.values(ExportConfig)
    | program.values(kinds.serving_options()),
    "versions": run_results.versions(),
  }
  files.write_json(
    os.path.join(config.export_dir, run_results.RESULTS_NAME), results
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
  if compared:
    print(f"\n{compared.table()}\n")
  print(version_dir)


if __name__ == "__main__":
  program.run(main)
