"""Inputs that a signature refuses, in every loader; the process lives on."""

import pytest
import tensorflow as tf

from tests.serving import all_heads, answers, bad_requests


@pytest.mark.parametrize("name", ["classification_of_pairs", "multiple_choice"])
def test_a_function_refuses_what_has_no_row_or_another_rank_or_size(
  name, tmp_path, eagerly
):
  head = all_heads.make(name, tmp_path)
  functions = head.servable.signatures
  for signature, inputs, message in bad_requests.of(head):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
      functions[signature](**{k: tf.constant(v) for k, v in inputs.items()})
  inputs = head.requests["serving_default"]
  for part in ("none", "first"):
    fewer = inputs | answers.part_of({"text": inputs["text"]}, part)
    with pytest.raises(
      tf.errors.InvalidArgumentError, match=bad_requests.WRONG_SIZE
    ):
      functions["serving_default"](
        **{k: tf.constant(v) for k, v in fewer.items()}
      )


@pytest.mark.parametrize("name", all_heads.EXPORTED)
def test_a_session_refuses_ids_that_have_no_row(asked, exports, name):
  wrong = bad_requests.of_ids(exports[name].head)
  for number, (_, message) in enumerate(wrong):
    assert message in asked(name)["ids", number]
