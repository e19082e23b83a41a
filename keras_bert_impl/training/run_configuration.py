"""The file run_config.json: the configuration of the run in a folder.

A continued run must agree with it, except for `num_replicas` and `schedule`.
"""

import os
import time

from keras_bert_impl import files
from keras_bert_impl.training import run_results, training_config

NAME = "run_config.json"
NUM_REPLICAS = "num_replicas"
SCHEDULE = "schedule"
# Until another machine sees what the chief has written.
_PATIENCE_SECONDS = 10


def read(output_dir):
  """Returns the content of a folder's file, {} without a run."""
  return run_results.read_json(_path(output_dir)) or {}


def read_agreed(output_dir):
  """Returns {name: value} on which continuing a folder's run must agree.

  {} if there is no run.
  """
  return {
    name: value
    for name, value in read(output_dir).items()
    if name not in (NUM_REPLICAS, SCHEDULE)
  }


def write(config, fixed, num_replicas):
  """Writes the file of a run; keeps the schedule that is in it.

  Args:
    config: `TrainingConfig`.
    fixed: as `experiment.Experiment`.
    num_replicas: int.
  """
  kept = {
    NUM_REPLICAS: num_replicas,
    SCHEDULE: read(config.output_dir).get(SCHEDULE),
  }
  files.write_json(_path(config.output_dir), kept | _agreed(config, fixed))


def write_schedule(output_dir, schedule):
  """Replaces the schedule {name: int} in the file of a run."""
  content = {**read(output_dir), SCHEDULE: schedule}
  files.write_json(_path(output_dir), content)


def appears(output_dir):
  """Returns whether a file that another machine wrote can be seen."""
  for _ in range(_PATIENCE_SECONDS):
    if files.exists(_path(output_dir)):
      return True
    time.sleep(1)
  return False


def check_same(config, fixed):
  """Checks that the run in the output directory, if any, agrees with this one.

  Args:
    config: `TrainingConfig`.
    fixed: as `experiment.Experiment`.

  Raises:
    ValueError: it is another one; names the difference.
  """
  # An older version of this program may have recorded less.
  _refuse_others(
    config.output_dir,
    _flat(_agreed(config, fixed)),
    _flat(read_agreed(config.output_dir)),
  )


def claim(output_dir, **fixed):
  """Notes what the run will be for which a folder is prepared.

  Args:
    output_dir: str.
    **fixed: {name: JSON value}, some of those of `check_same`.

  Raises:
    ValueError: as `check_same`, of a run that has only been prepared too.
  """
  theirs = read_agreed(output_dir)
  known = {name: theirs[name] for name in fixed if name in theirs}
  _refuse_others(output_dir, fixed, known)
  if not theirs:
    files.write_json(_path(output_dir), fixed)


def _refuse_others(output_dir, mine, theirs):
  """Raises ValueError that names a difference of two runs, if there is one."""
  for name in sorted(theirs):
    if mine.get(name) != theirs[name]:
      raise ValueError(
        f"output_dir ({output_dir}) holds a run with"
        f" {name}={theirs[name]!r}, not {mine.get(name)!r}: choose"
        " another --output_dir, or that value to continue it."
      )


def _agreed(config, fixed):
  """Returns {name: JSON value} on which a continued run must agree."""
  return {
    name: value
    for name, value in vars(config).items()
    if name not in training_config.FREE_FIELDS
  } | fixed


def _flat(values):
  """Flattens {name: value}: entries of dicts become "name.key"."""
  flat = {}
  for name, value in values.items():
    if isinstance(value, dict):
      flat |= {f"{name}.{key}": inner for key, inner in value.items()}
    else:
      flat[name] = value
  return flat


def _path(output_dir):
  return os.path.join(output_dir, NAME)
