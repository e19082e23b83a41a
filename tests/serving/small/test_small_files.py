"""LiteRT and ONNX files answer as the models that they were made of."""

import functools
import http.server
import importlib.util
import json
import pathlib
import re
import shutil
import subprocess
import sys
import threading

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import heads as heads_lib
from keras_bert_impl import kinds, models, tokenizers
from keras_bert_impl.kinds import file_servables, opening
from keras_bert_impl.kinds.texts import text_servables
from keras_bert_impl.model_folders import model_files
from keras_bert_impl.serving import export as saving
from keras_bert_impl.serving.local import versions
from keras_bert_impl.serving.small import (
  export,
  file_signatures,
  graphs,
  runtimes,
)
from tests import browser, slow
from tests.serving import all_heads, toy

pytest.importorskip("ai_edge_litert")
pytest.importorskip("tf2onnx")
pytest.importorskip("onnxruntime")

ROOT = pathlib.Path(__file__).parents[3]
CLIENT = ROOT / "keras_bert_impl/serving/local/client"
PARITY = ROOT / "tests/data/parity"
FORMATS = ("litert", "onnx")
# One of each family, and heads and options of encoders with ops of their own.
FAMILIES = (
  "albert_pretraining",
  "bert_multiple_choice",
  "bert_question_answering",
  "camembert_masked_lm",
  "deberta_masked_lm",
  "deberta_v2_conv_encoder",
  "distilbert_classifier",
  "electra_discriminator",
  "ernie_encoder",
  "eurobert_classifier",
  "eurobert_masked_lm",
  "gte_masked_lm",
  "jina_embeddings_v3_classifier",
  "longformer_masked_lm",
  "longformer_question_answering",
  "modernbert_classifier",
  "modernbert_decoder_classifier",
  "mpnet_masked_lm",
  "nomic_bert_masked_lm",
  "rembert_masked_lm",
  "roberta_classifier",
  "roformer_classifier",
  "t5_encoder",
  "umt5_encoder",
  "xlm_roberta_token_classifier",
  "xlnet_answer_beam",
  "xlnet_classifier",
  "xlnet_language_model",
)
# One of each attention: full, in windows, disentangled, of two streams.
EVERY_RUN = (
  "bert_question_answering",
  "modernbert_classifier",
  "deberta_masked_lm",
  "xlnet_classifier",
)


def load_client():
  """Returns the module examples/client.py, which is in no package."""
  spec = importlib.util.spec_from_file_location(
    "small_client", ROOT / "examples/client.py"
  )
  module = importlib.util.module_from_spec(spec)
  spec.loader.exec_module(module)
  return module


def make_rows(servable, sizes, vocab_size, seed=0):
  """Returns random rows for a servable, {name: int32}; padded but the first."""
  rng, rows = np.random.default_rng(seed), {}
  for name, axes in servable.row_inputs.items():
    shape = [sizes[axis] for axis in axes]
    rows[name] = np.zeros(shape, np.int32)
    if name == "input_ids":
      rows[name] = rng.integers(5, vocab_size, shape)
    elif name == "input_mask":
      rows[name] += np.arange(shape[-1]) < shape[-1] - 1
      rows[name][0] = 1
    elif name == "segment_ids":
      rows[name] = rng.integers(0, 2, shape)
    elif name == "masked_lm_positions":
      rows[name] += np.arange(1, shape[-1] + 1)
  return {name: values.astype(np.int32) for name, values in rows.items()}


def eager(servable, rows):
  tensors = {name: tf.constant(values) for name, values in rows.items()}
  found = servable.answer_rows(tensors)
  return {name: values.numpy() for name, values in found.items()}


def assert_close(found, expected, atol=1e-5):
  assert found.keys() == expected.keys()
  for name, values in expected.items():
    np.testing.assert_allclose(found[name], values, atol=atol, err_msg=name)


@pytest.fixture(scope="module")
def head(tmp_path_factory):
  """A classifier of pairs."""
  folder = tmp_path_factory.mktemp("vocabulary")
  return all_heads.make("classification_of_pairs", folder)


@pytest.fixture(scope="module", params=FORMATS)
def folder(request, head, tmp_path_factory):
  """Its export in a format."""
  export_dir = tmp_path_factory.mktemp(request.param) / "pairs"
  return export.export(head.servable, str(export_dir), request.param)


def test_a_file_takes_any_shape(head, folder):
  run = runtimes.Runtime(folder)
  assert_close(run(all_heads.TOKEN_IDS), head.expected["token_ids"])
  for seed, (batch, length) in enumerate([(1, 3), (5, 16), (2, 9)]):
    sizes = {"batch": batch, "length": length}
    rows = make_rows(head.servable, sizes, len(toy.TOKENS), seed)
    assert_close(run(rows), eager(head.servable, rows))


