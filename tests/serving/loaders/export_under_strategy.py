"""Exports a model made under a strategy, in bfloat16.

usage: python -m tests.serving.loaders.export_under_strategy FOLDER

Writes the versions into FOLDER/mirrored and beside it the weights of the model,
as weights.npz, and what an export inside `strategy.scope()` says, as
refusal.txt.
"""

import pathlib
import sys

import keras
import numpy as np
import tensorflow as tf

from keras_bert_impl import models
from keras_bert_impl.kinds.fill_mask import fill_mask_servable
from keras_bert_impl.serving import export
from tests.serving import toy


def main(folder):
  folder = pathlib.Path(folder)
  cpus = tf.config.list_physical_devices("CPU")
  tf.config.set_logical_device_configuration(
    cpus[0], [tf.config.LogicalDeviceConfiguration()] * 2
  )
  keras.config.set_dtype_policy("mixed_bfloat16")
  toy.write_vocabulary(folder / "vocab.txt")
  tokenizer = toy.tokenizer(folder / "vocab.txt")
  strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
  with strategy.scope():
    model = models.PretrainingModel(toy.config(tokenizer))
  arguments = (model, tokenizer, toy.MAX_SEQ_LENGTH)
  export.export(
    fill_mask_servable.FillMaskServable(*arguments), folder / "mirrored"
  )
  np.savez(folder / "weights.npz", *model.get_weights())
  with strategy.scope():
    try:
      fill_mask_servable.FillMaskServable(*arguments)
    except ValueError as error:
      (folder / "refusal.txt").write_text(str(error), encoding="utf-8")


if __name__ == "__main__":
  main(*sys.argv[1:])
