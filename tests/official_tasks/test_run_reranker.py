"""A reranker from files, with negatives that an encoder finds."""

import pathlib
import random

import pytest

from tests.official_tasks import scripts

pytestmark = pytest.mark.integration

SENTENCES = pathlib.Path(__file__).parents[1] / "data/sentences"


def test_a_reranker_is_trained_scored_and_exported(tmp_path):
  scripts.write_model_files(tmp_path)
  rng = random.Random(0)
  lines = ["question\tanswer\n"]
  for _ in range(40):
    words = rng.sample(scripts.WORDS, 3)
    lines.append(f"{' '.join(words)}\t{words[1]}\n")
  path = tmp_path / "pairs.tsv"
  path.write_text("".join(lines), encoding="utf-8")
  values = {
    "bert_config_file": tmp_path / "bert_config.json",
    "train_file": path,
    "dev_fraction": 0.25,
    "max_seq_length": 16,
    "train_batch_size": 8,
    "num_train_epochs": 1,
    "do_train": True,
  }
  status, out, err = scripts.run(
    "run_reranker",
    **values,
    output_dir=tmp_path / "run",
    mine=SENTENCES,
    num_negatives=3,
    mining_margin=-2,
    num_candidates=5,
    do_eval=True,
  )
  assert status == 0, err
  result = scripts.results(tmp_path / "run")["eval"]["dev"]
  assert {"ndcg@10", "mrr@10", "map@10", "recall@1"} == result["scores"].keys()
  assert 0 < result["baseline"] < 1
  assert "dev: in the order given" in out
  status, out, err = scripts.run(
    "export_saved_model",
    checkpoint_dir=tmp_path / "run",
    export_dir=tmp_path / "served",
  )
  assert status == 0, err
  assert "text_pairs" in out and "regression" in out
  status, _, err = scripts.run(
    "run_reranker", **values, output_dir=tmp_path / "wrong"
  )
  assert status == 1
  assert "has one document" in err.splitlines()[-1]
