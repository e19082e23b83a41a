"""Converts checkpoints from any known format into another."""

import dataclasses
import math
import os

from etils import epy

from keras_bert_impl import files, heads, options
from keras_bert_impl.checkpoints.formats import safetensors_format

with epy.lazy_imports():
  from keras_bert_impl.checkpoints import assignment, reading, writing
  from keras_bert_impl.checkpoints.descriptions import (
    description as description_lib,
  )
  from keras_bert_impl.checkpoints.descriptions import (
    generation_config,
  )
  from keras_bert_impl.checkpoints.naming import mappings, names
  from keras_bert_impl.model_folders import (
    head_pruning,
    layer_choice,
    pairing,
    task_file,
    vocabulary_extension,
    vocabulary_trimming,
  )
  from keras_bert_impl.models import checkpoint_loading
  from keras_bert_impl.sentences import folders
  from keras_bert_impl.tokenizers.formats import tokenizer_json_writing
  from keras_bert_impl.training import run_results

FORMATS = ("google", "safetensors", "keras")
KERAS_NAME = "model.keras"


@dataclasses.dataclass(frozen=True)
class ConversionConfig:
  """Input, output and format of the conversion.

  Raises:
    ValueError: options exclude each other.
  """

  input: str = options.required(
    "Checkpoint to read: a folder, a file, a prefix such as"
    " bert_model.ckpt, or a name such as klue/bert-base."
  )
  output: str = options.required("Folder to write, which must be new or empty.")
  format: str = options.common(
    "safetensors",
    "Output format: a TensorFlow checkpoint for Google's code, safetensors for"
    " transformers, or a .keras file.",
    FORMATS,
  )
  allow_partial: bool = options.common(
    False, "Whether to initialise weights that the input lacks."
  )
  extend_vocab: str | None = options.common(
    None,
    "File with one word per line to add to a WordPiece vocabulary. Words take"
    " [unused] tokens, then new rows; each starts as the mean of its pieces.",
  )
  trim_vocab: str | None = options.common(
    None,
    "Text to trim the vocabulary to: paths or glob patterns, comma-separated."
    " Tokens that it does not have are left out, with their rows; its texts"
    " keep their tokens.",
  )
  layers: str | None = options.common(
    None,
    "Layers to keep, comma-separated from 0, such as 0,2,4: a smaller model to"
    " distil into; default: all.",
  )
  num_heads: int | None = options.field(
    None,
    "Heads of attention to keep in each layer, those that matter most for"
    " --head_data.",
    interval="[1, 1000]",
  )
  head_data: str | None = options.field(
    None,
    "File of labelled examples of the task that the model was trained for, to"
    " find out how much each head matters.",
  )
  head_columns: str = options.field(
    "",
    "Columns of that file, comma-separated: of one text or two, then of the"
    " label; default: those that the task's script reads.",
  )
  right_to_left: str | None = options.field(
    None,
    "Checkpoint of a right-to-left model, to make a pair with the left-to-right"
    " one of --input, with --format=keras.",
  )
  max_shard_size: int = options.field(
    safetensors_format.MAX_SHARD_SIZE // 10**6,
    "Maximum size of a safetensors file in megabytes.",
    interval="[1, 1000000]",
  )

  def __post_init__(self):
    if (self.num_heads is None) != (self.head_data is None):
      raise ValueError(
        f"--num_heads ({self.num_heads}) and --head_data ({self.head_data})"
        " must be given together."
      )
    if self.num_heads and self.format == "google":
      raise ValueError(
        f"--num_heads ({self.num_heads}) needs --format=safetensors or keras:"
        " Google's has no place for the size of heads."
      )
    if self.extend_vocab and self.trim_vocab:
      raise ValueError(
        f"--trim_vocab ({self.trim_vocab}) must be left out with"
        " --extend_vocab: convert twice."
      )


def convert(config, measure_heads=None, labels=None, weights=()):
  """Reads, checks and writes.

  Args:
    config: `ConversionConfig`.
    measure_heads: function of the config that returns float [layers, N], how
      much each head matters; needed with `num_heads`.
    labels: tuple of str, names of the classes instead of the input's, or None.
    weights: variables of a model of the input that have other values now.

  Returns:
    dict, the content of results.json.

  Raises:
    FileNotFoundError: there is no such checkpoint, or no file of words.
    ValueError: it is damaged, the format has no such model, a word is none, or
      the output exists.
    OSError: the file system refuses, for instance a full disk.
  """
  with files.new_folder(config.output) as folder:
    checkpoint, kept_heads = _parts(config, measure_heads)
    description = _described(checkpoint, config.allow_partial, labels)
    tensors, result = _load(config, checkpoint, description, weights)
    num_words = num_trimmed = 0
    if config.extend_vocab:
      tensors, description, num_words = vocabulary_extension.extend(
        config.extend_vocab, checkpoint.folder, folder, tensors, description
      )
    if config.trim_vocab:
      tensors, description, num_trimmed = vocabulary_trimming.trim(
        config.trim_vocab.split(","),
        checkpoint.folder,
        folder,
        tensors,
        description,
      )
    left_out = _write(config, folder, tensors, description)
    family = description.config.family
    layout = family.google if config.format == "google" else family
    writing.copy_tokenizer_files(
      checkpoint.folder, folder, layout.sentencepiece_file
    )
    tokenizer_json_writing.add(folder, description.config.model_type)
    if description.generates and config.format != "google":
      generation_config.write(checkpoint.folder, folder)
    if config.format != "google":
      _copy_task(checkpoint.folder, folder, description.head)
    has_modules = checkpoint.folder.has(folders.MODULES_FILE)
    if config.format == "safetensors" and has_modules:
      folders.copy(checkpoint.folder, folder)
    results = {
      "input": {"path": checkpoint.path, "format": checkpoint.format},
      "model": {
        "family": description.config.model_type,
        "head": description.head,
        "labels": description.labels,
        "num_parameters": sum(math.prod(s) for s in tensors.shapes.values()),
        "vocab_size": description.config.vocab_size,
        "num_added_words": num_words,
        "num_trimmed_tokens": num_trimmed,
        "kept_heads": kept_heads,
      },
      "tensors": dataclasses.asdict(result) | {"left_out": left_out},
      "configuration": dataclasses.asdict(config),
      "versions": run_results.versions(),
    }
    files.write_json(os.path.join(folder, run_results.RESULTS_NAME), results)
  return results


