"""BERT of TensorFlow's Model Garden.

tests/data/model_garden was written by its version 2.20: checkpoints of a
`BertEncoder`, a `BertEncoderV2` and a `BertPretrainerV2`, and their outputs.
"""

import dataclasses
import pathlib
import shutil

import numpy as np
import pytest

from keras_bert_impl import heads, models
from keras_bert_impl.checkpoints import reading
from keras_bert_impl.checkpoints.formats import tf_format
from tests import architectures
from tests.checkpoints import originals

DATA = pathlib.Path(__file__).parents[1] / "data/model_garden"
CONFIG = architectures.tiny(
  embedding_size=8,
  num_hidden_layers=2,
  max_position_embeddings=12,
  hidden_act="gelu_new",
)


def arrays_of(folder):
  tensors = tf_format.read(folder / "bert_model.ckpt")
  return {
    name: tensors[name] for name in tensors if name.endswith("VARIABLE_VALUE")
  }


@pytest.mark.parametrize("name", ["encoder", "encoder_v2", "pretrainer"])
def test_an_encoder_has_the_outputs_of_the_original(name):
  model = models.from_checkpoint(DATA / name / "bert_model.ckpt")
  assert model.config == CONFIG
  originals.assert_outputs(model, DATA / name)


def test_a_masked_language_model_has_the_outputs_of_the_original():
  folder = DATA / "pretrainer"
  assert reading.open_checkpoint(folder).described().head == heads.FILL_MASK
  originals.assert_outputs(models.from_checkpoint(folder, heads=True), folder)


def test_a_configuration_beside_it_counts_and_gelu_is_that_of_the_garden(
  tmp_path,
):
  shutil.copytree(DATA / "encoder_v2", tmp_path, dirs_exist_ok=True)
  config = dataclasses.replace(CONFIG, num_attention_heads=4, hidden_act="gelu")
  config.to_json_file(tmp_path / "bert_config.json")
  found = reading.open_checkpoint(tmp_path).described().config
  assert found == dataclasses.replace(config, hidden_act="gelu_new")


@pytest.mark.parametrize(
  "root", ["", "model/", "encoder/", "model/layer_with_weights-0/"]
)
@pytest.mark.parametrize("name", ["encoder", "encoder_v2"])
def test_an_encoder_may_be_anywhere(name, root, tmp_path):
  arrays = arrays_of(DATA / name)
  renamed = {root + n.partition("/")[2]: a for n, a in arrays.items()}
  slot = "/.OPTIMIZER_SLOT/optimizer/m/.ATTRIBUTES/VARIABLE_VALUE"
  renamed |= {
    n.replace("/.ATTRIBUTES/VARIABLE_VALUE", slot): np.zeros_like(a)
    for n, a in renamed.items()
  }
  tf_format.write(tmp_path / "model.ckpt-5", renamed)
  found = reading.open_checkpoint(tmp_path).tensors
  wanted = reading.open_checkpoint(DATA / name).tensors
  assert found.shapes == wanted.shapes
  for ours in wanted:
    np.testing.assert_array_equal(found[ours], wanted[ours])


def test_a_missing_weight_is_named(tmp_path):
  arrays = arrays_of(DATA / "encoder_v2")
  arrays = {n: a for n, a in arrays.items() if "1/_output_dense" not in n}
  tf_format.write(tmp_path / "bert_model.ckpt", arrays)
  with pytest.raises(ValueError, match="layer_1/output/dense/kernel is"):
    models.from_checkpoint(tmp_path)


@pytest.mark.parametrize("shape", [(), (8,), (8, 0, 4), (2, 2, 2, 2)])
def test_other_shapes_are_no_encoder(shape, tmp_path):
  name = "encoder/_transformer_layers/0/_attention_layer/_query_dense/kernel"
  name += "/.ATTRIBUTES/VARIABLE_VALUE"
  tf_format.write(tmp_path / "bert_model.ckpt", {name: np.zeros(shape)})
  with pytest.raises(FileNotFoundError, match="There is no bert_config.json"):
    models.from_checkpoint(tmp_path)
