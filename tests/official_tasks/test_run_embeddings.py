"""Text vectors from files, by the script, as a user trains them."""

import functools
import json
import pathlib
import random

import numpy as np
import pytest

import keras_bert_impl as kb
from tests.official_tasks import scripts

pytestmark = pytest.mark.integration

SENTENCES = pathlib.Path(__file__).parents[1] / "data/sentences"


@pytest.fixture(name="folder", scope="module")
def fixture_folder(tmp_path_factory):
  folder = tmp_path_factory.mktemp("vectors")
  scripts.write_model_files(folder)
  rng = random.Random(0)
  lines = ["question\tanswer\n"]
  for _ in range(64):
    words = rng.sample(scripts.WORDS, 3)
    lines.append(f"{' '.join(words)}\t{' '.join(sorted(words))}\n")
  (folder / "pairs.tsv").write_text("".join(lines), encoding="utf-8")
  return folder


def flags(folder, output, **values):
  usual = {"train_batch_size": 16, "learning_rate": 6e-3}
  usual["save_checkpoints_steps"] = 100  # One, at the end.
  return scripts.fine_tuning(folder, output, **usual | values)


def test_negatives_are_mined_by_another_encoder_and_then_by_itself(folder):
  values = {
    "train_file": folder / "pairs.tsv",
    "dev_fraction": 0.25,
    "do_train": True,
    "do_eval": True,
    "num_train_epochs": 2,
    "save_checkpoints_steps": 3,
    "num_negatives": 2,
    "mine_every": 1,
    "mining_margin": -2,
  }
  status, _, err = scripts.run(
    "run_embeddings", **flags(folder, "mined", mine=SENTENCES, **values)
  )
  assert status == 0, err
  rows = scripts.results(folder / "mined")["data"]["train"]
  assert rows["rows"] == 4 * rows["examples"]  # A pair and two negatives.
  assert (folder / "mined/renewed/train_1.tf_record").exists()
  status, _, err = scripts.run(
    "run_embeddings", **flags(folder, "wrong", **values)
  )
  assert status == 1
  assert "num_negatives (2) needs mine" in err.splitlines()[-1]


def test_pairs_are_learned_scored_saved_and_exported(folder):
  status, out, err = scripts.run(
    "run_embeddings",
    **flags(
      folder,
      "run",
      train_file=folder / "pairs.tsv",
      dev_fraction=0.25,
      do_train=True,
      do_eval=True,
      chunk_size=8,
      num_train_epochs=6,
      query_prompt="the ",
    ),
  )
  assert status == 0, err
  scores = scripts.results(folder / "run")["eval"]["dev"]["scores"]
  assert scores["mrr@10"] > 0.6
  assert "dev ndcg@10" in out and "sentence encoder" in out
  encoder = kb.SentenceEncoder.from_checkpoint(
    folder / "run" / "sentence_encoder"
  )
  assert encoder.texts.prompts == {"query": "the ", "document": ""}
  of_run = kb.SentenceEncoder.from_checkpoint(folder / "run")
  assert of_run.texts == encoder.texts
  dev = folder / "run/dev/rankings.trec"
  assert len(dev.read_text().splitlines()) == 16 * 16
  # The run itself and its folder give the same vectors as its SavedModel.
  status, out, err = scripts.run(
    "export_saved_model",
    checkpoint_dir=folder / "run",
    export_dir=folder / "served",
  )
  assert status == 0, err
  import tensorflow as tf

  served = tf.saved_model.load(out.splitlines()[-1])
  text = ["the cat 고양이", "river"]
  found = served.signatures["serving_default"](text=tf.constant(text))
  np.testing.assert_allclose(
    found["embeddings"], encoder.encode(text), atol=1e-5
  )


def test_a_corpus_is_searched_by_shards_in_the_folder_of_the_run(folder):
  rows = (folder / "pairs.tsv").read_text(encoding="utf-8").split("\n")[1:-1]
  pairs = [row.split("\t") for row in rows]
  beir, names = folder / "beir", ("queries", "corpus")
  (beir / "qrels").mkdir(parents=True)
  for name, texts in zip(names, zip(*pairs, strict=True), strict=True):
    lines = [
      json.dumps({"_id": f"{k}", "text": text}) for k, text in enumerate(texts)
    ]
    (beir / f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")
  judged = [f"{k}\t{63 - k}\t1" for k in range(9)]
  qrels = "\n".join(["query-id\tcorpus-id\tscore", *judged])
  (beir / "qrels/dev.tsv").write_text(qrels)
  texts = {" ".join(reversed(text.split())) for _, text in pairs}
  corpus = folder / "others.tsv"
  corpus.write_text("\n".join(["answer", *texts, ""]), encoding="utf-8")
  values = {
    "train_file": folder / "pairs.tsv",
    "dev_file": beir,
    "corpus_file": corpus,
    "do_eval": True,
  }

  def run(**more):
    status, _, err = scripts.run(
      "run_embeddings", **flags(folder, "searched", **values, **more)
    )
    assert status == 0, err
    [vectors] = (folder / "searched/dev").glob("corpus-*")
    scores = scripts.results(folder / "searched")["eval"]["dev"]["scores"]
    return vectors, (vectors / "manifest.json").stat().st_mtime_ns, scores

  first = run(do_train=True, early_stopping_patience=2, num_train_epochs=2)
  vectors = kb.load_corpus_vectors(first[0], check_hashes=True)
  assert vectors.ids[:55] == [str(k) for k in range(55)]
  assert vectors.ids[55:] == [f"corpus-0-{k}" for k in range(len(texts))]
  encoder = kb.SentenceEncoder.from_checkpoint(folder / "searched")
  expected = encoder.evaluate(str(beir), corpus=str(corpus))
  assert first[2] == pytest.approx(expected, abs=1e-6)
  again = run()
  assert (again[0], again[2]) == (first[0], first[2])


def test_what_cannot_be_learned_is_one_line(folder):
  usual = {"train_file": folder / "pairs.tsv", "do_train": True}
  cases = [
    ({"loss": "cosent"}, "has no score, which loss=cosent learns"),
    ({"vectors": "sparse", "pooling": "cls"}, "pooling ('cls') is of dense"),
    ({"vectors": "late", "loss": "cosine"}, "loss ('cosine') is of dense"),
    ({"vectors": "late", "query_length": 17}, "query_length (17) must be at"),
    ({"query_length": 8}, "query_length (8) is of late interaction"),
    ({"vectors": "late", "query_length": 8}, "query_prefix ('[unused0]') is"),
    ({"matryoshka_widths": "8,x"}, "matryoshka_widths ('8,x') must be"),
    ({"matryoshka_widths": "8,999"}, "matryoshka_widths (999) must be at most"),
    ({"train_weights": "1,2"}, "train_weights ((1.0, 2.0)) must be 1 numbers"),
    ({"text_columns": "question,reply"}, "has no column 'reply'"),
    ({"gradient_accumulation_steps": 2}, "gradient_accumulation_steps (2)"),
    ({"do_predict": True}, "--do_predict is not for vectors"),
  ]
  scripts.check_mistakes(
    "run_embeddings", cases, functools.partial(flags, folder, "wrong", **usual)
  )
