"""Models with the names of `transformers`."""

import keras
import numpy as np
import pytest

import keras_bert_impl as kb
from tests import slow
from tests.models import test_parity

FOLDERS = [
  folder
  for folder in test_parity.FOLDERS
  if not folder.name.startswith("xlnet") and "choice" not in folder.name
]
QUICK = (
  "bert_pretraining",
  "bert_question_answering",
  "electra_discriminator",
  "roberta_classifier",
)


def read(name):
  """Returns a model and inputs for it."""
  folder = test_parity.PARITY / name
  arrays = dict(np.load(folder / "expected.npz"))
  inputs = {
    key.removeprefix("in."): array
    for key, array in arrays.items()
    if key.startswith("in.")
  }
  is_encoder = "encoder" in name
  model = kb.from_checkpoint(folder, heads=not is_encoder, names="transformers")
  return model, inputs, arrays


@pytest.mark.parametrize(
  "name", slow.all_but(QUICK, [folder.name for folder in FOLDERS])
)
def test_outputs_have_the_names_of_the_reference(name):
  model, inputs, arrays = read(name)
  outputs = model(**inputs, output_hidden_states=True)
  states = outputs.pop("hidden_states")
  expected = {
    key.removeprefix("out."): array
    for key, array in arrays.items()
    if key.startswith("out.")
  }
  for number, hidden in enumerate(states):
    reference = expected.pop(f"hidden_states.{number}")
    np.testing.assert_allclose(hidden, reference, atol=1e-5)
  assert outputs.keys() == expected.keys()
  for output, reference in expected.items():
    np.testing.assert_allclose(getattr(outputs, output), reference, atol=1e-5)


def test_it_is_called_in_the_ways_of_transformers():
  model, inputs, _ = read("bert_classifier")
  logits = model(inputs).logits
  ids, mask = inputs["input_ids"], inputs["attention_mask"]
  for outputs in (
    model(ids, attention_mask=mask, token_type_ids=inputs["token_type_ids"]),
    model(**inputs, training=False),
    model(**inputs, return_dict=False),
  ):
    np.testing.assert_array_equal(outputs[0], logits)
  attentions = model(inputs, output_attentions=True).attentions
  np.testing.assert_allclose(
    keras.ops.sum(attentions[0], axis=-1), 1.0, atol=1e-5
  )
  with pytest.raises(AttributeError, match="choose from logits"):
    _ = model(inputs).last_hidden_state
  with pytest.raises(ValueError, match="input_ids must be given"):
    model(attention_mask=mask)


@pytest.mark.integration
def test_it_is_trained_and_saved(tmp_path):
  model, inputs, _ = read("bert_classifier")
  loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
  model.compile("adam", loss, metrics=["accuracy"])
  labels = np.zeros(len(inputs["input_ids"]), "int32")
  first = model.fit(inputs, labels, epochs=4, verbose=0).history["loss"]
  assert first[-1] < first[0]
  model.save(tmp_path / "model.keras")
  again = keras.models.load_model(tmp_path / "model.keras")
  np.testing.assert_array_equal(again(inputs).logits, model(inputs).logits)
  predicted = model.predict(inputs, verbose=0)
  np.testing.assert_allclose(predicted.logits, model(inputs).logits, atol=1e-6)
