"""Inputs that a signature refuses; `test_cpp_loader` asks every head."""

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