def test_model_json_says_what_a_client_has_to_know(head, folder):
  about = json.loads(pathlib.Path(folder, "model.json").read_text("utf-8"))
  ids = {"dtype": "int32", "shape": ["batch", "length"]}
  names = ("input_ids", "input_mask", "segment_ids")
  assert about["inputs"] == [{"name": name} | ids for name in names]
  shape = ["batch", len(all_heads.LABELS)]
  logits = {"name": "logits", "dtype": "float32", "shape": shape}
  assert about["outputs"] == [logits]
  assert about["labels"] == list(all_heads.LABELS)
  assert about["max_seq_length"] == toy.MAX_SEQ_LENGTH
  assert about["texts"]["framing"] == ["cls A sep", "cls A sep B sep"]


def test_the_client_makes_the_same_of_texts(head, folder):
  client = load_client()
  about, tokenizer, run = client.load(folder)
  texts, text_pairs = zip(*all_heads.PAIRS)
  rows = client.make_rows(about, tokenizer, texts, text_pairs)
  pieces = zip(*all_heads.PAIRS.values())
  for name, values in toy.batch_of(*pieces).items():
    np.testing.assert_array_equal(rows[name], values)
  answers = client.read(about, tokenizer, rows, run(rows))
  expected = head.expected["serving_default"]
  assert [label.encode() for label, _ in answers] == list(expected["label"])
  scores = [score for _, score in answers]
  np.testing.assert_allclose(scores, expected["score"], atol=1e-5)


@pytest.mark.integration
@pytest.mark.parametrize("name", ["vocab.txt", "tokenizer.json"])
def test_the_client_cuts_pairs_as_a_saved_model_does(name, tmp_path):
  toy.write_vocabulary(tmp_path / "vocab.txt")
  tokenizer = toy.tokenizer(tmp_path / "vocab.txt")
  if name == "tokenizer.json":
    tokenizer.save(tmp_path / "both")
    tokenizer = tokenizers.load(tmp_path / "both/tokenizer.json")
  servable = text_servables.ClassificationServable(
    models.SequenceClassifier(toy.config(tokenizer), 3),
    tokenizer,
    toy.MAX_SEQ_LENGTH,
    all_heads.LABELS,
    text_pairs=True,
  )
  saved = tf.saved_model.load(saving.export(servable, str(tmp_path / "saved")))
  folder = export.export(servable, str(tmp_path / "small"), "onnx")
  client = load_client()
  about, library, run = client.load(folder)
  # Room for 13: both cut, from equal lengths too; one cut; none.
  sizes = [(9, 9), (20, 8), (8, 20), (7, 7), (12, 2), (1, 14), (7, 6)]
  words = "the cat sat on mat the cat sat mat on . [ ] the mat sat on cat the ]"
  pairs = [[" ".join(words.split()[:n]) for n in row] for row in sizes]
  texts, text_pairs = zip(*pairs)
  rows = client.make_rows(about, library, texts, text_pairs)
  made = tokenizer(texts, text_pairs, toy.MAX_SEQ_LENGTH)
  for key, values in made.items():
    np.testing.assert_array_equal(rows[key], values, err_msg=key)
  # [CLS] A [SEP]; of equal ones the original keeps more of A, the library of B.
  firsts = rows["input_mask"].sum(1) - rows["segment_ids"].sum(1) - 2
  odd = name == "vocab.txt"
  assert firsts.tolist() == [6 + odd, 7, 6 + odd, 6 + odd, 11, 1, 7]
  answers = saved.signatures["serving_default"](
    text=tf.constant(texts), text_pair=tf.constant(text_pairs)
  )
  shares = [share for _, share in client.read(about, library, rows, run(rows))]
  np.testing.assert_allclose(shares, answers["score"], atol=1e-5)


def test_the_client_answers_on_the_command_line(folder, monkeypatch, capsys):
  monkeypatch.setattr(sys, "argv", ["client.py", folder, "the cat", "sat."])
  load_client().main()
  assert capsys.readouterr().out.startswith("('")
  monkeypatch.setattr(sys, "argv", ["client.py", folder, "the cat"])
  with pytest.raises(SystemExit, match=r"takes 2 text\(s\), not 1"):
    load_client().main()


