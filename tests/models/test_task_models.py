import dataclasses

import numpy as np
import pytest

from keras_bert_impl import models
from tests import architectures

CONFIG = architectures.small()

MODELS = {
  "sequence": lambda **kw: models.SequenceClassifier(CONFIG, 3, **kw),
  "token": lambda **kw: models.TokenClassifier(CONFIG, 5, **kw),
  "choice": lambda **kw: models.MultipleChoice(CONFIG, **kw),
  "question": lambda **kw: models.QuestionAnswering(CONFIG, **kw),
  "sequence by BiLSTM": lambda **kw: models.SequenceClassifier(
    CONFIG, 3, bilstm_width=4, **kw
  ),
  "question by BiLSTM": lambda **kw: models.QuestionAnswering(
    CONFIG, bilstm_width=4, **kw
  ),
  "detector": lambda **kw: models.ReplacedTokenDetector(CONFIG, **kw),
  "masked": lambda **kw: models.MaskedLanguageModel(CONFIG, **kw),
  "pretrained": lambda **kw: models.MaskedLanguageModel(CONFIG, True, **kw),
}

SHAPES = {
  "sequence": {"logits": (2, 3)},
  "token": {"logits": (2, 7, 5)},
  "choice": {"logits": (2, 4)},
  "question": {"start_logits": (2, 7), "end_logits": (2, 7)},
  "sequence by BiLSTM": {"logits": (2, 3)},
  "question by BiLSTM": {"start_logits": (2, 7), "end_logits": (2, 7)},
  "detector": {"logits": (2, 7)},
  "masked": {"token_logits": (2, 7, 50)},
  "pretrained": {"token_logits": (2, 7, 50), "sentence_logits": (2, 2)},
}


def inputs_of(name):
  return architectures.inputs((2, 4, 7) if name == "choice" else (2, 7))


@pytest.mark.parametrize("name", MODELS)
def test_each_returns_float32_logits_of_its_shapes(name):
  for dtype in ("float32", "mixed_bfloat16"):
    outputs = MODELS[name](dtype=dtype)(inputs_of(name))
    assert {key: x.shape for key, x in outputs.items()} == SHAPES[name]
    assert all(x.dtype == "float32" for x in outputs.values())


@pytest.mark.parametrize(
  "name, paths",
  [
    ("sequence", ["bert/pooler/dense/bias", "classifier/output_weights"]),
    ("token", ["classifier/output_weights", "classifier/output_bias"]),
    ("choice", ["bert/pooler/dense/bias", "classifier/output_weights"]),
    ("question", ["cls/squad/output_weights", "cls/squad/output_bias"]),
    ("sequence by BiLSTM", ["bilstm_1/", "classifier/output_weights"]),
    ("question by BiLSTM", ["bilstm_1/", "cls/squad/output_weights"]),
    ("detector", ["discriminator_predictions/dense_1/kernel"]),
    ("masked", ["cls/predictions/output_bias"]),
    ("pretrained", ["bert/pooler/dense/kernel", "cls/seq_relationship/"]),
  ],
)
def test_heads_have_the_paths_of_googles_checkpoints(name, paths):
  found = "\n".join(weight.path for weight in MODELS[name]().weights)
  for path in paths:
    assert path in found
  assert ("pooler" in found) == (name in ("sequence", "choice", "pretrained"))


@pytest.mark.parametrize(
  "model", [models.SequenceClassifier, models.QuestionAnswering]
)
def test_a_bilstm_brings_what_a_causal_encoder_has_not_read(model):
  config = dataclasses.replace(CONFIG, use_causal_mask=True)
  arguments = {"num_classes": 3} if model is models.SequenceClassifier else {}
  model = model(config, bilstm_width=4, **arguments)
  inputs = architectures.inputs((2, 7))
  [name, *_] = model.output
  before = np.array(model(inputs)[name])[:, 0]
  inputs["input_ids"][:, 5] = (inputs["input_ids"][:, 5] + 1) % 50
  after = np.array(model(inputs)[name])[:, 0]
  assert np.abs(after - before).max(axis=-1).min() > 1e-6


def test_a_choice_is_scored_as_if_it_were_alone():
  model = MODELS["choice"]()
  inputs = inputs_of("choice")
  logits = model(inputs)["logits"]
  for choice in range(4):
    alone = {key: x[:, choice : choice + 1] for key, x in inputs.items()}
    np.testing.assert_allclose(
      model(alone)["logits"][:, 0], logits[:, choice], atol=1e-5
    )


def test_every_position_is_scored_as_the_training_form_scores_masks():
  training = models.PretrainingModel(CONFIG)
  model = models.MaskedLanguageModel(CONFIG, True)
  weights = {weight.path: weight for weight in training.weights}
  assert {weight.path for weight in model.weights} == set(weights)
  for weight in model.weights:
    weight.assign(weights[weight.path])
  positions = np.array([[1, 5], [0, 6]], "int32")
  expected = training(
    {**architectures.inputs((2, 7)), "masked_lm_positions": positions}
  )
  outputs = model(architectures.inputs((2, 7)))
  found = np.take_along_axis(
    np.array(outputs["token_logits"]), positions[..., None], axis=1
  )
  np.testing.assert_allclose(found, expected["token_logits"], atol=1e-5)
  np.testing.assert_allclose(
    outputs["sentence_logits"],
    expected["sentence_logits"],
    atol=1e-5,
  )


@pytest.mark.parametrize(
  "make",
  [
    lambda: models.MaskedLanguageModel(CONFIG),
    lambda: models.PermutationLanguageModel(
      dataclasses.replace(
        CONFIG, position_embedding_type="transformer_xl", type_vocab_size=4
      )
    ),
  ],
)
def test_places_of_masks_are_not_passed_over(make):
  inputs = architectures.inputs((2, 7))
  places = np.array([[1, 5], [0, 6]], "int32")
  with pytest.raises(ValueError, match="masked_lm_positions.*leave it out"):
    make()({**inputs, "masked_lm_positions": places})


def test_dropout_before_the_head_follows_its_rate():
  inputs = architectures.inputs((2, 7))
  model = models.SequenceClassifier(CONFIG, 3, dropout_rate=0.9)
  hidden_rates = [
    layer.rate for layer in model.layers if layer.name == "dropout"
  ]
  assert hidden_rates == [0.9]
  still = models.SequenceClassifier(CONFIG, 3)
  np.testing.assert_array_equal(
    still(inputs)["logits"], still(inputs, training=False)["logits"]
  )
  assert [layer.rate for layer in still.layers if layer.name == "dropout"] == [
    CONFIG.hidden_dropout_prob
  ]
