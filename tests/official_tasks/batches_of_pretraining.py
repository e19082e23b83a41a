"""run_pretraining.py that saves its batches instead of training on them.

A module of `scripts.run_each`; writes <output_dir>/batches.npz.
"""

import pathlib

import numpy as np

from keras_bert_impl.runs.pretraining import pretraining_run
from tests.official_tasks import scripts

NUM_BATCHES = 4


def save_batches(run):
  batches = run.records.train_batches(run.task.prepare, 0)(0, 1)
  columns = list(batches.take(NUM_BATCHES).as_numpy_iterator())
  np.savez(
    pathlib.Path(run.config.training.output_dir) / "batches.npz",
    **{
      name: np.concatenate([batch[name] for batch in columns])
      for name in columns[0]
    },
  )


if __name__ == "__main__":
  pretraining_run.PretrainingRun.train = save_batches
  pretraining_run.PretrainingRun.report = lambda run: None
  scripts.serve()
