"""XLNet's joint search of starts and ends, as in training and for answers."""

import itertools

import numpy as np
import pytest

from keras_bert_impl import configs, models

CONFIG = configs.EncoderConfig.preset(
  "xlnet_base",
  vocab_size=50,
  hidden_size=16,
  num_hidden_layers=1,
  num_attention_heads=2,
  intermediate_size=24,
  initializer_range=0.4,
)
# A question of 2 pieces, a text of 5, [SEP] and [CLS].
SEGMENTS = [0, 0, 0, 1, 1, 1, 1, 1, 1, 2]
IDS = [7, 8, 4, 11, 12, 13, 14, 15, 4, 3]
LENGTH = len(IDS)
PLACES = 7  # Those of the text, [SEP] and [CLS].


def padded(before, after):
  """The row with padding before and after it."""

  def pad(row, value):
    return np.array([[value] * before + row + [value] * after], np.int32)

  return {
    "input_ids": pad(IDS, 5),
    "segment_ids": pad(SEGMENTS, 3),
    "input_mask": pad([1] * LENGTH, 0),
  }


def make(start_n_top=PLACES, end_n_top=PLACES, **options):
  return models.AnswerBeam(
    CONFIG, start_n_top, end_n_top, use_answer_mask=True, **options
  )


@pytest.fixture(name="model", scope="module")
def fixture_model():
  return make(use_start_positions=True)


def call(model, before=0, after=0, start=3):
  rows = padded(before, after)
  if start is not None:
    rows["start_positions"] = np.array([start], np.int32)
  outputs = model(rows)
  return {name: np.array(x)[0] for name, x in outputs.items()}


def test_ends_of_a_given_start_are_those_that_the_beam_finds(model):
  outputs = call(model)
  for rank, start in enumerate(outputs["start_top_index"]):
    logits = call(model, start=start)["end_logits"]
    probs = np.exp(logits - logits.max())
    places = outputs["end_top_index"][rank::PLACES]
    np.testing.assert_allclose(
      outputs["end_top_log_probs"][rank::PLACES],
      (probs / probs.sum())[places],
      atol=1e-6,
    )


def test_neither_the_question_nor_padding_is_an_answer(model):
  outputs = call(model, after=4)
  for side in ("start", "end"):
    assert set(outputs[f"{side}_top_index"].tolist()) == {*range(3, LENGTH)}
  assert outputs["start_top_log_probs"].sum() == pytest.approx(1.0, abs=1e-5)


def test_padding_on_either_side_changes_nothing(model):
  alone = call(model)
  for before, after in itertools.product((0, 3), (0, 2)):
    found = call(model, before, after, start=3 + before)
    for name in ("cls_logits", "start_top_log_probs", "end_top_log_probs"):
      np.testing.assert_allclose(
        np.sort(found[name].ravel()),
        np.sort(alone[name].ravel()),
        atol=1e-5,
        err_msg=name,
      )
    assert found["start_top_index"][0] == alone["start_top_index"][0] + before


def test_a_row_may_be_shorter_than_the_beam():
  outputs = call(make(LENGTH + 3, LENGTH + 2), start=None)
  probs = outputs["start_top_log_probs"]
  assert probs.shape == (LENGTH + 3,) and (probs[LENGTH:] == 0).all()
  assert outputs["end_top_index"].max() < LENGTH


def test_it_is_made_again_from_its_configuration(model):
  copy = type(model).from_config(model.get_config())
  copy.set_weights(model.get_weights())
  for name, expected in call(model).items():
    np.testing.assert_allclose(call(copy)[name], expected, atol=1e-6)
