"""Scores of rankings beside those of ranx."""

import numpy as np
import pytest

from keras_bert_impl.metrics import ranking
from tests.metrics import make_rankings

EXPECTED = dict(np.load(make_rankings.PATH))
RANKED, RELEVANT, *_ = make_rankings.rankings()


@pytest.mark.parametrize("name", make_rankings.NAMES)
def test_a_thousand_rankings_have_the_scores_of_ranx(name):
  found = ranking.of_queries(name, RANKED, RELEVANT)
  assert len(found) == 1000
  np.testing.assert_allclose(found, EXPECTED[name], rtol=0, atol=1e-15)
  scores = ranking.scores([name], RANKED, RELEVANT)
  assert scores == {name: pytest.approx(EXPECTED[name].mean(), abs=1e-15)}


def test_a_ranking_worked_out_by_hand():
  ranked, relevant = [[0, 2, 1]], [np.array([2.0, 1.0, 3.0])]
  scores = ranking.scores(["mrr@3", "ndcg@2", "map@3"], ranked, relevant)
  best = 3 + 2 / np.log2(3)
  expected = {"mrr@3": 1 / 2, "ndcg@2": 2 / np.log2(3) / best}
  assert scores == pytest.approx(expected | {"map@3": (1 / 2 + 2 / 3) / 3})


@pytest.mark.parametrize("name", ["mrr", "f1@10", "ndcg@0", "ndcg@x"])
def test_an_unknown_metric_is_refused(name):
  with pytest.raises(ValueError, match=rf"metrics \('{name}'\) must be one of"):
    ranking.scores([name], RANKED, RELEVANT)
