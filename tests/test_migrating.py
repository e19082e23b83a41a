"""The code of docs/migrating.md that is ours."""

import json
import pathlib
import shutil
import string

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl.checkpoints.formats import safetensors_format
from keras_bert_impl.checkpoints.naming import mappings
from keras_bert_impl.model_folders import conversion
from tests import migrating
from tests.kinds.generation import small_models

pytestmark = pytest.mark.integration

# {folder in the page: model with random weights}.
MODELS = {
  "bert-base-uncased": "bert_pretraining",
  "reviews": "bert_classifier",
  "entities": "bert_token_classifier",
  "answers": "bert_question_answering",
  "choices": "bert_multiple_choice",
}
OTHERS = {
  "preset": "keras_hub/bert_masked_lm",
  "garden": "model_garden/encoder",
  "minilm": "sentences",
  "cross-encoder": "cross_encoder",
}
LABELS = {
  "reviews": ["negative", "neutral", "positive"],
  "entities": ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"],
}
# Tracing takes most of the time of the others.
IN_GRAPHS = (
  *("A data set", "prepare_tf_dataset", "A SavedModel", "KerasHub"),
  "Generating text",
)
PRELUDE = "import keras\nimport tensorflow as tf\nimport keras_bert_impl as kb"
SECTIONS = migrating.sections()
RIGHT_COLUMNS = migrating.right_columns()


def write_models(folder):
  """Writes the models that the page opens, of two words and all letters."""
  for name, model in MODELS.items():
    path = pathlib.Path(folder) / name
    shutil.copytree(migrating.ROOT / "tests/data/parity" / model, path)
    config = json.loads((path / "config.json").read_text())
    # Both sides learn the same without dropout.
    config |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    if name in LABELS:
      config["id2label"] = dict(enumerate(LABELS[name]))
      config["label2id"] = {x: n for n, x in enumerate(LABELS[name])}
    # There is to be room for a question and a text.
    config["max_position_embeddings"] = _add_positions(path, 200)
    (path / "config.json").write_text(json.dumps(config))
    letters = string.ascii_lowercase
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "good", "the"]
    tokens += [*letters, *(f"##{letter}" for letter in letters), *".,?!'"]
    unused = config["vocab_size"] - len(tokens)
    tokens += [f"[unused{n}]" for n in range(unused)]
    (path / "vocab.txt").write_text("\n".join(tokens) + "\n")
    options = {"tokenizer_class": "BertTokenizer", "do_lower_case": True}
    (path / "tokenizer_config.json").write_text(json.dumps(options))


def _write_others(folder):
  """Writes the models of other libraries."""
  for name, made in OTHERS.items():
    shutil.copytree(migrating.ROOT / "tests/data" / made, folder / name)
  given = conversion.ConversionConfig(
    str(folder / "bert-base-uncased"), str(folder / "uncased"), format="google"
  )
  conversion.convert(given)
  small_models.make("gpt", folder / "writer")
  small_models.make("t5", folder / "translator")


def _add_positions(folder, size):
  """Repeats the embeddings of positions until there are `size`; returns it."""
  stored = safetensors_format.read(folder / "model.safetensors")
  arrays = {
    name: np.resize(x, (size, x.shape[1])) if "position_emb" in name else x
    for name, x in stored.items()
  }
  safetensors_format.write(folder, mappings.Arrays(arrays))
  return size


def run(heading):
  """Runs our code of a section; returns what it computes."""
  return migrating.run(SECTIONS[heading][1], PRELUDE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
  made = tmp_path_factory.mktemp("models")
  write_models(made)
  _write_others(made)
  return made


@pytest.fixture
def eagerly(request):
  """Runs functions op by op, unless they are called often enough."""
  is_eager = not {*request.node.callspec.params.values()} & {*IN_GRAPHS}
  tf.config.run_functions_eagerly(is_eager)
  yield
  tf.config.run_functions_eagerly(False)


def test_there_are_more_than_twenty_pairs():
  assert len(SECTIONS) > 20


@pytest.mark.filterwarnings("ignore:Weights from")
@pytest.mark.parametrize("heading", SECTIONS)
def test_our_side_runs(heading, folder, monkeypatch, eagerly):
  monkeypatch.chdir(folder)
  assert run(heading)


@pytest.mark.filterwarnings("ignore:Weights from")
@pytest.mark.parametrize("library", RIGHT_COLUMNS)
def test_the_right_side_of_a_table_runs(library, folder, monkeypatch, eagerly):
  monkeypatch.chdir(folder)
  assert len(RIGHT_COLUMNS[library].splitlines()) > 5
  exec(f"{PRELUDE}\n{RIGHT_COLUMNS[library]}", {})
