"""Decoders and their searches on JAX and torch, in processes of their own."""

import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
# Loops run op by op there: one model is enough for the searches.
CHOICE = "logits or cached or generated and gpt2"


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_decoders_compute_what_the_reference_does(backend):
  if importlib.util.find_spec(backend) is None:
    pytest.skip(f"{backend} is not installed")
  options = "-p no:cacheprovider -q -n 0 tests/generation/test_decoders.py"
  result = subprocess.run(
    [sys.executable, "-m", "pytest", *options.split(), "-k", CHOICE],
    capture_output=True,
    text=True,
    env=os.environ | {"KERAS_BACKEND": backend},
    cwd=ROOT,
  )
  assert result.returncode == 0, result.stdout[-5000:]
