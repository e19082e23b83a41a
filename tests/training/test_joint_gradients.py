"""Losses of whole batches: the same gradients in chunks of any size."""

import json

import numpy as np
import pytest

from tests import slow
from tests.official_tasks import forked
from tests.training import joint_equality


@pytest.fixture(scope="module")
def at_once():
  return joint_equality.run(1, 0)


def check(found, expected):
  for metrics, _ in (found, expected):  # Parts are filled up with rows.
    metrics.pop("padding_share", None)
  (metrics, weights), (other_metrics, other_weights) = expected, found
  for name, values in weights.items():
    np.testing.assert_allclose(
      other_weights[name], values, atol=1e-6, err_msg=name
    )
  assert other_metrics == pytest.approx(metrics, rel=1e-4)


@pytest.mark.integration
@pytest.mark.parametrize("chunk_size", slow.all_but([3], [1, 3, 8, 16]))
def test_chunks_of_any_size_give_the_same_weights(at_once, chunk_size):
  """With dropout; 3 does not divide the groups of 16."""
  check(joint_equality.run(1, chunk_size), at_once)


@pytest.mark.integration
@pytest.mark.parametrize("is_late", slow.all_but([False], [False, True]))
def test_rows_cut_to_those_of_their_group_give_the_same_weights(is_late):
  options = {"dropout": 0.0, "is_late": is_late}
  whole = joint_equality.run(1, 0, is_fixed=True, **options)
  cut = joint_equality.run(1, 0, **options)
  assert cut[0].pop("padding_share") < whole[0].pop("padding_share") - 0.05
  check(cut, whole)


@pytest.mark.slow
def test_chunks_of_late_interaction_give_the_same_weights():
  whole, chunked = (
    joint_equality.run(1, size, is_late=True) for size in (0, 3)
  )
  check(chunked, whole)


@pytest.mark.slow
def test_recomputed_blocks_give_the_same_weights(at_once):
  check(joint_equality.run(1, 4, rematerialize=True), at_once)


@pytest.mark.integration
@pytest.mark.parametrize("chunk_size", slow.all_but([2], [0, 2]))
def test_the_rows_of_all_replicas_are_compared(chunk_size):
  """Without dropout: each replica has groups of its own."""
  arguments = [joint_equality.__file__, "2", str(chunk_size), "0.0"]
  process = forked.Process(arguments)
  output, _ = process.communicate(timeout=300)
  assert process.returncode == 0
  check(json.loads(output), joint_equality.run(1, 0, dropout=0.0))


@pytest.mark.integration
def test_dropout_has_an_effect_that_other_rows_do_not_share(at_once):
  metrics, _ = at_once
  assert metrics["gradient_norm"] > 0
  training = joint_equality.build()
  row = {
    name: x[:1].numpy()
    for name, x in next(iter(joint_equality.dataset())).items()
  }
  joint = training._joint
  first, second = (
    joint._forward(row, group=0, place=place)["embeddings"].numpy()
    for place in range(2)
  )
  assert not np.allclose(first, second, atol=1e-3)


def test_micro_batches_are_refused():
  with pytest.raises(ValueError, match="gradient_accumulation_steps .2. must"):
    joint_equality.build(gradient_accumulation_steps=2)
