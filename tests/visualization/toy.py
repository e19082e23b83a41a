"""Small models over the words of the scripts' tests, with large weights."""

import functools
import pathlib
import tempfile

import keras

from keras_bert_impl import configs, models, tokenizers, visualization
from tests.official_tasks import scripts

TEXT = "고양이 본다 the old dog ."
LENGTH = 24


@functools.cache
def files():
  """Returns the folder of a vocabulary and a configuration, and the latter."""
  folder = pathlib.Path(tempfile.mkdtemp())
  scripts.write_model_files(folder, num_hidden_layers=2, initializer_range=0.5)
  return folder, configs.EncoderConfig.from_json_file(
    folder / "bert_config.json"
  )


@functools.cache
def tokenizer():
  return tokenizers.load(str(files()[0] / "vocab.txt"))


def config(**changes):
  return configs.EncoderConfig(**files()[1].to_dict() | changes)


@functools.cache
def masked_language_model():
  keras.utils.set_random_seed(0)
  return models.MaskedLanguageModel(config())


def viewer(model, head, **options):
  return visualization.Viewer(model, head, tokenizer(), LENGTH, **options)