def _copy_task(source, folder, head):
  """Writes the task of a folder into another one, if its head is kept."""
  task = task_file.read(source)
  # What a model that writes texts has learned is none of a checkpoint's heads.
  if task.get("head") in (head, heads.GENERATION):
    task_file.write(folder, task)


def _parts(config, measure_heads):
  """Returns the checkpoint of the layers and heads to write, and those heads.

  The heads are a list of a list for each layer; None: all.
  """
  checkpoint, kept_heads = reading.open_checkpoint(config.input), None
  if config.right_to_left:
    other = reading.open_checkpoint(config.right_to_left)
    checkpoint = pairing.pair(checkpoint, other)
  if config.num_heads:
    checkpoint, kept_heads = head_pruning.prune(
      checkpoint, config.num_heads, measure_heads(config)
    )
  if config.layers:
    checkpoint = layer_choice.choose(checkpoint, config.layers)
  return checkpoint, kept_heads


def _described(checkpoint, allow_partial, labels):
  """Returns the `Description` of a checkpoint, with other names of classes."""
  description = checkpoint.described(allow_partial)
  if not labels:
    return description
  return description_lib.complete(
    dataclasses.replace(description, labels=labels),
    checkpoint.tensors.shapes,
    f"the argument labels ({', '.join(labels)})",
  )


def _load(config, checkpoint, description, weights):
  """Loads all tensors and checks that they make a model.

  The weights that are given stand in place of those of the checkpoint.

  Returns:
    (mapping of names -> arrays, `assignment.Assignment`); what the model has
    no use for, such as ELECTRA's generator, is among the former.
  """
  model, result = checkpoint_loading.load(
    checkpoint, description, config.allow_partial
  )
  variables = {weight.path: weight for weight in model.weights}
  rest = {
    name: assignment.read(checkpoint.tensors, name, checkpoint.path)
    for name in result.left_over
    if not name.startswith(names.ENCODER_PREFIXES)
  }
  given = {weight.path: weight for weight in weights}
  return mappings.Arrays(rest | variables | given), result


def _write(config, folder, tensors, description):
  """Writes the weights; returns the names of those without a place."""
  if config.format == "google":
    return writing.write_google(folder, tensors, description)
  if config.format == "safetensors":
    return writing.write_safetensors(
      folder, tensors, description, config.max_shard_size * 10**6
    )
  model = checkpoint_loading.build(description, tensors.shapes)
  result = assignment.assign(
    {weight.path: weight for weight in model.weights}, tensors, folder
  )
  path = os.path.join(folder, KERAS_NAME)
  try:
    model.save(path)
  except OSError as error:
    error.filename = path  # Where there is no room, it names none.
    raise
  writing.write_labels(folder, description)
  return result.left_over


def print_summary(config, results):
  """Prints what was read, written and left out."""
  model, tensors = results["model"], results["tensors"]
  rows = [
    ("Read", results["input"]["format"]),
    ("Written", config.format),
    ("Family", model["family"]),
    ("Head", model["head"] or "none"),
    ("Parameters", f"{model['num_parameters']:,}"),
    ("Vocabulary", f"{model['vocab_size']:,}"),
    ("Tensors read", str(len(tensors["loaded"]))),
    ("  new", str(len(tensors["new"]))),
    ("  in no head", str(len(tensors["left_over"]))),
    ("  left out", str(len(tensors["left_out"]))),
  ]
  if config.extend_vocab:
    rows.append(("Words added", str(model["num_added_words"])))
  if config.trim_vocab:
    rows.append(("Tokens left out", f"{model['num_trimmed_tokens']:,}"))
  for layer, kept in enumerate(model["kept_heads"] or ()):
    rows.append((f"Heads of layer {layer}", " ".join(map(str, kept))))
  print(run_results.table(rows))
  for what in ("new", "left_out"):
    for name in tensors[what]:
      print(f"{what.replace('_', ' ')}: {name}")
  for name in sorted(os.listdir(config.output)):
    print(os.path.join(config.output, name))
