"""What an export leaves on the disk."""

import json

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl.serving import export
from tests.serving import all_heads, toy


def stored_weights(version_dir):
  """Returns {name: (shape, dtype)} of what is under variables/."""
  reader = tf.train.load_checkpoint(str(version_dir / "variables/variables"))
  dtypes = reader.get_variable_to_dtype_map()
  return {
    name: (shape, dtypes[name])
    for name, shape in reader.get_variable_to_shape_map().items()
    if name != "_CHECKPOINTABLE_OBJECT_GRAPH"
  }


def size_of(version_dir):
  files = (version_dir / "variables").glob("variables.data-*")
  return sum(file.stat().st_size for file in files)


def num_elements(shapes):
  return sum(int(np.prod(shape)) for shape in shapes)


@pytest.mark.parametrize("name", all_heads.NAMES)
def test_every_weight_is_stored_once(exports, name):
  head, version_dir = exports[name]
  stored = stored_weights(version_dir)
  served = [w for w in head.model.weights if is_served(w, name)]
  assert num_elements(shape for shape, _ in stored.values()) == (
    num_elements(weight.shape for weight in served)
  )
  assert {dtype for _, dtype in stored.values()} == {tf.float32}


def is_served(weight, name):
  # Filling masks needs neither the pooler nor the next sentence.
  training_only = ("pooler/", "cls/seq_relationship/")
  return name != "fill_mask" or not any(p in weight.path for p in training_only)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_weights_of_half_precision_take_half_the_space(
  exports, tmp_path, dtype
):
  servable = all_heads.make("classification", tmp_path).servable
  version_dir = tmp_path / "half" / "1"
  export.export(servable, version_dir.parent, weights_dtype=dtype)
  whole = exports["classification"].version_dir
  stored = stored_weights(version_dir)
  assert {stored_dtype.name for _, stored_dtype in stored.values()} == {dtype}
  assert num_elements(shape for shape, _ in stored.values()) == (
    num_elements(shape for shape, _ in stored_weights(whole).values())
  )
  saved = 2 * num_elements(shape for shape, _ in stored.values())
  assert size_of(whole) - size_of(version_dir) >= saved


@pytest.mark.parametrize("name", all_heads.NAMES)
def test_the_vocabulary_is_an_asset(exports, name):
  [asset] = (exports[name].version_dir / "assets").iterdir()
  assert asset.read_text(encoding="utf-8").split() == toy.TOKENS


@pytest.mark.parametrize("name", all_heads.NAMES)
def test_a_description_says_what_is_served(exports, name):
  head, version_dir = exports[name]
  description = json.loads(
    (version_dir / "assets.extra/model.json").read_text(encoding="utf-8")
  )
  assert description["head"] == head.servable.head
  assert description["model_name"] == name
  assert description["max_seq_length"] == toy.MAX_SEQ_LENGTH
