"""Compares both blocks of each section of docs/migrating.md, by hand.

    python -m tests.compare_migrating --python=ENVIRONMENT/bin/python

The environment has transformers 4, TensorFlow, tf_keras, datasets and, for the
section on weights of PyTorch, torch. The models are small, with random weights.
"""

import argparse
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile

from tests import migrating, test_migrating


def main():
  """Runs both sides and prints how far apart they are; exits 1 if far."""
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("--python", required=True)
  parser.add_argument("--h5", action="store_true", help="from tf_model.h5")
  options = parser.parse_args()
  with tempfile.TemporaryDirectory() as folder:
    theirs, ours = (pathlib.Path(folder) / name for name in ("theirs", "ours"))
    for side in (theirs, ours):
      test_migrating.write_models(side)
    results = pathlib.Path(folder) / "results.pkl"
    command = [options.python, "-m", "tests.migrating", theirs, results]
    command += [ours] * options.h5
    environment = {**os.environ, "TF_USE_LEGACY_KERAS": "1"}
    subprocess.run(command, check=True, env=environment, cwd=migrating.ROOT)
    found = pickle.loads(results.read_bytes())
    os.chdir(ours)
    sys.exit(not all([_is_same(*item) for item in found.items()]))


def _is_same(heading, theirs):
  """Prints the differences of a section; returns whether there are none."""
  ours = test_migrating.run(heading)
  names = sorted(theirs.keys() & ours.keys())
  differences = [
    difference
    for name in names
    for difference in migrating.differences(theirs[name], ours[name], name)
  ]
  worst = max((far for _, far in differences), default=float("inf"))
  print(f"{worst:.1e}  {heading}: {', '.join(names)} {theirs.get('error', '')}")
  for place, far in differences:
    if far > 1e-5:
      print(f"    {place}: {far}")
  return worst <= 1e-5


if __name__ == "__main__":
  main()
