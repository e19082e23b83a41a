"""Writes checkpoints for `transformers` and for Google's code.

Each function writes into an existing folder and returns the names of the
tensors that have no place in the format.
"""

import json
import os
import shutil

from keras_bert_impl import heads
from keras_bert_impl.checkpoints.descriptions import (
  config_json,
  google_config,
  keras_hub_tokenizer,
)
from keras_bert_impl.checkpoints.formats import safetensors_format
from keras_bert_impl.checkpoints.naming import columns, mappings, names

_VOCABULARIES = ("merges.txt", "tokenizer.json", "vocab.json", "vocab.txt")
_TOKENIZER_FILES = (
  "added_tokens.json",
  "special_tokens_map.json",
  "tokenizer_config.json",
  *_VOCABULARIES,
  "source.spm",
  "target.spm",
)


def write_safetensors(folder, tensors, description, max_shard_size):
  """Writes a checkpoint for `transformers`: config.json and safetensors.

  Args:
    folder: str.
    tensors: mapping of our names -> arrays, with `shapes`.
    description: `description.Description`.
    max_shard_size: int, see `safetensors_format.write`.

  Raises:
    ValueError: `transformers` has no such model.
  """
  values = config_json.to_dict(description)
  family = description.config.family
  tensors = columns.to_theirs(tensors, description.config)
  origins, transposed, left_out = {}, set(), []
  for name in tensors:
    theirs = names.to_transformers(name, family, description.head)
    if theirs is None:
      left_out.append(name)
      continue
    origins[theirs] = name
    if theirs.endswith(".decoder.weight"):  # Beside it is no bias but its own.
      origins[f"{theirs.removesuffix('weight')}bias"] = names.OUTPUT_BIAS
    if not description.config.tie_word_embeddings:
      copies = family.copies.get(theirs, ())
      origins |= dict.fromkeys(copies, name)
    if names.is_transposed(name, family):
      transposed.add(theirs)
  renamed = mappings.Renamed(tensors, origins, transposed)
  safetensors_format.write(folder, renamed, max_shard_size)
  _write_json(folder, config_json.FILE_NAME, values)
  return left_out


def write_google(folder, tensors, description):
  """Writes a TF1 checkpoint for Google's code of the family.

  Args:
    folder: str.
    tensors: mapping of our names -> arrays, with `shapes`.
    description: `description.Description`.

  Raises:
    ValueError: Google's code has no such model.
  """
  from keras_bert_impl.checkpoints.formats import tf_format

  values = google_config.to_dict(description)
  family = description.config.family
  prefix = family.google.checkpoint
  # Foreign names have dots.
  left_out = [name for name in tensors if "/" not in name]
  renamed = {
    names.to_google(name, family): tensors[name]
    for name in tensors
    if "/" in name
  }
  tf_format.write(os.path.join(folder, prefix), renamed)
  if family.google.has_state_file:
    _write_text(folder, "checkpoint", f'model_checkpoint_path: "{prefix}"\n')
  _write_json(folder, family.google.config_file, values)
  write_labels(folder, description)
  return left_out


def write_labels(folder, description):
  """Writes a config.json with a classifier's labels."""
  if description.head in heads.CLASSIFIERS:
    _write_json(folder, config_json.FILE_NAME, config_json.to_dict(description))


def copy_tokenizer_files(source, folder, sentencepiece_file):
  """Copies the files of the tokenizer that are not there yet.

  Beside a vocabulary of its own, those of the source are left out.

  Args:
    source: `files.Folder` of the checkpoint that was read.
    folder: str.
    sentencepiece_file: str, what a SentencePiece model is to be called.
  """
  there = os.listdir(folder)
  is_own = not {"vocab.txt", "tokenizer.json"}.isdisjoint(there)
  if preset := keras_hub_tokenizer.find(source):
    if not is_own:
      _copy_preset(*preset, folder, sentencepiece_file)
    return
  for name in source.names:
    target, is_vocabulary = name, name in _VOCABULARIES
    if name.endswith(".model"):
      target, is_vocabulary = sentencepiece_file, True
    elif name not in _TOKENIZER_FILES or name in there:
      continue
    if is_own and is_vocabulary:
      continue
    shutil.copyfile(source.join(name), os.path.join(folder, target))


def _copy_preset(assets, vocabulary, folder, sentencepiece_file):
  """Copies the tokenizer of a preset of KerasHub, with its options."""
  copied = keras_hub_tokenizer.files_to_copy(assets, sentencepiece_file)
  for path, name in copied.items():
    shutil.copyfile(path, os.path.join(folder, name))
  options = keras_hub_tokenizer.options(assets, vocabulary)
  _write_json(folder, "tokenizer_config.json", options)


def _write_json(folder, name, values):
  _write_text(folder, name, json.dumps(values, indent=2) + "\n")


def _write_text(folder, name, text):
  with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
    file.write(text)
