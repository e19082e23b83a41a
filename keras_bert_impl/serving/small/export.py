"""Exports servables as LiteRT or ONNX files, as versions of a folder.

`export_dir/1/` holds model.tflite or model.onnx, a function of ids; the
tokenizer.json that makes ids of texts; and model.json, which says all else that
a client has to know.
"""

import dataclasses
import os

import tensorflow as tf

from keras_bert_impl import choices, files, options
from keras_bert_impl.serving import export as export_lib
from keras_bert_impl.serving.small import graphs, runtimes

FILE_NAMES = {
  choices.LITERT: "model.tflite",
  choices.ONNX: "model.onnx",
}
# Packages that an export needs besides TensorFlow.
_PACKAGES = {
  choices.LITERT: (),
  choices.ONNX: ("tf2onnx", "onnx", "onnxruntime"),
}


# Arguments of all formats, and their defaults; see `export_as`.
_OF_SAVED_MODELS = {
  "compute_dtype": "float32",
  "signature_names": choices.GOOGLE,
}
_OF_FILES = {"fixed_length": None}
OPTIONS = ("format", "weights_dtype", *_OF_SAVED_MODELS, *_OF_FILES)


def export_as(servable, export_dir, model_name=None, **form):
  """Writes the next version of a model in any format.

  Args:
    servable: as of `export`.
    export_dir: as of `export`.
    model_name: as of `export`.
    **form: `OPTIONS`: the format, "saved_model" (the default), "litert" or
      "onnx", and what `serving.export.export` or `export` takes.

  Returns:
    str, the directory of the new version.

  Raises:
    ValueError: as both, or an option does not go with the format.
  """
  form = check_form(form)
  file_format = form.pop("format")
  if file_format == choices.SAVED_MODEL:
    return export_lib.export(servable, export_dir, model_name, **form)
  return export(servable, export_dir, file_format, model_name, **form)


def pop_form(values):
  """Takes `form` of `export_as` out of named values; as `check_form`."""
  return check_form(
    {name: values.pop(name) for name in OPTIONS if name in values}
  )


def check_form(form):
  """Returns `form` of `export_as` without what does not go with its format.

  Raises:
    ValueError: a value that is not allowed there, or a package is missing.
  """
  form = {"format": choices.SAVED_MODEL} | form
  file_format = form["format"]
  options.check_choice("format", file_format, choices.FORMATS)
  is_file = file_format != choices.SAVED_MODEL
  others = _OF_SAVED_MODELS if is_file else _OF_FILES
  for name, default in others.items():
    if form.get(name, default) != default:
      raise ValueError(
        f"{name} must be left out, for it does not go with the format"
        f" {file_format}."
      )
  form = {name: value for name, value in form.items() if name not in others}
  if is_file:
    check(file_format, form.get("weights_dtype"))
  return form


def export(
  servable,
  export_dir,
  file_format,
  model_name=None,
  weights_dtype=None,
  fixed_length=None,
):
  """Writes the next version of a model atomically.

  Args:
    servable: `servables.Servable`; its model computes in float32.
    export_dir: str, as of `serving.export.export`.
    file_format: "litert" or "onnx".
    model_name: str, as of `serving.export.export`.
    weights_dtype: "float32", "float16" or "int8"; default: "float32". With
      "int8", matrices and the numbers they are multiplied by are int8.
    fixed_length: int, tokens of the only row that the file takes; None for any
      numbers of rows and tokens.

  Returns:
    str, the directory of the new version.

  Raises:
    ValueError: a value that is not allowed, or does not go with the format; a
      package is missing; or the format cannot hold the model.
  """
  weights_dtype = weights_dtype or "float32"
  check(file_format, weights_dtype)
  longest = servable.max_seq_length
  if fixed_length and longest and fixed_length > longest:
    raise ValueError(
      f"fixed_length ({fixed_length}) must be at most max_seq_length"
      f" ({longest})."
    )
  export_lib.check_folder(os.fspath(export_dir))
  servable.set_dtypes()
  if fixed_length and servable.float_inputs:
    raise ValueError(
      f"fixed_length ({fixed_length}) must be left out: what is cached grows."
    )
  contents, described = {}, {}
  for part in (None, *servable.parts):
    graph = graphs.of_servable(servable, fixed_length, part)
    file = FILE_NAMES[file_format]
    file = file.replace("model", part) if part else file
    contents[file] = _convert(graph, file_format, weights_dtype)
    described[part] = {
      "file": file,
      "inputs": _inputs(graph),
      "outputs": _outputs(servable, part),
    }
  written = {
    "format": file_format,
    "weights_dtype": weights_dtype,
    **described.pop(None),
    **described,
    "texts": _texts(servable),
    "config": dataclasses.asdict(servable.config),
  }

  def save(folder, model_name):
    tf.io.gfile.makedirs(folder)
    for file, content in contents.items():
      files.write_atomically(os.path.join(folder, file), content)
    servable.tokenizer.save(folder)
    description = export_lib.describe(servable, model_name) | written
    path = os.path.join(folder, runtimes.DESCRIPTION_NAME)
    files.write_json(path, description)

  return export_lib.write_version(export_dir, model_name, save)


