"""Repetitions in one process keep no memory.

Run as a process, prints the resident memory (MB) after each repetition. Freed
memory is given back to the system first: how much of it an allocator keeps
differs by a tenth of all from one repetition to the next.

Arguments: the repeated work, one of `KINDS`, and an empty folder. The model is
small but for a table of 26 MB, so that a copy of it that is kept shows.
"""

import contextlib
import ctypes
import dataclasses
import gc
import os
import pathlib
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import configs, models, tokenizers
from keras_bert_impl.kinds.generation import generation_servable
from keras_bert_impl.kinds.texts import text_servables
from keras_bert_impl.runs.fine_tuning import search
from keras_bert_impl.serving import export
from keras_bert_impl.serving.local import versions
from tests.runs.fine_tuning import toy

_SIZES = {"hidden_size": 64, "max_position_embeddings": 100_000}


def resident_memory():
  ctypes.CDLL("libc.so.6").malloc_trim(0)
  pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
  return pages * os.sysconf("SC_PAGE_SIZE") // 2**20


def restarts(folder):
  """One run of a search after the other."""
  for number in range(2, 9):
    setup = toy.make_setup(
      folder,
      folder / "search",
      do_eval=True,
      num_train_epochs=0.2,
      num_restarts=number,
    )
    with contextlib.redirect_stdout(sys.stderr):
      search.run(setup)
    yield


def fits(folder):
  """Plain `fit` of one model after the other."""
  ids = np.ones((8, 16), "int32")
  for _ in range(7):
    model = _classifier(folder)
    model.compile("adam", "sparse_categorical_crossentropy")
    model.fit({"input_ids": ids}, np.zeros(8, "int32"), verbose=0)
    del model
    _forget()
    yield


def loads(folder):
  """Loads a model again and again."""
  _classifier(folder).save(folder / "model.keras")
  for _ in range(7):
    model = models.from_checkpoint(folder / "model.keras")
    model({"input_ids": np.ones((1, 4), "int32")})
    del model
    _forget()
    yield


def exports(folder):
  """Exports a new model as one version after the other."""
  for _ in range(7):
    _export(folder)
    yield


def exchanges(folder):
  """A server takes up one version after the other."""
  _export(folder)
  only = folder / "served" / "1"
  served = versions.Versions(folder / "served")
  for number in range(2, 22):
    only = only.rename(folder / "served" / str(number))
    served.refresh()
    request = {"text": np.array([b"the old cat"], object)}
    served.current.signatures["serving_default"].run(request)
    yield


def requests(folder):
  """A SavedModel answers 2,000 requests of texts of mixed lengths."""
  config = configs.EncoderConfig.from_json_file(folder / "bert_config.json")
  config = dataclasses.replace(config, use_causal_mask=True)
  servable = generation_servable.GenerationServable(
    models.MaskedLanguageModel(config),
    tokenizers.load(folder / "vocab.txt"),
    100,
    max_new_tokens=12,
  )
  loaded = tf.saved_model.load(export.export(servable, folder / "served"))
  generate = loaded.signatures["generate"]
  draw = np.random.default_rng(1)
  for _ in range(10):
    for _ in range(200):
      lengths = draw.integers(0, 90, draw.integers(1, 5))
      generate(text=tf.constant(["the old cat " * (n // 3) for n in lengths]))
    yield


def _classifier(folder):
  config = configs.EncoderConfig.from_json_file(folder / "bert_config.json")
  return models.SequenceClassifier(config, num_classes=2)


def _export(folder):
  servable = text_servables.ClassificationServable(
    _classifier(folder), tokenizers.load(folder / "vocab.txt"), 16, toy.LABELS
  )
  export.export(servable, folder / "served")
  del servable
  _forget()


def _forget():
  keras.utils.clear_session()
  gc.collect()


KINDS = {
  kind.__name__: kind
  for kind in (restarts, fits, loads, exports, exchanges, requests)
}


@pytest.mark.slow
@pytest.mark.skipif(
  not sys.platform.startswith("linux"), reason="reads the memory from /proc"
)
@pytest.mark.parametrize("kind", KINDS)
def test_memory_does_not_grow(kind, tmp_path):
  output = subprocess.run(
    [sys.executable, "-m", __name__, kind, str(tmp_path)],
    stdout=subprocess.PIPE,
    env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
    check=True,
  ).stdout
  _, after_two, *later = map(int, output.split())
  assert len(later) >= 5
  assert max(later) < 1.1 * after_two


def main():
  kind, folder = sys.argv[1:]
  toy.write_model(pathlib.Path(folder), **_SIZES)
  for _ in KINDS[kind](pathlib.Path(folder)):
    print(resident_memory(), flush=True)


if __name__ == "__main__":
  main()
