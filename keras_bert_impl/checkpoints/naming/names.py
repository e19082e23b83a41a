"""Converts names of weights between ours and those of released checkpoints.

Our names are the paths of the variables, which are the names in Google's BERT
checkpoints. The names of each family are in `families`.
"""

import functools
import math
import re

from keras_bert_impl import families, heads
from keras_bert_impl.checkpoints.naming import mappings

WORD_EMBEDDINGS = "bert/embeddings/word_embeddings"
POSITION_EMBEDDINGS = "bert/embeddings/position_embeddings"
# Before the names of a discriminator's generator.
GENERATOR = "generator/"
# A discriminator may add a table of its own, the delta, to its generator's.
GENERATOR_WORD_EMBEDDINGS = GENERATOR + "embeddings/word_embeddings"
DELTA = "bert/embeddings/word_embeddings_delta"
# Before the names of the second encoder of a pair.
RIGHT_TO_LEFT = "right_to_left/"
# Before the number of a block.
LAYER = "bert/encoder/layer_"
_PARTS = ("bert/embeddings/", "bert/encoder/")
ENCODER_PREFIXES = (*_PARTS, *(RIGHT_TO_LEFT + part for part in _PARTS))
# A masked language model's output matrix, where it is not the table.
DECODER = "cls/predictions/output_weights"
OUTPUT_BIAS = "cls/predictions/output_bias"
CLASSIFIER = "classifier/output_weights"
CRF = "crf/transitions"
POOLER = "bert/pooler/dense/kernel"

# Constants, which old files hold too.
_CONSTANTS = re.compile(r"(^|\.)(position_ids|token_type_ids)$")
# (Ends of names of torch's parametrized weights, those without.)
PARAMETRIZED = (".parametrizations.weight.original", ".weight")
# Before the names of a model that torch ran on several devices, or compiled.
_WRAPPERS = re.compile(r"^(module\.|_orig_mod\.)+")
_HEADS = ("classifier", "cls/squad", "cls/seq_relationship", "cls/predictions")
_WEIGHTS = ("kernel", "gamma", "output_weights")
_BIASES = ("bias", "beta", "output_bias")


def from_google(name):
  """Returns our name of a weight in Google's checkpoints, or in ours."""
  layouts = [family.google for family in families.FAMILIES.values()]
  pairs = [pair[::-1] for google in layouts if google for pair in google.names]
  return rename(name, pairs) or name


def to_google(name, family):
  """Returns the name of our weight `name` in Google's code of the family."""
  return rename(name, family.google.names) or name


def from_transformers(name, family, head=None):
  """Returns our name of a parameter, or None.

  Args:
    name: str, as in a safetensors file, such as "bert.pooler.dense.weight".
    family: `families.family.Family`.
    head: str, one of `heads.HEADS`, which a config.json names; or None.

  Returns:
    str; None for constants.
  """
  name = _WRAPPERS.sub("", name).replace(*PARAMETRIZED)
  if _CONSTANTS.search(name):
    return None
  first, _, rest = name.partition(".")
  if first in family.old_prefixes:
    name = f"{family.prefix}.{rest}"
  elif first in family.encoder_parts:
    name = f"{family.prefix}.{name}"
  # A tied copy too, but sometimes the only one.
  name = name.replace(".decoder.bias", ".bias")
  module, _, leaf = name.replace(".", "/").rpartition("/")
  ours = rename(
    name.replace(".", "/"), [pair[::-1] for pair in family.parameters]
  )
  if ours is not None:
    return ours
  # A classifier may be in a file that does not name it.
  of_head = family.head_names.get(head, ())
  of_head += family.head_names.get(heads.CLASSIFICATION, ())
  pairs = (*of_head, *family.names)
  ours = rename(module, [pair[::-1] for pair in pairs])
  leaf = _leaf(ours, leaf)
  if ours is None or leaf is None:
    return name
  return f"{ours}/{leaf}".removesuffix("/")


