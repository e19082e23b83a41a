"""Rounds of a training: its model makes the examples of the next one.

The rows of a round lie beside the checkpoints, so that a run that was killed
goes on with them, as the model that made them is gone by then.
"""

import tensorflow as tf

from keras_bert_impl import files
from keras_bert_impl.runs.labelled_data import fine_tuning_data
from tfrecords.labelled import row_files

_FOLDER = "renewed"


class Rounds:
  """What a run reads in each round; without a renewal there is one round.

  Args:
    run: `fine_tuning_run.Run`.

  Raises:
    ValueError: teachers have told the outputs of the rows once for all.
  """

  def __init__(self, run):
    self._run, self._renewal = run, run.fine_tuning.renewal
    self._number = 0
    if self._renewal and run.teaching:
      raise ValueError(
        "teacher_checkpoint must be left out where examples are made anew: the"
        " teachers have not seen these."
      )

  def is_due(self, step):
    """Returns whether another round begins after `step`, a checkpoint."""
    return self._number != self._at(step)

  def begin(self, step):
    """Lets the run read the rows of the round that goes on at `step`."""
    self._number = self._at(step)
    folder = self._run.folder.join(_FOLDER)
    if step == 0 and files.is_folder(folder):  # Of a run that was removed.
      tf.io.gfile.rmtree(folder)
    if self._number:
      rows = self._rows(self._number)
      self._run.replaced_rows[fine_tuning_data.TRAIN] = rows

  def _at(self, step):
    """Returns the number of the round of a step, from 0."""
    if not self._renewal:
      return 0
    config = self._run.experiment.config
    last = config.num_train_steps - 1  # Nothing comes after it.
    return min(step, last) // (
      config.save_checkpoints_steps * self._renewal.epochs
    )

  def _rows(self, number):
    """Returns the `Rows` of a round, which are made if it begins."""
    data = self._run.data
    path = self._run.folder.join(_FOLDER, f"train_{number}.tf_record")
    origin = {"number": number, "train": data.fingerprint(data.stages[0])}
    if row_files.find(path, origin) is None:
      data.write_rows(path, self._renewal.make(self._run), origin)
    return row_files.read(path, data.preprocessor.columns)
