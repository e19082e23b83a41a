"""Random rankings, and their scores by ranx.

  pip install ranx; python tests/metrics/make_rankings.py

writes rankings.npz, which `test_ranking` reads.
"""

import pathlib

import numpy as np

PATH = pathlib.Path(__file__).with_name("rankings.npz")
# {our name: that of ranx}.
NAMES = {
  "mrr@10": "mrr@10",
  "ndcg@10": "ndcg@10",
  "map@20": "map@20",
  "recall@5": "recall@5",
  "precision@10": "precision@10",
}


def rankings(number=1000, num_documents=30, depth=20):
  """Returns grades of the ranked [Q, K], and of all relevant documents."""
  rng = np.random.default_rng(7)
  ranked, relevant, orders, grades_of = [], [], [], []
  for _ in range(number):
    grades = np.zeros(num_documents)
    chosen = rng.permutation(num_documents)[: rng.integers(1, 9)]
    grades[chosen] = rng.integers(1, 4, len(chosen))
    order = rng.permutation(num_documents)[:depth]
    ranked.append(grades[order])
    relevant.append(grades[grades > 0])
    orders.append(order)
    grades_of.append(grades)
  return np.array(ranked), relevant, orders, grades_of


def main():
  """Writes the scores of each query."""
  import ranx

  _, _, orders, grades_of = rankings()
  qrels = ranx.Qrels(
    {
      f"q{q:04}": {f"d{d}": int(g) for d, g in enumerate(grades) if g > 0}
      for q, grades in enumerate(grades_of)
    }
  )
  run = ranx.Run(
    {
      f"q{q:04}": {f"d{d}": float(-rank) for rank, d in enumerate(order)}
      for q, order in enumerate(orders)
    }
  )
  scores = ranx.evaluate(qrels, run, [*NAMES.values()], return_mean=False)
  np.savez_compressed(
    PATH, **{ours: scores[theirs] for ours, theirs in NAMES.items()}
  )


if __name__ == "__main__":
  main()
