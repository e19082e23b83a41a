"""Manifests of finished shards: `<shard>.manifest.json` beside each.

A shard is finished when its manifest exists: the manifest is written last,
after the shard has its name.
"""

import hashlib
import json
import os
import re

import tensorflow as tf
from absl import logging

from keras_bert_impl import files

SUFFIX = ".manifest.json"

_FORMAT_VERSION = 1
# Fields of every manifest.
_TYPES = {
  "format_version": int,
  "num_bytes": int,
  "num_records": int,
  "origin": dict,
  "origin_hash": str,
  "sha256": str,
}
_SHARD_NUMBER = r"(-\d{5}-of-\d{5})?"
_BLOCK_BYTES = 1 << 20


def path_of(shard):
  """Returns the path of the manifest of a shard."""
  return shard + SUFFIX


def write(shard, origin, counts):
  """Writes the manifest of a finished shard atomically.

  Args:
    shard: str, path of the shard.
    origin: dict, the configuration of the shards of this output.
    counts: dict of numbers, contents of this shard.
  """
  content = {
    "format_version": _FORMAT_VERSION,
    "origin_hash": fingerprint(origin),
    "origin": origin,
    **counts,
    **describe(shard),
  }
  files.write_atomically(
    path_of(shard), json.dumps(content, indent=2, sort_keys=True) + "\n"
  )


def describe(path):
  """Returns {"num_bytes": int, "sha256": str} of a file, see `is_intact`."""
  return {
    "num_bytes": tf.io.gfile.stat(path).length,
    "sha256": _sha256(path),
  }


def read(shard):
  """Reads the manifest of a shard; returns None without one.

  Raises:
    ValueError: the file is no manifest.
  """
  path = path_of(shard)
  try:
    content = files.find_json(path)
    if content is None:
      return None
    for name, kind in _TYPES.items():
      files.field(content, name, kind, path)
    if content["format_version"] != _FORMAT_VERSION:
      raise ValueError(f"{path} is of another version of this program.")
  except ValueError as error:
    raise ValueError(
      f"{error} Delete it to have {shard} written again."
    ) from error
  return content


def is_intact(shard, content):
  """Returns whether a file matches its manifest, or what `describe` says."""
  return (
    tf.io.gfile.exists(shard)
    and tf.io.gfile.stat(shard).length == content["num_bytes"]
    and _sha256(shard) == content["sha256"]
  )


def is_finished(shard):
  """Returns whether a shard is finished and matches its manifest."""
  content = read(shard)
  if content is None:
    return False
  if is_intact(shard, content):
    return True
  logging.warning("%s does not match its manifest; writing it again.", shard)
  return False


def check_same_origin(shards, origin):
  """Checks that earlier shards of this output have the same origin.

  Args:
    shards: sequence of str, paths of the shards of one output.
    origin: dict, as for `write`.

  Raises:
    ValueError: naming the first difference.
  """
  for shard in _related(shards):
    content = read(shard)
    if content and content["origin_hash"] != fingerprint(origin):
      raise ValueError(
        f"{shard} was written with {difference(content['origin'], origin)}. "
        "Give the same values to continue it, another output_file, or delete "
        "the old shards and their manifests."
      )


def fingerprint(origin):
  """Returns the SHA-256 of a dict, hex."""
  return hashlib.sha256(
    json.dumps(origin, sort_keys=True).encode("utf-8")
  ).hexdigest()


def _related(shards):
  """Returns `shards` and those of the same name but another numbering."""
  related = set(shards)
  for shard in shards:
    folder, name = os.path.split(shard)
    stem = re.sub(_SHARD_NUMBER + r"\Z", "", name, count=1)
    pattern = re.compile(re.escape(stem) + _SHARD_NUMBER + re.escape(SUFFIX))
    if tf.io.gfile.isdir(folder or "."):
      for entry in files.list_folder(folder or "."):
        if pattern.fullmatch(entry):
          related.add(os.path.join(folder, entry.removesuffix(SUFFIX)))
  return sorted(related)


def difference(old, new):
  """Returns the first difference of two origins, for a message."""
  # Some values count only with others; those that always count come first.
  for name in sorted(old.keys() & new.keys()) + sorted(old.keys() ^ new.keys()):
    if old.get(name) != new.get(name):
      return f"{name}={old.get(name)!r}, not {new.get(name)!r}"
  return "another version of this program"


def _sha256(path):
  digest = hashlib.sha256()
  with tf.io.gfile.GFile(path, "rb") as file:
    while block := file.read(_BLOCK_BYTES):
      digest.update(block)
  return digest.hexdigest()
