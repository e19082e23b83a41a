"""Every head, op by op: what it answers is what the eager model says.

Every run exports some of them; see `test_export`.
"""

import pytest
import tensorflow as tf

from tests import slow
from tests.serving import all_heads, answers


@pytest.mark.parametrize(
  "name",
  slow.all_but(
    {*all_heads.NAMES, *all_heads.SEARCHES} - {*all_heads.QUICK},
    (*all_heads.NAMES, *all_heads.SEARCHES),
  ),
)
def test_every_signature_answers_as_the_eager_model(name, tmp_path, eagerly):
  head = all_heads.make(name, tmp_path)
  functions = head.servable.signatures
  assert set(functions) == set(head.requests)
  for signature, expected in head.expected.items():
    is_default = signature == "serving_default"
    for part in answers.PARTS if is_default else ("all",):
      some = answers.part_of(head.requests[signature], part)
      tensors = {name: tf.constant(value) for name, value in some.items()}
      answer = functions[signature](**tensors)
      found = {name: value.numpy() for name, value in answer.items()}
      answers.check(found, expected, part)
  assert head.servable.describe()["head"] == head.servable.head
