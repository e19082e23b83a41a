"""Checkpoints with fewer heads of attention."""

import json
import pathlib

import numpy as np
import pytest

from keras_bert_impl import configs, models
from keras_bert_impl.model_folders import conversion
from tests import architectures, slow

PARITY = pathlib.Path(__file__).parents[1] / "data/parity"
IDS = np.random.default_rng(0).integers(5, 60, (2, 9)).astype("int32")


def prune(source, out, num_heads, importance=None, **options):
  """Converts; returns the results."""
  config = conversion.ConversionConfig(
    str(source), str(out), num_heads=num_heads, head_data="dev.tsv", **options
  )
  return conversion.convert(config, lambda config: importance)


def outputs(model):
  """Returns {name: array}, all outputs of a model for IDS."""
  mask = np.ones_like(IDS)
  mask[1, 6:] = 0
  values = {"input_ids": IDS, "input_mask": mask, "segment_ids": 0 * IDS}
  found = model({name: values[name] for name in model.input})
  return {name: np.array(x) for name, x in found.items() if x is not None}


@pytest.mark.parametrize(
  "name",
  slow.all_but(
    ("bert_pretraining", "modernbert_masked_lm"),
    (
      "bert_pretraining",
      "deberta_v2_classifier",
      "distilbert_classifier",
      "electra_discriminator",
      "modernbert_masked_lm",
      "roberta_masked_lm",
      "xlm_roberta_token_classifier",
    ),
  ),
)
def test_heads_that_are_left_compute_what_they_did(name, tmp_path):
  whole = models.from_checkpoint(PARITY / name, heads=True)
  config = whole.config
  layers, heads = config.num_hidden_layers, config.num_attention_heads
  importance = np.random.default_rng(1).random((layers, heads))
  file_format = "keras" if name == "bert_pretraining" else "safetensors"
  result = prune(
    PARITY / name, tmp_path / "out", 1, importance, format=file_format
  )
  pruned = models.from_checkpoint(tmp_path / "out", heads=True)
  kept = importance.argmax(axis=1)
  assert result["model"]["kept_heads"] == kept[:, None].tolist()
  assert pruned.config.num_attention_heads == 1
  assert pruned.config.head_size == config.head_size
  assert pruned.count_params() < whole.count_params()
  for weight in whole.weights:
    if weight.path.endswith("attention/output/dense/kernel"):
      layer = int(weight.path.split("layer_")[1].split("/")[0])
      by_head = np.array(weight).reshape(heads, -1)
      by_head[np.arange(heads) != kept[layer]] = 0.0
      weight.assign(by_head.reshape(weight.shape))
  expected, found = outputs(whole), outputs(pruned)
  assert expected.keys() == found.keys()
  for output, array in expected.items():
    np.testing.assert_allclose(found[output], array, atol=2e-6, err_msg=output)


def test_the_most_important_heads_are_kept_and_can_be_pruned_again(tmp_path):
  importance = np.array([[0.1, 0.3, 0.2, 0.0]] * 3)
  config = models.from_checkpoint(PARITY / "roberta_masked_lm").config
  assert importance.shape == (
    config.num_hidden_layers,
    config.num_attention_heads,
  )
  result = prune(PARITY / "roberta_masked_lm", tmp_path / "a", 3, importance)
  assert result["model"]["kept_heads"] == [[0, 1, 2]] * 3
  result = prune(tmp_path / "a", tmp_path / "b", 1, importance[:, :3])
  assert result["model"]["kept_heads"] == [[1]] * 3
  written = json.loads((tmp_path / "b/config.json").read_text())
  assert written["attention_head_size"] == config.head_size
  assert written["num_attention_heads"] == 1


@pytest.mark.parametrize(
  ("name", "message"),
  [
    ("albert_pretraining", r"num_heads \(1\) cannot be chosen in"),
    ("mpnet_masked_lm", "a head's number says how it sees positions"),
    ("xlnet_classifier", "a head's number says how it sees positions"),
    ("deberta_masked_lm", r"attention_head_size \(8\) must be None with"),
  ],
)
def test_heads_that_are_not_of_one_layer_alone_are_refused(
  name, message, tmp_path
):
  with pytest.raises(ValueError, match=message):
    prune(PARITY / name, tmp_path / "out", 1)
  assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
  ("options", "message"),
  [
    ({"num_heads": 9}, r"num_heads \(9\) must be from 1 to \d: each layer of"),
    ({"format": "google"}, r"--num_heads \(1\) needs --format=safetensors or"),
    ({"head_data": None}, r"--num_heads \(1\) and --head_data \(None\) must"),
    ({"num_heads": None}, r"--head_data \(dev.tsv\) must be given together"),
  ],
)
def test_wrong_options_are_refused_in_one_line(options, message, tmp_path):
  given = {"num_heads": 1, "head_data": "dev.tsv"} | options
  source, out = str(PARITY / "bert_pretraining"), str(tmp_path / "out")
  with pytest.raises(ValueError, match=message) as error:
    config = conversion.ConversionConfig(source, out, **given)
    conversion.convert(config, lambda config: None)
  assert "\n" not in str(error.value)
  assert not (tmp_path / "out").exists()


def test_biases_by_a_heads_number_are_refused(tmp_path):
  config = configs.EncoderConfig(
    **architectures.SMALL, position_embedding_type="alibi"
  )
  model = models.MaskedLanguageModel(config)
  model.save(tmp_path / "alibi.keras")
  with pytest.raises(ValueError, match="a head's number says how it sees"):
    prune(tmp_path / "alibi.keras", tmp_path / "out", 1)
