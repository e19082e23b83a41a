"""What is drawn on two replicas, in a process of its own."""

import subprocess
import sys

import pytest

from tests.generation import test_draws

_PROGRAM = """
import pathlib
import numpy as np
import tensorflow as tf
from tensorflow.config import LogicalDeviceConfiguration

[cpu] = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(
  cpu, [LogicalDeviceConfiguration()] * 2
)
import keras_bert_impl as kb
from keras_bert_impl.generation import decoders, search, settings

ids = np.random.default_rng(1).integers(3, 60, (8, 5))
mask = np.arange(5) < np.arange(1, 9)[:, np.newaxis] % 5 + 1
options = settings.SearchSettings(do_sample=True, max_new_tokens=6)


def drawn(strategy):
  with strategy.scope():
    model = kb.from_checkpoint(pathlib.Path("FOLDER"), heads=True)
  decoder = decoders.of_model(model)
  find = search.Search(decoder, options, settings.TokenIds())

  @tf.function
  def write(ids, mask):
    return find(decoder.begin(ids, mask))["ids"]

  number = strategy.num_replicas_in_sync
  parts = [np.array_split(x, number) for x in (ids, mask)]
  given = [
    strategy.experimental_distribute_values_from_function(
      lambda context, part=part: tf.constant(
        part[context.replica_id_in_sync_group], tf.int32
      )
    )
    for part in parts
  ]
  found = strategy.run(write, given)
  return np.concatenate(strategy.experimental_local_results(found))


two = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
np.testing.assert_array_equal(drawn(two), drawn(tf.distribute.get_strategy()))
assert two.num_replicas_in_sync == 2
"""


@pytest.mark.integration
def test_two_replicas_draw_what_one_does():
  program = _PROGRAM.replace("FOLDER", str(test_draws.FOLDER))
  subprocess.run([sys.executable, "-c", program], check=True)