def check(file_format, weights_dtype=None):
  """Raises ValueError if there can be no such export; as `export`."""
  options.check_choice("format", file_format, (*FILE_NAMES,))
  weights_dtype = weights_dtype or "float32"
  options.check_choice("weights_dtype", weights_dtype, choices.SMALL_DTYPES)
  runtimes.check_packages(_PACKAGES[file_format], file_format)


def _convert(graph, file_format, weights_dtype):
  """Returns the content of the file, bytes.

  Raises:
    ValueError: the format lacks an op of the model.
  """
  # Each has packages that the other does without.
  if file_format == choices.ONNX:
    from keras_bert_impl.serving.small import onnx_format

    return onnx_format.content(graph, weights_dtype)
  from keras_bert_impl.serving.small import litert

  return litert.convert(graph, weights_dtype)


def _described(name, dtype, shape):
  return {"name": name, "dtype": dtype.name, "shape": list(shape)}


def _inputs(graph):
  """Returns what model.json says of the inputs; axes of any size by name."""
  return [
    _described(
      name,
      spec.dtype,
      [n or axis for n, axis in zip(spec.shape, graph.axes[name], strict=True)],
    )
    for name, spec in graph.inputs.items()
  ]


def _outputs(servable, part):
  """Returns what model.json says of the outputs, of a part of the servable."""
  names = {axis for axes in servable.row_inputs.values() for axis in axes}
  second = next(
    name for name in ("masks", "choices", "length") if name in names
  )
  graph = graphs.of_servable(servable, part=part)

  def shape(output):
    open_axes = iter(("batch", *[second] * output.shape.rank))
    return [n or next(open_axes) for n in output.shape]

  return [
    _described(name, output.dtype, shape(output))
    for name, output in graph.trace().structured_outputs.items()
  ]


def _texts(servable):
  """Returns what a client has to know to make rows of texts."""
  tokenizer = servable.tokenizer
  vocabulary, framing = tokenizer.vocabulary, tokenizer.framing
  templates = [framing.template(number) for number in (1, 2)]
  templates = templates if servable.frames_texts else [[("A", 0)]]
  return {
    "special_tokens": {
      role: {"token": vocabulary.tokens[index], "id": index}
      for role, index in vocabulary.role_ids.items()
    },
    "framing": [" ".join(x for x, _ in template) for template in templates],
    "segments": [[int(x) for _, x in template] for template in templates],
    "truncation": "longest_first",
    "odd_token": vocabulary.odd_token,
    "padding": "left" if framing.cls_at_end else "right",
    # Whether [SEP] and the like are found where they stand in a text.
    "finds_special_tokens": servable.finds_special_tokens
    or bool(vocabulary.rules),
    "do_lower_case": getattr(servable, "do_lower_case", False),
    "num_texts": _num_texts(servable),
  }


def _num_texts(servable):
  """Returns how many texts a row may have, list of int."""
  if servable.has_two_texts:
    return [2]
  has_pairs = getattr(servable, "text_pairs", None)
  return [1, 2] if has_pairs is None else [1 + has_pairs]