@pytest.mark.integration
@pytest.mark.parametrize(
  ("name", "shown"),
  [("multiple_choice", ("0", "1")), ("token_classification", "{'logits'")],
)
def test_the_client_answers_for_other_heads(
  name, shown, tmp_path, monkeypatch, capsys
):
  made = all_heads.make(name, tmp_path)
  export.export(made.servable, str(tmp_path / "made"), "onnx")
  folder = str(tmp_path / "made")  # That of all versions.
  monkeypatch.setattr(sys, "argv", ["client.py", folder, "the cat", "sat."])
  load_client().main()
  assert capsys.readouterr().out.startswith(shown)
  monkeypatch.setattr(sys, "argv", ["client.py", folder])
  with pytest.raises(SystemExit, match="python client.py"):
    load_client().main()


@pytest.fixture(scope="module")
def site(head, tmp_path_factory):
  """Folder with the JavaScript client, what it needs, and a model."""
  folder = tmp_path_factory.mktemp("site")
  browser.install(folder)
  for name in ("client.mjs", "client.html"):
    shutil.copy(CLIENT / name, folder)
  export.export(head.servable, str(folder / "made"), "onnx")
  return folder


@pytest.mark.slow
def test_the_javascript_client_makes_the_same_of_texts(head, site):
  run = functools.partial(
    subprocess.run, cwd=site, capture_output=True, text=True
  )
  expected = head.expected["serving_default"]["probabilities"]
  for texts, shares in zip(all_heads.PAIRS, expected):
    if "[SEP]" not in texts:  # This tokenizer takes it as the token.
      result = run(["node", "client.mjs", "made/1", *texts])
      answer = json.loads(result.stdout)["shares"]
      assert [label for label, _ in answer] == list(all_heads.LABELS)
      found = [share for _, share in answer]
      np.testing.assert_allclose(found, shares, atol=1e-5)
  result = run(["node", "client.mjs", "made/1", "the cat"])
  assert result.stderr == "The model takes 2 text(s), not 1.\n"


@pytest.fixture(scope="module")
def cpp_client(tmp_path_factory):
  """The C++ client, compiled."""
  openvino = pytest.importorskip("openvino")
  if not shutil.which("g++"):
    pytest.skip("g++ is not installed.")
  program = tmp_path_factory.mktemp("cpp") / "client"
  root = pathlib.Path(openvino.__file__).parent
  [library] = (root / "libs").glob("libopenvino.so.*")
  command = ["g++", "-std=c++17", "-Wall", ROOT / "examples/client.cc"]
  command += ["-o", program, f"-I{root / 'include'}", f"-L{root / 'libs'}"]
  command += [f"-Wl,-rpath,{root / 'libs'}", f"-l:{library.name}", "-licuuc"]
  built = subprocess.run(command, capture_output=True, text=True)
  if "No such file" in built.stderr:
    pytest.skip(built.stderr.splitlines()[0])
  assert not built.stderr
  return program


@pytest.mark.slow
def test_the_cpp_client_makes_the_same_of_texts(head, cpp_client, tmp_path):
  export.export(head.servable, str(tmp_path / "made"), "onnx")
  run = functools.partial(
    subprocess.run, cwd=tmp_path, capture_output=True, text=True
  )
  expected = head.expected["serving_default"]["probabilities"]
  for texts, shares in zip(all_heads.PAIRS, expected):
    answer = json.loads(run([cpp_client, "made/1", *texts]).stdout)["shares"]
    assert [label for label, _ in answer] == list(all_heads.LABELS)
    found = [share for _, share in answer]
    np.testing.assert_allclose(found, shares, atol=1e-5)
  failed = run([cpp_client, "none/1", "the cat"])
  assert failed.stderr == "none/1/model.json does not exist.\n"


@pytest.mark.slow
@browser.needed
def test_a_browser_answers_by_itself(head, site, tmp_path):
  handler = functools.partial(
    http.server.SimpleHTTPRequestHandler, directory=str(site)
  )
  shares = head.expected["serving_default"]["probabilities"][0]
  with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with browser.running(tmp_path) as driver:
      page = browser.Page(driver)
      address = f"http://127.0.0.1:{server.server_port}/client.html?model="
      driver.get(address + "made/1")
      found = browser.shares_in_browser(page, next(iter(all_heads.PAIRS)))
      assert list(found) == list(all_heads.LABELS)
      np.testing.assert_allclose(list(found.values()), shares, atol=1e-5)
      driver.get(address + "none/1")
      wrong = "The model does not open"
      page.wait(lambda: wrong in page.texts("pre")[0])
    server.shutdown()


