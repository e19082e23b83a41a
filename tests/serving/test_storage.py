"""What an export leaves on the disk."""

import functools
import gc

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import tokenizers
from keras_bert_impl.serving import export, stored_weights
from keras_bert_impl.serving.local import loading
from tests import slow
from tests.serving import all_heads


def stored_in(version_dir):
  """Returns the number of elements under variables/, and their dtypes."""
  reader = tf.train.load_checkpoint(str(version_dir / "variables/variables"))
  shapes = reader.get_variable_to_shape_map()
  dtypes = reader.get_variable_to_dtype_map()
  names = shapes.keys() - {"_CHECKPOINTABLE_OBJECT_GRAPH"}
  size = sum(int(np.prod(shapes[name])) for name in names)
  return size, {dtypes[name].name for name in names}


@pytest.mark.parametrize(
  "name", slow.all_but(all_heads.QUICK, (*all_heads.QUICK, "fill_mask"))
)
def test_every_weight_is_stored_once(exports, name):
  head, version_dir = exports[name]
  # Filling masks needs neither the pooler nor the next sentence.
  training_only = (
    ("pooler/", "cls/seq_relationship/") if name == "fill_mask" else ()
  )
  served = [
    int(np.prod(weight.shape))
    for weight in head.model.weights
    if not any(part in weight.path for part in training_only)
  ]
  assert stored_in(version_dir) == (sum(served), {"float32"})


PRECISIONS = {"bfloat16": 2**-8, "float16": 2**-11, "int8": 2**-7}


def rounded(weight, dtype, path):
  """Returns a weight as it is stored in a dtype, float32."""
  if dtype != "int8":
    return tf.cast(tf.cast(weight, dtype), tf.float32).numpy()
  if weight.ndim < 2:
    return weight
  # Rows of tables, columns of matrices.
  others = 1 if "embeddings" in path else tuple(range(weight.ndim - 1))
  scale = np.abs(weight).max(others, keepdims=True) / np.float32(127)
  return np.round(weight / scale) * scale


def check_answers_with_rounded_weights(function, head, dtype):
  """Checks a function of ids whose weights are stored in a dtype."""
  tensors = {k: tf.constant(v) for k, v in all_heads.TOKEN_IDS.items()}
  logits = function(**tensors)["logits"]
  assert logits.dtype == tf.float32
  error = np.abs(logits - head.expected["token_ids"]["logits"])
  assert 0 < error.max() < 32 * PRECISIONS[dtype]
  # The weights are rounded, and nothing that is computed from them.
  for weight in head.model.weights:
    weight.assign(rounded(weight.numpy(), dtype, weight.path))
  expected = head.model(all_heads.TOKEN_IDS, training=False)
  np.testing.assert_allclose(logits, expected["logits"], atol=1e-5)


@pytest.mark.parametrize("dtype", ["bfloat16", "int8"])
def test_weights_may_be_held_in_less(dtype, tmp_path):
  head = all_heads.make("regression", tmp_path)
  head.servable.set_dtypes(weights_dtype=dtype)
  check_answers_with_rounded_weights(head.servable.answer_ids, head, dtype)


@pytest.mark.integration
@pytest.mark.parametrize("dtype", slow.all_but(["int8"], PRECISIONS))
def test_small_weights_take_less_space(dtype, tmp_path):
  head = all_heads.make("regression", tmp_path)
  version_dir = tmp_path / "small" / "1"
  export.export(head.servable, version_dir.parent, weights_dtype=dtype)
  weights = head.model.get_weights()
  size, dtypes = sum(weight.size for weight in weights), {dtype}
  if dtype == "int8":  # The scales of matrices, and all vectors.
    size += sum(
      w.shape[0 if "embeddings" in w.path else -1]
      for w in head.model.weights
      if len(w.shape) > 1
    )
    dtypes = {"int8", "float32"}
  assert stored_in(version_dir) == (size, dtypes)
  # Signatures outlive what has been loaded, in the local server too.
  answer = tf.saved_model.load(str(version_dir)).signatures["token_ids"]
  served = loading.load(version_dir, 1).signatures["token_ids"]
  gc.collect()
  check_answers_with_rounded_weights(answer, head, dtype)
  # A session initialises the weights as TF Serving does.
  with tf.Graph().as_default(), tf.compat.v1.Session() as session:
    meta = tf.compat.v1.saved_model.load(session, ["serve"], str(version_dir))
    signature = meta.signature_def["token_ids"]
    feed = {
      signature.inputs[name].name: values
      for name, values in all_heads.TOKEN_IDS.items()
    }
    found = session.run(signature.outputs["logits"].name, feed)
  expected = head.model(all_heads.TOKEN_IDS, training=False)["logits"]
  np.testing.assert_allclose(found, expected, atol=1e-5)
  found = served.run(all_heads.TOKEN_IDS)["logits"]
  np.testing.assert_allclose(found, expected, atol=1e-5)


def test_versions_in_one_process_keep_their_own_weights(tmp_path):
  for number in (1, 2):
    module = tf.Module()
    table = tf.fill([3, 2], float(number))
    module.weight = weight = stored_weights.StoredWeight(table, "int8")
    module.read = tf.function(
      functools.partial(tf.convert_to_tensor, weight), input_signature=[]
    )
    tf.saved_model.save(module, str(tmp_path / str(number)))
  loaded = [tf.saved_model.load(str(tmp_path / name)) for name in "1221"]
  assert [float(module.read()[2, 1]) for module in loaded] == [1, 2, 2, 1]


@pytest.mark.parametrize(
  ("name", "files"),
  [
    ("regression", {"vocab.txt"}),
    pytest.param(
      "question_answering_of_byte_bpe",
      {"vocab.json", "merges.txt"},
      marks=pytest.mark.slow,
    ),
    pytest.param(
      "question_answering_of_sentencepiece",
      {"spiece.model"},
      marks=pytest.mark.slow,
    ),
  ],
)
def test_the_files_of_the_vocabulary_are_assets(exports, name, files):
  head, version_dir = exports[name]
  assets = version_dir / "assets"
  assert {path.name for path in assets.iterdir()} == files
  # Enough to make the tokenizer again.
  tokenizer = head.servable.tokenizer
  again = tokenizers.load(assets, **vars(tokenizer.options))
  texts = [text for text in all_heads.TEXTS if isinstance(text, str)]
  assert again.tokenize(texts).to_list() == tokenizer.tokenize(texts).to_list()
