"""Heads on the weights of a checkpoint or of an encoder."""

import numpy as np
import pytest

import keras_bert_impl as kb
from tests.models import test_parity

PARITY = test_parity.PARITY
IDS = {"input_ids": np.array([[2, 5, 6, 7]])}


def hidden_of(model):
  return kb.Model(model.input, model.encoder.hidden_states[-1])(IDS)


@pytest.mark.parametrize(
  ("model_class", "arguments"),
  [
    (kb.SequenceClassifier, {"num_classes": 2}),
    (kb.TokenClassifier, {"num_classes": 5, "use_crf": True}),
    (kb.QuestionAnswering, {"bilstm_width": 4}),
    (kb.MaskedLanguageModel, {"dtype": "float32"}),
  ],
)
def test_a_head_starts_on_the_weights_of_a_checkpoint(model_class, arguments):
  path = PARITY / "bert_classifier"
  encoder = kb.from_checkpoint(path)
  with pytest.warns(UserWarning, match="Weights from"):
    model = model_class.from_checkpoint(path, **arguments)
  arguments.pop("dtype", None)
  with pytest.warns(UserWarning, match="Weights from bert"):
    copied = model_class.from_encoder(encoder, **arguments)
  expected = encoder(IDS)["sequence_output"]
  for made in (model, copied):
    np.testing.assert_array_equal(hidden_of(made), expected)


def test_a_stored_head_comes_with_it():
  path = PARITY / "bert_classifier"
  ours = kb.SequenceClassifier.from_checkpoint(path)
  theirs = kb.from_checkpoint(path, heads=True)
  np.testing.assert_array_equal(ours(IDS)["logits"], theirs(IDS)["logits"])


@pytest.mark.parametrize(
  ("make", "message"),
  [
    (lambda e: kb.SequenceClassifier(e, 2), "call from_encoder"),
    (lambda e: kb.SequenceClassifier.from_encoder("bert"), "must be an enc"),
    (
      lambda e: kb.TokenClassifier.from_checkpoint(PARITY / "bert_pretraining"),
      "has no head of TokenClassifier: give num_classes",
    ),
  ],
)
def test_mistakes(make, message):
  encoder = kb.from_checkpoint(PARITY / "bert_pretraining")
  with pytest.raises(ValueError, match=message):
    make(encoder)