@pytest.mark.integration
@pytest.mark.parametrize("file_format", FORMATS)
def test_a_file_of_fixed_length_takes_rows_one_by_one(
  head, file_format, tmp_path
):
  folder = export.export(
    head.servable, str(tmp_path), file_format, fixed_length=12
  )
  run = runtimes.Runtime(folder)
  assert run.axes["input_ids"] == [1, 12]
  assert file_servables.load(folder).max_seq_length == 12
  assert_close(run(all_heads.TOKEN_IDS), head.expected["token_ids"])
  long = {name: np.tile(x, 2) for name, x in all_heads.TOKEN_IDS.items()}
  with pytest.raises(ValueError, match="14 tokens, but the file takes 12"):
    run(long)


@pytest.mark.parametrize(
  ("arguments", "message"),
  [
    (("tflite",), "format .'tflite'. must be one of litert, onnx"),
    (("onnx", None, "bfloat16"), "must be one of float32, float16, int8"),
    (("onnx", None, None, 17), "fixed_length .17. must be at most .* .16."),
  ],
)
def test_faults_are_told_and_leave_nothing(head, arguments, message, tmp_path):
  with pytest.raises(ValueError, match=message):
    export.export(head.servable, str(tmp_path / "made"), *arguments)
  assert not list(tmp_path.iterdir())


def test_a_missing_package_is_told(head, monkeypatch, tmp_path):
  monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
  with pytest.raises(ValueError, match=r"needs tf2onnx.*\[onnx\]'"):
    export.export(head.servable, str(tmp_path / "made"), "onnx")


def test_a_model_with_ops_that_litert_lacks_is_told(tokenizer, tmp_path):
  servable = all_heads.make("regression", tmp_path).servable
  servable.answer_rows = lambda rows: {
    "found": tf.bitwise.bitwise_and(rows["input_ids"], 3)
  }
  with pytest.raises(ValueError, match="cannot hold.* the ops BitwiseAnd"):
    export.export(servable, str(tmp_path / "made"), "litert")
  assert not (tmp_path / "made").exists()


@pytest.mark.integration
def test_a_file_that_cannot_answer_is_not_served(folder, tmp_path):
  """Another model's file opens like any other, but takes no such rows."""
  about = json.loads(pathlib.Path(folder, "model.json").read_text())
  other = graphs.Graph(
    lambda rows, weights: {"logits": tf.cast(rows["x"], tf.float32)},
    {"x": tf.TensorSpec([None, 2], tf.int32, "x")},
    {"x": ("batch", "length")},
    [],
  )
  for version in ("1", "2"):
    shutil.copytree(folder, tmp_path / version)
  content = export._convert(other, about["format"], "float32")
  (tmp_path / "2" / about["file"]).write_bytes(content)
  served = versions.Versions(tmp_path, file_signatures.load)
  assert served.current.version == 1
  state, message = served.states[2]
  assert state == versions.END
  assert re.search(r"2 is no model .* answer a row: \w+Error: .", message)


@pytest.mark.integration
@pytest.mark.parametrize("file_format", FORMATS)
@pytest.mark.parametrize(
  "weights_dtype", slow.all_but(["int8"], ["float16", "int8"])
)
def test_smaller_weights_take_less_space(
  file_format, weights_dtype, tokenizer, tmp_path
):
  keras.utils.set_random_seed(0)
  sizes = {"hidden_size": 128, "intermediate_size": 512, "num_hidden_layers": 2}
  config = toy.config(tokenizer, **sizes, initializer_range=0.05)
  make = kinds.servables()["regression"]
  servable = make(models.SequenceClassifier(config, 1), tokenizer, 16)
  dtypes = {"whole": "float32", "small": weights_dtype}
  folders = {
    name: export.export(servable, str(tmp_path / name), file_format, None, kind)
    for name, kind in dtypes.items()
  }
  whole, small = (
    pathlib.Path(folder, export.FILE_NAMES[file_format]).stat().st_size
    for folder in folders.values()
  )
  # A small model has many bytes that are no weights.
  assert small < {"float16": 0.6, "int8": 0.4}[weights_dtype] * whole
  rows = make_rows(servable, {"batch": 3, "length": 8}, len(toy.TOKENS))
  expected = eager(servable, rows)["logits"]
  found = runtimes.Runtime(folders["small"])(rows)["logits"]
  error = np.abs(found - expected).max() / np.abs(expected).max()
  assert 0 < error < {"float16": 0.01, "int8": 0.2}[weights_dtype]


