import dataclasses

import keras
import numpy as np
import pytest

from keras_bert_impl import models
from tests import architectures
from tests.models import every_model

CONFIG = architectures.small()

# {name: (shapes of the outputs, beginnings of paths of weights)}.
CASES = {
  "classifier": ({"logits": (2, 3)}, ["bert/pooler/", "classifier/output_w"]),
  "token_classifier": (
    {"logits": (2, 8, 3), "transitions": (2, 5, 3)},
    ["classifier/output_weights", "crf/start"],
  ),
  "choice": ({"logits": (2, 4)}, ["bert/pooler/", "classifier/output_bias"]),
  "question_answering": (
    {"start_logits": (2, 8), "end_logits": (2, 8)},
    ["cls/squad/output_weights"],
  ),
  "classifier_bilstm": ({"logits": (2, 3)}, ["bilstm_1/", "classifier/"]),
  "question_bilstm": (
    {"start_logits": (2, 8), "end_logits": (2, 8)},
    ["bilstm_1/", "cls/squad/output_bias"],
  ),
  "replaced_tokens": (
    {"logits": (2, 8)},
    ["discriminator_predictions/dense_1/kernel"],
  ),
  "roberta": ({"token_logits": (2, 8, 30)}, ["cls/predictions/output_bias"]),
  "albert": (
    {"token_logits": (2, 8, 30), "sentence_logits": (2, 2)},
    ["bert/pooler/", "cls/seq_relationship/"],
  ),
}


@pytest.fixture(params=["float32", "mixed_bfloat16"])
def global_policy(request):
  before = keras.config.dtype_policy()
  keras.config.set_dtype_policy(request.param)
  yield request.param
  keras.config.set_dtype_policy(before)


LOSS = keras.losses.SparseCategoricalCrossentropy


@pytest.mark.parametrize(
  "loss",
  ["sparse_categorical_crossentropy", {"logits": LOSS()}, LOSS(name="mine")],
)
def test_a_loss_of_probabilities_is_warned_of(loss):
  model = every_model.MODELS["classifier"]()
  with pytest.warns(UserWarning, match=r"loss \(.* reads probabilities, but"):
    model.compile("adam", loss)


def test_a_saved_model_is_compiled_as_it_was(tmp_path, recwarn):
  model = every_model.MODELS["classifier"]()
  model.compile("adam", {"logits": LOSS(from_logits=True)}, run_eagerly=True)
  rows = every_model.make_inputs(model)
  labels = np.zeros(len(rows["input_ids"]), np.int32)
  model.fit(rows, {"logits": labels}, verbose=0)
  model.save(tmp_path / "model.keras")
  again = keras.models.load_model(tmp_path / "model.keras")
  assert again.optimizer.iterations.numpy() == 1
  assert again.loss["logits"].get_config() == model.loss["logits"].get_config()
  assert not [x for x in recwarn if "probabilities" in str(x.message)]


@pytest.mark.parametrize("name", CASES)
def test_each_returns_float32_logits_and_has_the_paths_of_google(
  name, global_policy
):
  shapes, beginnings = CASES[name]
  model = every_model.MODELS[name]()
  assert model.dtype_policy.name == global_policy
  outputs = model(every_model.make_inputs(model))
  assert {key: x.shape for key, x in outputs.items()} == shapes
  assert all(x.dtype == "float32" for x in outputs.values())
  paths = [weight.path for weight in model.weights]
  for beginning in beginnings:
    assert any(path.startswith(beginning) for path in paths)
  has_pooler = any("pooler" in path for path in paths)
  assert has_pooler == ("bert/pooler/" in beginnings)


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
  model = models.MultipleChoice(CONFIG)
  inputs = architectures.inputs((2, 4, 7))
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
