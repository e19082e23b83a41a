"""What other programs wrote and computed, beside what opens here."""

import numpy as np

from keras_bert_impl.checkpoints import reading
from keras_bert_impl.checkpoints.formats import safetensors_format


def arrays_of(folder, kind):
  """Returns the inputs ("in.") or outputs ("out.") beside a model, by name."""
  arrays = np.load(folder / "expected.npz")
  return {
    name.removeprefix(kind): arrays[name]
    for name in arrays
    if name.startswith(kind)
  }


def assert_outputs(model, folder, atol=1e-5):
  """Compares the outputs of a model to those of the original."""
  arrays, outputs = arrays_of(folder, "out."), model(arrays_of(folder, "in."))
  compared = arrays.keys() & outputs.keys()
  assert compared
  for name in compared:
    np.testing.assert_allclose(outputs[name], arrays[name], atol=atol)


def stored(folder):
  """Returns the arrays of a model in safetensors by their names there."""
  tensors = safetensors_format.read(folder / "model.safetensors")
  return {name: tensors[name] for name in tensors}


def copy_config(source, folder):
  """Copies what says what the weights are."""
  content = (source / "config.json").read_bytes()
  (folder / "config.json").write_bytes(content)


def assert_same(folder, source, file_format):
  """Asserts that a folder of a format opens as one of safetensors does."""
  expected = reading.open_checkpoint(source)
  found = reading.open_checkpoint(folder)
  assert found.format == file_format
  assert found.described() == expected.described()
  assert found.tensors.shapes == expected.tensors.shapes
  for name, array in expected.tensors.items():
    np.testing.assert_array_equal(found.tensors[name], array)
