"""Exports servables as versions of a SavedModel, as TF Serving expects them.

`export_dir/1/`, `export_dir/2/`, ...: a server that watches export_dir loads
new versions by itself. Each contains the graph, the weights once, the
vocabulary under assets/ and, under assets.extra/, warm-up requests, a
tokenizer.json for clients and a description; it needs no other file.
Configurations for TF Serving are beside the versions.
"""

import contextlib
import json
import os
import re
import uuid

import tensorflow as tf

from keras_bert_impl import choices, files, locks, options
from keras_bert_impl.serving import servables, warmup
from keras_bert_impl.serving import signature_names as signature_names_lib
from keras_bert_impl.tokenizers.formats import tokenizer_json_writing

DESCRIPTION_NAME = "model.json"
MODELS_NAME = "models.config"
BATCHING_NAME = "batching.config"

# The methods that TF Serving's Classify and Regress look for, where
# tf.saved_model.save writes that of Predict.
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
_BATCHING = """\
# tensorflow_model_server --enable_batching
#   --batching_parameters_file=<this file>
max_batch_size { value: 32 }
batch_timeout_micros { value: 2000 }
max_enqueued_batches { value: 100 }
"""
# Scripts that a page has examples in; Hangul in syllables or their letters.
_SCRIPTS = {"Latin": "[A-Za-z]", "Hangul": "[\uac00-\ud7a3\u1100-\u11ff]"}
# The name of a version while it is written: servers read only directories
# whose name is a number.
_TEMPORARY = r"tmp-\d+-\w+"


def export(
  servable,
  export_dir,
  model_name=None,
  weights_dtype=None,
  compute_dtype="float32",
  signature_names=choices.GOOGLE,
):
  """Writes the next version of a model atomically.

  Args:
    servable: `servables.Servable`; it keeps these dtypes from then on.
    export_dir: str, directory of the versions, made if need be.
    model_name: str, what clients call the model, without "/" and ":"; default:
      the name of export_dir.
    weights_dtype: "float32", or "bfloat16" or "float16" to store the weights in
      half the size, whatever the model computes in; default: `compute_dtype`.
    compute_dtype: "float32" or "bfloat16".
    signature_names: as `signature_names.definitions`.

  Returns:
    str, the directory of the new version.

  Raises:
    ValueError: an unknown dtype or signature_names, a model_name that no path
      can hold, export_dir is a file, or the tokenizer is not in the graph.
  """
  if not servable.tokenizer.is_in_graph:
    raise ValueError(
      "A SavedModel that reads texts needs a tokenizer in the graph, but"
      f" {servable.tokenizer.reason}: the model can be trained and predict, but"
      " not be served from texts."
    )
  servable.set_dtypes(compute_dtype, weights_dtype)
  definitions = signature_names_lib.definitions(servable, signature_names)

  def save(folder, model_name):
    _save(servable, definitions, folder, model_name)
    _write_configurations(servable, os.path.dirname(folder), model_name)

  return write_version(export_dir, model_name, save)


def write_version(export_dir, model_name, save):
  """Writes the next version of a model; as `export`.

  Args:
    export_dir: as of `export`.
    model_name: as of `export`.
    save: function of a new folder and the model's name, which writes there.
  """
  gfile = tf.io.gfile
  export_dir = os.fspath(export_dir).rstrip("/")
  check_folder(export_dir)
  # The name of "." is that of the folder it is.
  model_name = model_name or os.path.basename(os.path.abspath(export_dir))
  options.check_characters("model_name", model_name, options.URL_SEPARATORS)
  gfile.makedirs(export_dir)
  files.remove_unlocked(export_dir, _TEMPORARY)
  name = f"tmp-{os.getpid()}-{uuid.uuid4().hex}"
  temporary = os.path.join(export_dir, name)
  lock = (
    contextlib.nullcontext()
    if files.is_remote(export_dir)
    else locks.making(temporary, os.mkdir)
  )
  with lock:
    try:
      save(temporary, model_name)
      return _publish(temporary, export_dir)
    finally:
      if files.exists(temporary):
        gfile.rmtree(temporary)


def check_folder(export_dir):
  """Raises ValueError if no versions can be written into `export_dir`."""
  if not export_dir:
    raise ValueError("export_dir is empty: name a folder.")
  if files.exists(export_dir) and not files.is_folder(export_dir):
    raise ValueError(f"export_dir ({export_dir}) is a file: name a folder.")


def _publish(temporary, export_dir):
  """Renames a folder to the next version and returns its new path."""
  gfile = tf.io.gfile
  while True:
    names = files.list_folder(export_dir)
    newest = max((int(name) for name in names if name.isdecimal()), default=0)
    version_dir = os.path.join(export_dir, str(newest + 1))
    try:
      gfile.rename(temporary, version_dir)
    except (tf.errors.AlreadyExistsError, tf.errors.FailedPreconditionError):
      if not files.exists(version_dir):
        raise
      # Another export was first: the next number is free.
    else:
      return version_dir


def _save(servable, definitions, folder, model_name):
  """Writes the SavedModel and its assets.extra/."""
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
  tokenizer_json_writing.write(
    extra, servable.tokenizer.vocabulary, servable.tokenizer.options
  )
  description = describe(servable, model_name) | servable.dtypes
  files.write_json(os.path.join(extra, DESCRIPTION_NAME), description)


def describe(servable, model_name):
  """Returns what is said of a model, {name: JSON value}."""
  return servable.describe() | {
    "main_script": _main_script(servable.tokenizer),
    "model_name": model_name,
  }


def _main_script(tokenizer):
  """Returns the one of `_SCRIPTS` that a vocabulary has most of, or None."""
  tokens = b" ".join(tokenizer.token_texts).decode("utf-8", "replace")
  counts = {
    name: len(re.findall(letters, tokens)) for name, letters in _SCRIPTS.items()
  }
  name = max(counts, key=counts.get)
  return name if counts[name] else None


def _name_methods(folder, signatures):
  """Names the methods of signatures for Classify and Regress."""
  if not signatures:
    return
  v1 = tf.compat.v1.saved_model.signature_def_utils
  updater = v1.MethodNameUpdater(folder)
  for name in signatures:
    updater.replace_method_name(name, _METHODS[name])
  updater.save()


def _write_configurations(servable, export_dir, model_name):
  """Writes the configuration files of TF Serving."""
  name, path = (
    json.dumps(value, ensure_ascii=False)
    for value in (model_name, f"/models/{model_name}")
  )
  files.write_atomically(
    os.path.join(export_dir, MODELS_NAME), _MODELS.format(name=name, path=path)
  )
  batching_path = os.path.join(export_dir, BATCHING_NAME)
  if all(spec.shape.rank == 1 for spec in servable.inputs.values()):
    files.write_atomically(batching_path, _BATCHING)
    return
  # A batch of requests whose inputs differ in shape fails as a whole, and what
  # an earlier export wrote may be there.
  with contextlib.suppress(tf.errors.NotFoundError):
    tf.io.gfile.remove(batching_path)
