"""Writes servables as versions of a SavedModel, as TF Serving expects them.

`export_dir/1/`, `export_dir/2/`, ...: a server that watches export_dir takes up
a new version by itself. Each holds the graph, the weights once, the vocabulary
under assets/ and, under assets.extra/, requests to warm up with and a
description; nothing outside of it is needed any more. Beside the versions lie
configurations for TF Serving.
"""

import json
import os

import tensorflow as tf

from keras_bert_impl.serving import servables, warmup
from keras_bert_impl.tokenizers import vocabulary

DESCRIPTION_NAME = "model.json"
MODELS_NAME = "models.config"
BATCHING_NAME = "batching.config"

# What TF Serving's Classify and Regress look for; tf.saved_model.save writes
# the method of Predict for all.
_METHODS = {
  servables.CLASSIFY: "tensorflow/serving/classify",
  servables.REGRESS: "tensorflow/serving/regress",
}
_MODELS = """\
# tensorflow_model_server --model_config_file=<this file>. The path is where the
# folder of this file is in the container.
model_config_list {{
  config {{
    name: {name}
    base_path: {path}
    model_platform: "tensorflow"
  }}
}}
"""
_BATCH_SIZES = (1, 2, 4, 8, 16, 32)
_BATCHING = """\
# tensorflow_model_server --enable_batching
#   --batching_parameters_file=<this file>
# num_batch_threads: as many as there are cores.
{sizes}
max_batch_size {{ value: {largest} }}
batch_timeout_micros {{ value: 2000 }}
max_enqueued_batches {{ value: 100 }}
num_batch_threads {{ value: 4 }}
"""


def export(servable, export_dir, model_name=None, weights_dtype="float32"):
  """Writes the next version of a model, all or nothing.

  Args:
    servable: `servables.Servable`; it holds its weights as `weights_dtype` from
      then on.
    export_dir: str, directory of the versions, made if need be.
    model_name: str, what clients call the model, without "/" and ":"; default:
      the name of export_dir.
    weights_dtype: "float32", or "bfloat16" or "float16" to store the weights in
      half the size; the model computes in float32 all the same.

  Returns:
    str, the directory of the new version.

  Raises:
    ValueError: unknown weights_dtype, a model_name that no path can hold, or
      export_dir is a file.
  """
  gfile = tf.io.gfile
  export_dir = os.fspath(export_dir).rstrip("/")
  check_folder(export_dir)
  # The name of "." is that of the folder it is.
  model_name = model_name or os.path.basename(os.path.abspath(export_dir))
  if set(model_name) & set("/:"):
    raise ValueError(
      f"model_name ({model_name!r}) is part of a URL: leave out / and :."
    )
  servable.hold_weights(weights_dtype)
  gfile.makedirs(export_dir)
  names = [name.rstrip("/") for name in gfile.listdir(export_dir)]
  newest = max((int(name) for name in names if name.isdecimal()), default=0)
  version_dir = os.path.join(export_dir, str(newest + 1))
  # A server reads only directories whose name is a number.
  temporary = os.path.join(export_dir, f"tmp-{newest + 1}-{os.getpid()}")
  try:
    _save(servable, temporary, model_name, weights_dtype)
    _write_configurations(export_dir, model_name)
    gfile.rename(temporary, version_dir)
  finally:
    if gfile.exists(temporary):
      gfile.rmtree(temporary)
  return version_dir


def check_folder(export_dir):
  """Raises ValueError if no versions can be written into `export_dir`."""
  gfile = tf.io.gfile
  if not export_dir:
    raise ValueError("export_dir is empty: name a folder.")
  if gfile.exists(export_dir) and not gfile.isdir(export_dir):
    raise ValueError(f"export_dir ({export_dir}) is a file: name a folder.")


def _save(servable, folder, model_name, weights_dtype):
  """Writes the SavedModel with what lies under its assets.extra/."""
  definitions = servable.definitions()
  tf.saved_model.save(
    servable,
    folder,
    signatures={name: s.function for name, s in definitions.items()},
  )
  _name_methods(folder, definitions.keys() & _METHODS.keys())
  extra = os.path.join(folder, "assets.extra")
  tf.io.gfile.makedirs(extra)
  warmup.write(
    os.path.join(extra, warmup.FILE_NAME),
    model_name,
    {name: s.example for name, s in definitions.items()},
  )
  description = servable.describe() | {
    "model_name": model_name,
    "weights_dtype": weights_dtype,
  }
  vocabulary.write_atomically(
    os.path.join(extra, DESCRIPTION_NAME),
    json.dumps(description, ensure_ascii=False, indent=2) + "\n",
  )


def _name_methods(folder, signatures):
  """Marks signatures as those of Classify and Regress."""
  if not signatures:
    return
  v1 = tf.compat.v1.saved_model.signature_def_utils
  updater = v1.MethodNameUpdater(folder)
  for name in signatures:
    updater.replace_method_name(name, _METHODS[name])
  updater.save()


def _write_configurations(export_dir, model_name):
  """Writes the files that TF Serving is started with."""
  name, path = (
    json.dumps(value, ensure_ascii=False)
    for value in (model_name, f"/models/{model_name}")
  )
  contents = {
    MODELS_NAME: _MODELS.format(name=name, path=path),
    BATCHING_NAME: _BATCHING.format(
      sizes="\n".join(f"allowed_batch_sizes: {n}" for n in _BATCH_SIZES),
      largest=_BATCH_SIZES[-1],
    ),
  }
  for name, content in contents.items():
    vocabulary.write_atomically(os.path.join(export_dir, name), content)
