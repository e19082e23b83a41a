"""What importing the library does, each time in a fresh process."""

import subprocess
import sys

import pytest

from keras_bert_impl import configs, models

IMPORTS = (
  "import keras, keras_bert_impl",
  "import keras_bert_impl, keras\nkeras_bert_impl.features",
  "import keras_bert_impl.models, keras",
)


def run(program, *arguments):
  result = subprocess.run(
    [sys.executable, "-c", program, *map(str, arguments)],
    capture_output=True,
    text=True,
  )
  assert result.returncode == 0, result.stderr


def test_importing_the_library_imports_nothing_heavy():
  run(
    "import sys, keras_bert_impl.features\n"
    "heavy = {'keras', 'tensorflow', 'jax', 'numpy', 'absl'}\n"
    "assert not heavy & set(sys.modules)\n"
  )


@pytest.fixture(scope="module")
def saved_model(tmp_path_factory):
  path = tmp_path_factory.mktemp("saved") / "model.keras"
  config = configs.EncoderConfig(
    vocab_size=30,
    hidden_size=8,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=16,
    max_position_embeddings=10,
  )
  models.SequenceClassifier(config, 3).save(path)
  return path


@pytest.mark.parametrize("imports", IMPORTS)
def test_a_saved_model_loads_where_the_library_is_imported(
  saved_model, imports
):
  run(
    f"import sys\n{imports}\n"
    "model = keras.models.load_model(sys.argv[1])\n"
    "assert type(model) is keras_bert_impl.models.SequenceClassifier\n"
    "assert 'tensorflow_text' not in sys.modules\n",
    saved_model,
  )


def test_its_modules_are_attributes():
  run(
    "import keras_bert_impl\n"
    "assert {'models', 'layers'} <= set(dir(keras_bert_impl))\n"
    "keras_bert_impl.configs.EncoderConfig.preset('bert_base')\n"
    "keras_bert_impl.layers.TransformerBlock\n"
    "keras_bert_impl.models.TransformerEncoder\n"
    "assert not hasattr(keras_bert_impl, 'nothing')\n"
  )
