"""What `import keras_bert_impl as kb` gives, in processes of their own."""

import subprocess
import sys

import pytest

import keras_bert_impl as kb
from keras_bert_impl import layers, models


def run(code):
  """Runs Python code; returns what it printed."""
  result = subprocess.run(
    [sys.executable, "-c", code], capture_output=True, text=True
  )
  assert result.returncode == 0, result.stderr
  return result.stdout


def test_importing_it_imports_neither_keras_nor_tensorflow():
  code = (
    "import sys, keras_bert_impl as kb; hasattr(kb, '__wrapped__');"
    "from keras_bert_impl import files;"
    "print([n for n in ('keras', 'tensorflow', 'numpy') if n in sys.modules])"
  )
  assert run(code) == "[]\n"


def test_models_need_no_tensorflow_text():
  code = (
    "import sys, keras_bert_impl as kb; config = kb.EncoderConfig(vocab_size=9,"
    "hidden_size=8, num_hidden_layers=1, num_attention_heads=2,"
    "intermediate_size=8); kb.TransformerEncoder(config);"
    "print('tensorflow_text' in sys.modules)"
  )
  assert run(code).endswith("False\n")


def test_all_models_and_layers_are_there():
  for module in (models, layers):
    for name in module.__all__:
      assert getattr(kb, name) is getattr(module, name)
      assert name in dir(kb)


def test_the_names_of_other_modules_are_there():
  from keras_bert_impl import configs, tokenizers
  from keras_bert_impl.sentences import sentence_encoder
  from keras_bert_impl.serving import export
  from keras_bert_impl.training import experiment, training_config

  assert kb.EncoderConfig is configs.EncoderConfig
  assert kb.Experiment is experiment.Experiment
  assert kb.TrainingConfig is training_config.TrainingConfig
  assert kb.SentenceEncoder is sentence_encoder.SentenceEncoder
  assert kb.export is export.export
  assert kb.load_tokenizer is tokenizers.load


def test_another_name_is_an_error():
  with pytest.raises(AttributeError, match="no attribute 'Bert'"):
    kb.Bert  # noqa: B018
