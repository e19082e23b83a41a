"""Files `tf_model.h5`, written here with the names of `transformers` 4.49."""

import pathlib
import re

import h5py
import numpy as np
import pytest

from keras_bert_impl.checkpoints import reading
from keras_bert_impl.checkpoints.formats import h5_format
from tests.checkpoints import originals

PARITY = pathlib.Path(__file__).parents[1] / "data/parity"
# Names in files that `transformers` wrote.
NAMES = {
  "bert/tf_bert_model/bert/embeddings/word_embeddings/weight:0": (
    "bert.embeddings.word_embeddings.weight"
  ),
  "bert/tf_bert_model/bert/embeddings/position_embeddings/embeddings:0": (
    "bert.embeddings.position_embeddings.weight"
  ),
  "bert/x/bert/encoder/layer_._11/attention/self/query/kernel:0": (
    "bert.encoder.layer.11.attention.self.query.weight"
  ),
  "bert/x/bert/encoder/layer_._0/output/LayerNorm/gamma:0": (
    "bert.encoder.layer.0.output.LayerNorm.weight"
  ),
  "nsp___cls/tf_bert_for_pre_training/nsp___cls/seq_relationship/kernel:0": (
    "cls.seq_relationship.weight"
  ),
  "mlm___cls/tf_bert_for_pre_training/mlm___cls/predictions/transform/LayerNorm"
  "/beta:0": "cls.predictions.transform.LayerNorm.bias",
  "mlm___cls/tf_bert_for_pre_training/mlm___cls/predictions/bias:0": (
    "cls.predictions.bias"
  ),
  "albert/tf_albert_for_pre_training/albert/encoder/albert_layer_groups_._0"
  "/albert_layers_._0/ffn_output/bias:0": (
    "albert.encoder.albert_layer_groups.0.albert_layers.0.ffn_output.bias"
  ),
  "vocab_projector/tf_distil_bert_for_masked_lm/vocab_projector/bias:0": (
    "vocab_projector.bias"
  ),
  "lm_head/tfxlm_roberta_for_masked_lm/lm_head/layer_norm/gamma:0": (
    "lm_head.layer_norm.weight"
  ),
}


def dataset_name(name, array):
  """Returns the name of a parameter in a model of TensorFlow."""
  name = re.sub(r"/(\d+)(?=/)", r"_._\1", name.replace(".", "/"))
  norm = re.search("(?i)layer_?norm", name.rpartition("/")[0].split("/")[-1])
  if norm:
    name = re.sub("/weight$", "/gamma", re.sub("/bias$", "/beta", name))
  elif "_embeddings/" in name:
    name = re.sub("(?<!word_embeddings)/weight$", "/embeddings", name)
  elif array.ndim == 2:
    name = re.sub("/weight$", "/kernel", name)
  for head in ("predictions", "seq_relationship"):
    name = re.sub(f"^cls/{head}", f"x___cls/{head}", name)
  return f"{name.partition('/')[0]}/tf_model/{name}:0"


def write(folder, arrays, **options):
  with h5py.File(folder / h5_format.FILE_NAME, "w") as file:
    for name, array in arrays.items():
      name = dataset_name(name, array)
      array = array.T if name.endswith("/kernel:0") else array
      file.create_dataset(name, data=array, **options)
  return folder / h5_format.FILE_NAME


@pytest.fixture(name="folder")
def fixture_folder(tmp_path):
  """A folder with a configuration and without weights."""
  originals.copy_config(PARITY / "bert_classifier", tmp_path)
  return tmp_path


@pytest.mark.parametrize("name", NAMES)
def test_names_are_those_of_the_model_in_torch(name):
  assert h5_format.torch_name(name) == NAMES[name]


@pytest.mark.parametrize(
  "name", ["bert_pretraining", "distilbert_masked_lm", "roberta_classifier"]
)
def test_a_model_opens_as_from_safetensors(name, tmp_path):
  source = PARITY / name
  originals.copy_config(source, tmp_path)
  write(tmp_path, originals.stored(source))
  originals.assert_same(tmp_path, source, "h5")


def test_copies_in_other_layers_do_not_count(folder):
  path = write(folder, originals.stored(PARITY / "bert_classifier"))
  name = "bert/embeddings/word_embeddings/weight:0"
  with h5py.File(path, "a") as file:
    file[f"mlm___cls/tf_model/{name}"] = file[f"bert/tf_model/{name}"][:]
  assert len(h5_format.read(path)) == len(
    originals.stored(PARITY / "bert_classifier")
  )


def test_the_bias_that_albert_adds_in_tensorflow_counts(tmp_path):
  source = PARITY / "albert_pretraining"
  arrays = originals.stored(source)
  arrays["predictions.decoder.bias"] = arrays["predictions.bias"] + 1
  originals.copy_config(source, tmp_path)
  write(tmp_path, arrays)
  found = reading.open_checkpoint(tmp_path).tensors[
    "cls/predictions/output_bias"
  ]
  np.testing.assert_array_equal(found, arrays["predictions.decoder.bias"])


@pytest.mark.parametrize("length", [0, 100, 3000, -1000])
def test_a_truncated_file_is_refused_with_its_name(length, folder):
  path = write(folder, originals.stored(PARITY / "bert_classifier"))
  path.write_bytes(path.read_bytes()[:length])
  with pytest.raises(ValueError, match="tf_model.h5 is (damaged|cut off)"):
    h5_format.read(path)


def test_values_in_pieces_are_refused(folder):
  arrays = {"bert.pooler.dense.weight": np.zeros((50, 50), "float32")}
  path = write(folder, arrays, compression="gzip")
  with pytest.raises(ValueError, match="pooler/dense/kernel:0 in .*compressed"):
    h5_format.read(path)


def test_values_in_other_files_are_refused(folder):
  (folder / "secret").write_bytes(bytes(1000))
  arrays = {"bert.pooler.dense.weight": np.zeros((5, 5), "float32")}
  path = write(folder, {})
  name = "bert/tf_model/bert/pooler/dense/kernel:0"
  with h5py.File(path, "a") as file:
    file.create_dataset(
      name, (5, 5), "float32", external=[(folder / "secret", 0, 100)]
    )
  with pytest.raises(ValueError, match="or in another file"):
    h5_format.read(path)
  other = folder / "other.h5"
  write(folder, arrays).rename(other)
  with h5py.File(path, "w") as file:
    file["bert/tf_model/link"] = h5py.ExternalLink(other, "/")
    file["bert/tf_model/bert"] = h5py.SoftLink("/bert")
  assert len(h5_format.read(path)) == 0


def test_other_types_are_refused_by_name(folder):
  path = write(folder, {"bert.pooler.dense.bias": np.zeros(3, ">f4")})
  with pytest.raises(ValueError, match="bert.pooler.dense.bias in .* type >f4"):
    h5_format.read(path)["bert.pooler.dense.bias"]


def test_a_file_that_is_no_hdf5_is_refused(folder):
  (folder / "tf_model.h5").write_text("text")
  with pytest.raises(ValueError, match="tf_model.h5 is damaged, or not"):
    reading.open_checkpoint(folder)
