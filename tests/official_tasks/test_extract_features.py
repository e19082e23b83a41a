"""extract_features.py: all runs of it in one process."""

import functools
import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import configs, models, tokenizers
from tests.official_tasks import scripts

pytestmark = pytest.mark.integration

LINES = (
  "the cat sees the dog and the bird likes the old tree . ||| a new house .",
  "the cat",
  "",
  "the big red dog finds a small river under the tree and the old house . " * 3,
  "the cat ||| the dog",
)
LENGTH = 24


def model_path(folder):
  return str(folder / "model.keras")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
  folder = tmp_path_factory.mktemp("features")
  scripts.write_model_files(folder, num_hidden_layers=2, initializer_range=0.5)
  config = configs.EncoderConfig.from_json_file(folder / "bert_config.json")
  # Some weights lose more in bfloat16 than a test can allow for.
  keras.utils.set_random_seed(0)
  models.TransformerEncoder(config).save(model_path(folder))
  (folder / "texts.txt").write_text("\n".join(LINES) + "\n", encoding="utf-8")
  (folder / "empty.txt").write_text("")
  (folder / "latin1.txt").write_bytes(b"the\ncaf\xe9\n")
  return folder


def flags(folder, output, **values):
  return {
    "input_file": folder / "texts.txt",
    "output_file": folder / output,
    "init_checkpoint": model_path(folder),
    "max_seq_length": LENGTH,
    "batch_size": 2,
    "layers": "-1",
    **values,
  }


@pytest.fixture(scope="module", autouse=True)
def outcomes(folder):
  """Runs the script once for each file in `folder`."""
  # Flags of google-research/bert that have no effect.
  of_tpus = {
    "use_tpu": True,
    "master": "grpc://10.0.0.1:8470",
    "num_tpu_cores": 8,
    "use_one_hot_embeddings": True,
  }
  runs = [
    flags(folder, "features.jsonl", layers="-1,-2", **of_tpus),
    flags(folder, "features.npz", layers="0,1,2,-1", batch_size=3),
    flags(folder, "features.tf_record", layers="-2"),
    flags(folder, "half.npz", compute_dtype="bfloat16"),
    flags(folder, "features.out", output_format="jsonl"),
  ]
  for status, err in scripts.run_each("extract_features", runs):
    assert status == 0, err


def expected_rows(folder, layers):
  """Returns (input_ids, values) of each line, encoded one by one."""
  encoder = keras.models.load_model(model_path(folder))
  hidden = keras.Model(
    encoder.input, [encoder.hidden_states[index] for index in layers]
  )
  tokenizer = tokenizers.load(str(folder / "vocab.txt"))
  rows = []
  for line in LINES:
    texts = [[text] for text in line.strip().split(" ||| ")]
    inputs = tokenizer(*texts, max_seq_length=LENGTH)
    ids = inputs["input_ids"].numpy()[0]
    inputs = {name: inputs[name] for name in encoder.input}
    states = hidden(inputs)
    states = states if isinstance(states, list) else [states]
    rows.append((ids, np.stack([state[0] for state in states], axis=1)))
  return rows


def check_jsonl(folder, path, layers):
  tokens = (folder / "vocab.txt").read_text().split("\n")
  lines = path.read_text(encoding="utf-8").splitlines()
  assert len(lines) == len(LINES)
  for number, (ids, values) in enumerate(expected_rows(folder, layers)):
    line = json.loads(lines[number])
    assert line["linex_index"] == number
    assert [f["token"] for f in line["features"]] == [tokens[i] for i in ids]
    for feature in line["features"]:
      assert [layer["index"] for layer in feature["layers"]] == layers
    found = [
      [layer["values"] for layer in feature["layers"]]
      for feature in line["features"]
    ]
    np.testing.assert_allclose(found, values, atol=1e-5)


def test_json_lines_are_those_of_the_original(folder):
  check_jsonl(folder, folder / "features.jsonl", [-1, -2])


def test_the_format_can_be_named(folder):
  check_jsonl(folder, folder / "features.out", [-1])


def test_numpy_gets_all_lines_as_one_array(folder):
  with np.load(folder / "features.npz") as found:
    rows = expected_rows(folder, [0, 1, 2, -1])
    ids, values = (np.concatenate(part) for part in zip(*rows))
    np.testing.assert_array_equal(found["input_ids"], ids)
    np.testing.assert_allclose(found["values"], values, atol=1e-5)
    np.testing.assert_array_equal(found["layers"], [0, 1, 2, -1])
    lengths = [len(row) for row, _ in rows]
    np.testing.assert_array_equal(np.diff(found["row_splits"]), lengths)
    assert max(lengths) == LENGTH  # The long line was cut.
    assert not np.array_equal(found["values"][:, 0], found["values"][:, 1])
    np.testing.assert_array_equal(found["values"][:, 2], found["values"][:, 3])


def test_bfloat16_gives_nearly_the_same(folder):
  half = np.load(folder / "half.npz")["values"]
  whole = np.load(folder / "features.npz")["values"][:, -1:]
  assert half.dtype == np.float32
  difference = np.abs(half - whole)
  # Products of 8 bits are rounded elsewhere with AVX-512 than with AMX.
  assert 0 < difference.max() < 0.2 and difference.mean() < 0.02


def test_records_have_a_line_each(folder):
  records = list(tf.data.TFRecordDataset(str(folder / "features.tf_record")))
  rows = expected_rows(folder, [-2])
  assert len(records) == len(rows)
  for number, (record, (ids, values)) in enumerate(zip(records, rows)):
    feature = tf.train.Example.FromString(record.numpy()).features.feature
    assert list(feature["linex_index"].int64_list.value) == [number]
    assert list(feature["layers"].int64_list.value) == [-2]
    np.testing.assert_array_equal(feature["input_ids"].int64_list.value, ids)
    [hidden_size] = feature["hidden_size"].int64_list.value
    found = np.array(feature["values"].float_list.value)
    found = found.reshape(len(ids), 1, hidden_size)
    np.testing.assert_allclose(found, values, atol=1e-5)


def test_a_mistake_is_one_line_and_leaves_no_file(folder):
  scripts.check_mistakes(
    "extract_features",
    [
      ({"output_file": folder / "no.txt"}, "no.txt) must end in .jsonl"),
      ({"layers": "-1,3"}, "0, the embeddings, to 2, or from -1, the last"),
      ({"layers": "last"}, "layers (last) must be numbers"),
      ({"layers": ","}, "layers (,) must be numbers"),
      ({"max_seq_length": 1000}, "max_seq_length (1000) must be at most 64"),
      ({"input_file": folder / "none.txt"}, "none.txt) does not exist"),
      ({"input_file": folder / "empty.txt"}, "empty.txt) is empty"),
      ({"input_file": folder / "latin1.txt"}, "latin1.txt:2 is not UTF-8"),
      ({"init_checkpoint": folder / "none.ckpt"}, f"{folder}/none.ckpt"),
    ],
    functools.partial(flags, folder, "no.jsonl"),
  )
  assert not list(folder.glob("no.*"))
