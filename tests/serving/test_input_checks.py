"""Inputs that a signature refuses, in every loader; the process lives on."""

import pytest
import tensorflow as tf

from tests.serving import all_heads, answers, bad_requests


@pytest.mark.parametrize("name", all_heads.ALL)
def test_no_input_ends_the_process(printed, exports, name):
  head = exports[name].head
  errors, found = printed[name]
  for (signature, inputs, message), error in zip(
    bad_requests.of(head), errors, strict=True
  ):
    assert message in error, (signature, inputs)
  for signature, answer in found.items():
    answers.check(answer, head.expected[signature])


@pytest.mark.parametrize("name", all_heads.ALL)
def test_a_session_refuses_ids_that_have_no_row(asked, exports, name):
  wrong = bad_requests.of_ids(exports[name].head)
  for number, (_, message) in enumerate(wrong):
    assert message in asked.answers[name, "ids", number]


@pytest.mark.parametrize("name", ["encoder", "multiple_choice"])
def test_a_model_loaded_in_python_refuses_ids_that_have_no_row(exports, name):
  head, version_dir = exports[name]
  signature = tf.saved_model.load(str(version_dir)).signatures["token_ids"]
  for inputs, message in bad_requests.of_ids(head):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
      signature(**{name: tf.constant(ids) for name, ids in inputs.items()})


@pytest.mark.parametrize("name", ["classification_of_pairs", "multiple_choice"])
def test_texts_without_as_many_others_are_refused(exports, name):
  head, version_dir = exports[name]
  loaded = tf.saved_model.load(str(version_dir))
  inputs = head.requests["serving_default"]
  for rows in (slice(0), slice(1)):
    fewer = inputs | {"text": inputs["text"][rows]}
    with pytest.raises(
      tf.errors.InvalidArgumentError, match=bad_requests.WRONG_SIZE
    ):
      loaded.signatures["serving_default"](
        **{name: tf.constant(texts) for name, texts in fewer.items()}
      )
