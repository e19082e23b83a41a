"""What checkpoints of DeBERTa have that those of other families have not."""

import json
import pathlib
import shutil

import numpy as np
import pytest
import safetensors.numpy

from keras_bert_impl import configs, models
from keras_bert_impl.checkpoints import reading, writing
from keras_bert_impl.checkpoints.descriptions import config_json
from keras_bert_impl.checkpoints.naming import mappings
from keras_bert_impl.models import checkpoint_loading

PARITY = pathlib.Path(__file__).parents[1] / "data/parity"


def change(folder, arrays=None, **values):
  """Changes the tensors and the config.json of a folder."""
  path = folder / "config.json"
  config = json.loads(path.read_text()) | values
  path.write_text(json.dumps(config))
  path = folder / "model.safetensors"
  if arrays:
    safetensors.numpy.save_file(arrays(safetensors.numpy.load_file(path)), path)


@pytest.fixture(name="folder")
def fixture_folder(tmp_path):
  return shutil.copytree(PARITY / "deberta_v2_masked_lm", tmp_path / "model")


def outputs_of(folder):
  inputs = np.load(PARITY / "deberta_v2_masked_lm/expected.npz")
  model = models.from_checkpoint(folder, heads=True)
  return model(
    {
      "input_ids": inputs["in.input_ids"],
      "input_mask": inputs["in.attention_mask"],
    }
  )["token_logits"]


def test_both_layouts_of_its_language_model_head_are_read(folder):
  expected = outputs_of(folder)

  def as_released(arrays):
    names = {
      name: name.replace(
        "cls.predictions.transform", "lm_predictions.lm_head"
      ).replace("cls.predictions", "lm_predictions.lm_head")
      for name in arrays
    }
    return {names[name]: array for name, array in arrays.items()}

  change(folder, as_released, legacy=False)
  np.testing.assert_array_equal(outputs_of(folder), expected)
  # The layout that is written.
  described = reading.open_checkpoint(folder).described()
  assert config_json.to_dict(described)["legacy"] is True


def test_what_releases_keep_for_pretraining_is_passed_over(folder):
  expected = outputs_of(folder)

  def with_more(arrays):
    return arrays | {"mask_predictions.dense.weight": np.ones((32, 32))}

  change(folder, with_more)
  np.testing.assert_array_equal(outputs_of(folder), expected)


def test_positions_that_are_not_for_the_input_are_for_the_decoder_of_masks(
  folder, tmp_path
):
  table = np.random.default_rng(0).normal(size=(40, 32)).astype("float32")
  name = "deberta.embeddings.position_embeddings.weight"
  change(folder, lambda arrays: arrays | {name: table})
  encoder = models.from_checkpoint(folder)
  checkpoint = reading.open_checkpoint(folder)
  model, result = checkpoint_loading.load(checkpoint, checkpoint.described())
  assert model.use_mask_decoder and not result.left_over
  assert "bert/embeddings/position_embeddings" not in [
    weight.path for weight in encoder.weights
  ]
  tensors = mappings.Arrays({w.path: w for w in model.weights})
  written = tmp_path / "written"
  written.mkdir()
  assert not writing.write_safetensors(
    str(written), tensors, checkpoint.described(), 10**9
  )
  arrays = safetensors.numpy.load_file(written / "model.safetensors")
  np.testing.assert_array_equal(arrays[name], table)


@pytest.mark.parametrize(
  ("changes", "message"),
  [
    ({"pos_att_type": ["p2p"]}, "pos_att_type .'p2p'. in .* must be one of"),
    ({"pos_att_type": "c2p|c2p"}, "pos_att_type .'c2p.c2p'. in .* must be one"),
    ({"pos_att_type": ""}, "pos_att_type .''. in .* must be one of"),
    ({"position_biased_input": 3}, "position_biased_input .3. in .* must be"),
    ({"pooler_hidden_size": 16}, "pooler_hidden_size .16. in .* hidden_size"),
    ({"attention_head_size": 4}, "query/kernel has shape"),
    ({"is_decoder": True}, "is_decoder .True. in .* not supported"),
    ({"talking_head": True}, "talking_head .True. in .* not supported"),
    ({"norm_rel_ebd": "batch"}, "norm_rel_ebd .'batch'. must be one of"),
    ({"conv_kernel_size": 2}, "conv_kernel_size .2. must be odd"),
    ({"position_buckets": 1}, "position_buckets .1. must be from 2"),
    ({"position_buckets": 16}, "rel_embeddings has shape .16, 32. there, but"),
    ({"share_att_key": False}, "pos_key/kernel is missing"),
    ({"relative_attention": False}, "needs relative_attention"),
  ],
)
def test_wrong_configurations_are_refused_in_one_line(folder, changes, message):
  change(folder, **changes)
  with pytest.raises(ValueError, match=message) as error:
    models.from_checkpoint(folder)
  assert "\n" not in str(error.value)


def test_a_key_that_is_left_out_means_what_it_means_in_transformers():
  path = PARITY / "deberta_v2_encoder/config.json"
  values = json.loads(path.read_text())
  for key in (
    "pos_att_type",
    "relative_attention",
    "position_buckets",
    "share_att_key",
    "norm_rel_ebd",
    "type_vocab_size",
    "position_biased_input",
    "layer_norm_eps",
    "pooler_hidden_act",
  ):
    del values[key]
  config = config_json.from_dict(values, "config.json").config
  assert config.position_embedding_type == "learned"
  assert (config.relative_attention, config.pos_att_type) == (False, "")
  assert (config.type_vocab_size, config.layer_norm_eps) == (0, 1e-7)
  assert (config.pooler_act, config.norm_rel_ebd) == ("gelu", "none")


def test_texts_in_one_row_are_refused_beside_a_convolution():
  config = configs.EncoderConfig.preset(
    "deberta_v2_xlarge",
    vocab_size=20,
    hidden_size=16,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=16,
  )
  with pytest.raises(ValueError, match="conv_kernel_size .3. must be 0 with"):
    models.TransformerEncoder(config, use_pooler=False, use_sequence_ids=True)
