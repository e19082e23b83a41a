r"""Exports a trained model as a SavedModel for TF Serving.

    python official_tasks/export_saved_model.py --checkpoint_dir=mrpc \
      --export_dir=served/mrpc

    ... --checkpoint_dir=uncased_L-12_H-768_A-12 --pooling=cls --normalize
                                            vectors of texts
    ... --checkpoint_dir=uncased_L-12_H-768_A-12 --head=fill_mask

--checkpoint_dir is the output_dir of a run_*.py, which records what it was
trained for and how, a folder of sentence-transformers, which says how texts are
pooled, or any other checkpoint. The SavedModel takes raw strings
and needs neither this library nor the vocabulary. Each call adds a version:
served/mrpc/1, served/mrpc/2, ...

To try it out: python official_tasks/serve.py --model_dir=served/mrpc
"""

import dataclasses
import os

from absl import logging
from etils import epy

from keras_bert_impl import choices, files, heads, options
from keras_bert_impl.command_line import program
from keras_bert_impl.model_folders import model_files
from keras_bert_impl.serving import servable_options

with epy.lazy_imports():
  from keras_bert_impl.model_folders import trained_servables
  from keras_bert_impl.serving import export, signature_names
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
    "Dtype of the stored weights; bfloat16 and float16 take half the space."
    " Default: compute_dtype.",
    choices.WEIGHTS_DTYPES,
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


program.define_flags(ExportConfig)
program.define_flags(servable_options.ServableOptions)


def main():
  """Loads the model, exports it and prints where."""
  config = program.from_flags(ExportConfig)
  chosen = program.from_flags(servable_options.ServableOptions)
  logging.set_verbosity(logging.WARNING)  # Saving logs each renamed input.
  export.check_folder(config.export_dir)
  servable, checkpoint = trained_servables.make(
    config, config.checkpoint_dir, config.head, config.max_seq_length, chosen
  )
  version_dir = export.export(
    servable,
    config.export_dir,
    config.model_name,
    config.weights_dtype,
    config.compute_dtype,
    config.signature_names,
  )
  _report(config, chosen, checkpoint, servable, version_dir)


def _report(config, chosen, checkpoint, servable, version_dir):
  """Prints and writes the results."""
  described = servable.describe()
  results = {
    "checkpoint": checkpoint,
    "version_dir": version_dir,
    "model": described,
    "signatures": sorted(
      signature_names.definitions(servable, config.signature_names)
    ),
    "configuration": dataclasses.asdict(config) | dataclasses.asdict(chosen),
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
  print(version_dir)


if __name__ == "__main__":
  program.run(main)