def make_servable(name, tokenizer):
  """Returns the servable of a checkpoint of a family."""
  model = models.from_checkpoint(PARITY / name, heads="encoder" not in name)
  kind = heads_lib.USES.get(model.heads[0], model.heads[0])
  arguments = {}
  if kind in (heads_lib.CLASSIFICATION, heads_lib.TOKEN_CLASSIFICATION):
    number = model.output["logits"].shape[-1]
    arguments["labels"] = tuple(f"B-{index}" for index in range(number))
  if kind == heads_lib.QUESTION_ANSWERING:
    arguments["max_query_length"] = 4
  return kinds.servables()[kind](model, tokenizer, 16, **arguments)


@pytest.mark.parametrize("name", ["../other.tflite", "/etc/passwd", "..", ""])
def test_a_file_outside_of_the_folder_is_not_opened(name, tmp_path):
  about = {"inputs": [], "outputs": [], "format": "litert", "file": name}
  (tmp_path / "model.json").write_text(json.dumps(about))
  with pytest.raises(ValueError, match="model.json points outside its folder"):
    runtimes.Runtime(str(tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize("file_format", FORMATS)
@pytest.mark.parametrize("name", ["gelu_10", "mish", "quick_gelu", "relu2"])
def test_activations_answer_the_same(name, file_format, tokenizer, tmp_path):
  keras.utils.set_random_seed(0)  # Of any weights, some are off by 1.3e-5.
  config = toy.config(tokenizer, hidden_act=name, initializer_range=1.0)
  make = kinds.servables()["regression"]
  servable = make(models.SequenceClassifier(config, 1), tokenizer, 16)
  run = runtimes.Runtime(export.export(servable, str(tmp_path), file_format))
  for rows in rows_of(servable):
    assert_close(run(rows), eager(servable, rows))


def rows_of(servable):
  """Yields batches of rows for a servable."""
  for batch, length in [(1, 5), (3, 16)]:
    sizes = {"batch": batch, "length": length, "choices": 3, "masks": 2}
    yield make_rows(servable, sizes, servable.config.vocab_size)


@pytest.mark.integration
@pytest.mark.parametrize("file_format", FORMATS)
@pytest.mark.parametrize("name", slow.all_but(EVERY_RUN, FAMILIES))
def test_every_family_answers_the_same(name, file_format, tokenizer, tmp_path):
  servable = make_servable(name, tokenizer)
  run = runtimes.Runtime(export.export(servable, str(tmp_path), file_format))
  for rows in rows_of(servable):
    assert_close(run(rows), eager(servable, rows))


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_openvino_answers_the_same(name, tokenizer, tmp_path):
  openvino = pytest.importorskip("openvino")
  servable = make_servable(name, tokenizer)
  folder = export.export(servable, str(tmp_path), "onnx")
  path = f"{folder}/{export.FILE_NAMES['onnx']}"
  precision = {"INFERENCE_PRECISION_HINT": "f32"}
  run = openvino.Core().compile_model(path, "CPU", precision)
  for rows in rows_of(servable):
    expected = eager(servable, rows)
    found = run(rows)
    for output, values in expected.items():
      # Places of equal scores come in any order.
      if not output.endswith("_index"):
        np.testing.assert_allclose(found[output], values, atol=1e-5)


@pytest.mark.integration
@pytest.mark.parametrize("file_format", FORMATS)
@pytest.mark.parametrize("name", ["sentences", "sparse", "static"])
def test_the_client_makes_the_vectors_of_the_servable(
  name, file_format, tmp_path
):
  servable, _ = opening.make_servable(
    model_files.ModelFilesConfig(), str(ROOT / "tests/data" / name)
  )
  client = load_client()
  about, tokenizer, run = client.load(
    export.export(servable, str(tmp_path), file_format)
  )
  texts = ["the cat sat on the mat", "a dog"]
  found = run(client.make_rows(about, tokenizer, texts))["embeddings"]
  answer = servable.answer(tf.constant(texts))
  if name == "sparse":
    expected = answer["weights"].numpy()
    found = -np.sort(-found, axis=1)[:, : expected.shape[1]]
  else:
    expected = answer["embeddings"].numpy()
  np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.integration
def test_vectors_of_a_file_are_compressed_once(tmp_path):
  chosen = {"precision": "int8", "truncate_dim": 3}
  servable, _ = opening.make_servable(
    model_files.ModelFilesConfig(),
    str(ROOT / "tests/data/sentences"),
    chosen=chosen,
  )
  loaded = file_servables.load(export.export(servable, str(tmp_path), "litert"))
  texts = tf.constant(["the cat sat on the mat", "a dog"])
  found, expected = loaded.answer(texts), servable.answer(texts)
  assert found["embeddings"].dtype == tf.int8
  np.testing.assert_allclose(
    found["embeddings"], expected["embeddings"], atol=1
  )
  np.testing.assert_allclose(found["scales"], expected["scales"], rtol=1e-4)