def to_transformers(name, family, head):
  """Returns the parameter's name of our weight `name`, None without one.

  Args:
    name: str, our name.
    family: `families.family.Family`.
    head: str, one of `heads.HEADS`.
  """
  prefixes = heads.HEADS[head].prefixes
  prefixes += family.every_head if prefixes else ()
  if not name.startswith(("bert/", *prefixes)):
    return None
  module, _, leaf = name.rpartition("/")
  if leaf not in (*_WEIGHTS, *_BIASES):
    module = name
  if module == "bert/pooler/dense" and not _has_pooler(family, head):
    return None
  theirs = rename(name, family.parameters)
  if theirs is None:
    theirs = rename(module, (*family.head_names.get(head, ()), *family.names))
    if theirs is None:
      return None
    theirs += "/bias" if leaf in _BIASES else "/weight"
  if head in family.bare_heads:
    theirs = theirs.removeprefix(f"{family.prefix}/")
  return theirs.replace("/", ".")


def completed(tensors):
  """Adds the embeddings of encoders that were trained with those of others.

  Args:
    tensors: mapping of our names -> arrays, with `shapes`.

  Returns:
    `tensors`; with a delta to a generator's table, also `WORD_EMBEDDINGS`, the
    sum of both; with a right-to-left encoder that has none, also embeddings
    of its own, which are those from left to right.

  Source: He et al. 2023 (DeBERTaV3), section 3.2, for the sum.
  """
  if any(name.startswith(RIGHT_TO_LEFT) for name in tensors.shapes):
    shared = {
      RIGHT_TO_LEFT + name: name
      for name in tensors.shapes
      if name.startswith("bert/embeddings/")
    }
    own = {name: name for name in tensors.shapes}
    return mappings.Renamed(tensors, shared | own)
  if not {GENERATOR_WORD_EMBEDDINGS, DELTA} <= set(tensors.shapes):
    return tensors

  def total():
    return tensors[GENERATOR_WORD_EMBEDDINGS] + tensors[DELTA]

  shapes = tensors.shapes | {WORD_EMBEDDINGS: tensors.shapes[DELTA]}
  return mappings.Computed(tensors, shapes, {WORD_EMBEDDINGS: total})


def is_transposed(name, family):
  """Whether `transformers` stores our weight `name` transposed, [out, in].

  True of the matrices of dense layers, in most families.
  """
  return name.endswith("/kernel") and family.transposes_kernels


def shape_without_heads(name, shape):
  """Returns the shape of our weight `name` without an axis for heads.

  Args:
    name: str.
    shape: tuple of int, with such an axis or not.
  """
  if "/attention/" not in name or len(shape) < 2:
    return shape
  if name.endswith("/output/dense/kernel"):
    return (math.prod(shape[:-1]), shape[-1])
  if name.endswith("/kernel"):
    return (shape[0], math.prod(shape[1:]))
  return (math.prod(shape),)


def _has_pooler(family, head):
  """Whether the architecture of `transformers` with that head has a pooler."""
  has_pooler = heads.HEADS[head].has_pooler
  return family.has_pooler if has_pooler is None else has_pooler


def _leaf(module, leaf):
  """Returns the rest of a name after our `module`, or None."""
  if module is None:
    return None
  # Files of 2018 and 2019 have these names.
  leaf = {"gamma": "weight", "beta": "bias"}.get(leaf, leaf)
  if module.endswith("_embeddings"):
    return {"weight": ""}.get(leaf)
  if module.endswith("LayerNorm"):
    return {"weight": "gamma", "bias": "beta"}.get(leaf)
  if module in _HEADS:
    return {"weight": "output_weights", "bias": "output_bias"}.get(leaf)
  return {"weight": "kernel", "bias": "bias"}.get(leaf)


def rename(name, pairs):
  """Replaces the beginning of `name` by the first of `pairs` that fits.

  Args:
    name: str.
    pairs: iterable of (old, new), where # is any number and + one above 0.

  Returns:
    str, or None if none fits.
  """
  for old, new in pairs:
    match = _beginning(old).match(name)
    if match:
      for number in match.groups():
        new = re.sub("[#+]", number, new, count=1)
      return new + name[match.end() :]
  return None


@functools.cache
def _beginning(pattern):
  """Returns a regular expression of whole parts between slashes."""
  end = "" if pattern.endswith("/") else "(?=/|$)"
  pattern = re.escape(pattern).replace(r"\#", r"(\d+)")
  return re.compile(pattern.replace(r"\+", r"([1-9]\d*)") + end)
