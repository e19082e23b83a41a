"""What an export leaves on the disk."""

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import tokenizers
from keras_bert_impl.serving import export
from tests import slow
from tests.serving import all_heads


def stored_weights(version_dir):
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
  assert stored_weights(version_dir) == (sum(served), {"float32"})


PRECISIONS = {"bfloat16": 2**-8, "float16": 2**-11}


def check_answers_with_rounded_weights(function, head, dtype):
  """Checks a function of ids whose weights are stored in a dtype."""
  tensors = {k: tf.constant(v) for k, v in all_heads.TOKEN_IDS.items()}
  logits = function(**tensors)["logits"]
  assert logits.dtype == tf.float32
  error = np.abs(logits - head.expected["token_ids"]["logits"])
  assert 0 < error.max() < 32 * PRECISIONS[dtype]
  # The weights are rounded, and nothing that is computed from them.
  head.model.set_weights(
    [
      tf.cast(tf.cast(weight, dtype), tf.float32).numpy()
      for weight in head.model.get_weights()
    ]
  )
  expected = head.model(all_heads.TOKEN_IDS, training=False)
  np.testing.assert_allclose(logits, expected["logits"], atol=1e-5)


def test_weights_may_be_held_in_half_precision(tmp_path):
  head = all_heads.make("regression", tmp_path)
  head.servable.set_dtypes(weights_dtype="bfloat16")
  assert {w.dtype for w in head.servable.model_weights} == {tf.bfloat16}
  check_answers_with_rounded_weights(head.servable.answer_ids, head, "bfloat16")


@pytest.mark.slow
@pytest.mark.parametrize("dtype", PRECISIONS)
def test_weights_of_half_precision_take_half_the_space(dtype, tmp_path):
  head = all_heads.make("regression", tmp_path)
  version_dir = tmp_path / "half" / "1"
  export.export(head.servable, version_dir.parent, weights_dtype=dtype)
  size = sum(weight.size for weight in head.model.get_weights())
  assert stored_weights(version_dir) == (size, {dtype})
  loaded = tf.saved_model.load(str(version_dir))
  check_answers_with_rounded_weights(
    loaded.signatures["token_ids"], head, dtype
  )


@pytest.mark.parametrize(
  ("name", "files"),
  [
    ("regression", {"vocab.txt"}),
    ("question_answering_of_byte_bpe", {"vocab.json", "merges.txt"}),
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
