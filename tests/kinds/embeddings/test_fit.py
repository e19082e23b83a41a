"""Sentence encoders that are trained and scored from Python."""

import os
import pathlib
import shutil

import keras
import numpy as np
import pandas as pd
import pytest
import tensorflow as tf

import keras_bert_impl as kb
from keras_bert_impl import files
from keras_bert_impl.kinds.embeddings import embedding_trainer
from keras_bert_impl.sentences import folders

FOLDER = pathlib.Path(__file__).parents[2] / "data/sentences"
WORDS = "cat dog sun moon tree bird fish stone river hill 고양이 나무".split()
PAIRS = [(f"what is {word}?", f"{word} {word[::-1]}") for word in WORDS]
SETTINGS = {"epochs": 2, "batch_size": 4, "learning_rate": 1e-3}
# The vocabulary of the folder knows few of the words.
SETTINGS |= {"max_unknown_share": 1}
NAN = float("nan")


def new_encoder():
  return kb.SentenceEncoder.from_checkpoint(FOLDER)


@pytest.mark.integration
def test_pairs_are_learned_in_place(tmp_path):
  encoder = new_encoder()
  model, before = encoder.model, encoder.encode(WORDS)
  history = encoder.fit(
    PAIRS,
    validation_data=0.25,
    epochs=4,
    batch_size=3,
    chunk_size=2,
    learning_rate=3e-2,
    max_seq_length=6,
    max_unknown_share=1,
    output_dir=str(tmp_path / "run"),
  )
  assert encoder.model is model
  assert history.history["loss"][-1] < 0.8 * history.history["loss"][0]
  assert len(history.history["val_ndcg@10"]) == 4
  assert not np.allclose(encoder.encode(WORDS), before, atol=0.01)
  assert encoder.results["train"]["is_finished"]
  # Also of texts that the run cuts, as they were not cut before it.
  texts = [*WORDS, " ".join(WORDS)]
  encoder.save(tmp_path / "saved")
  for folder in ("saved", "run"):
    again = kb.SentenceEncoder.from_checkpoint(tmp_path / folder)
    np.testing.assert_allclose(
      again.encode(texts), encoder.encode(texts), atol=1e-6
    )


@pytest.mark.integration
def test_the_same_seed_gives_the_same_vectors_and_a_run_goes_on(tmp_path):
  first, second = new_encoder(), new_encoder()
  first.fit(PAIRS, output_dir=tmp_path / "run", **SETTINGS)
  # Called again by a process that was started again: nothing is left to do.
  second.fit(PAIRS, output_dir=tmp_path / "run", **SETTINGS)
  np.testing.assert_array_equal(first.encode(WORDS), second.encode(WORDS))
  with pytest.raises(
    ValueError, match="holds a run with other settings|init_checkpoint"
  ):
    first.fit(PAIRS, output_dir=tmp_path / "run", **SETTINGS)


@pytest.mark.integration
def test_examples_are_dicts_scores_or_texts_alone():
  encoder = new_encoder()
  # A layer of the user's own, whose name the run does not keep.
  layer = keras.layers.Dense(4, name="projection")
  model = kb.EmbeddingModel(encoder.model.encoder, "mean", [layer])
  encoder = kb.SentenceEncoder(model, encoder.tokenizer, encoder.texts)
  kernel = layer.kernel.numpy()
  scored = [(a, b, float(n)) for n, (a, b) in enumerate(PAIRS)]
  encoder.fit(scored, loss="cosent", **SETTINGS | {"epochs": 1})
  assert not np.allclose(layer.kernel, kernel, atol=1e-4)
  assert files.exists(encoder.results["artifacts"]["checkpoint"] + ".index")
  pairs, scores = PAIRS, [*range(len(PAIRS))]
  assert encoder.evaluate(scored) == encoder.evaluate(pairs, scores)
  triplets = [
    {"anchor": a, "positive": b, "negative": [WORDS[0], WORDS[1]]}
    for a, b in PAIRS[2:]
  ]
  [first, *_], *_ = embedding_trainer.examples_of(triplets)
  assert first.texts == (*PAIRS[2], *WORDS[:2])
  encoder.fit(WORDS, query_prompt="is: ", **SETTINGS | {"epochs": 1})
  assert encoder.texts.prompts["query"] == "is: "


@pytest.mark.integration
def test_pairs_are_judged_by_the_vectors_that_encode_gives():
  """Those after the default prompt, if there is none of queries."""
  encoder = new_encoder()
  prompts = {"sts": "the cat sat: "}
  encoder.texts = folders.Texts(prompts=prompts, default_prompt_name="sts")
  vectors = [encoder.encode([*texts]) for texts in zip(*PAIRS, strict=True)]
  cosines = encoder.similarity_pairwise(*vectors)
  scores = [*range(len(PAIRS))]
  found = encoder.evaluate(PAIRS, scores)["pearson"]
  assert found == pytest.approx(np.corrcoef(cosines, scores)[0, 1], abs=1e-5)
  encoder.texts = folders.Texts()
  assert encoder.evaluate(PAIRS, scores)["pearson"] != pytest.approx(found)


def test_what_is_refused_leaves_its_folder_to_others(tmp_path):
  folder = str(tmp_path / "run")
  with pytest.raises(ValueError, match="give at least two"):
    new_encoder().fit([("a", "b")], output_dir=folder)
  assert not os.path.exists(folder)
  encoder = new_encoder()
  encoder.texts = folders.Texts(max_seq_length=7)  # Not as of its checkpoint.
  with pytest.raises(ValueError, match="give at least two"):
    encoder.fit([("a", "b")], output_dir=folder)
  assert os.listdir(folder) == []


def test_nothing_is_scored_without_a_relevant_document(tmp_path):
  tables = {
    "corpus.jsonl": '{"_id": "d", "text": "a cat"}',
    "queries.jsonl": '{"_id": "q", "text": "what is it?"}',
    "qrels/dev.tsv": "query-id\tcorpus-id\tscore\nq\td\t0",
  }
  (tmp_path / "qrels").mkdir()
  for name, text in tables.items():
    (tmp_path / name).write_text(text + "\n")
  with pytest.raises(ValueError, match=r"dev.tsv:2 has no relevant document"):
    new_encoder().evaluate(str(tmp_path))


def test_more_texts_make_the_search_harder():
  encoder = new_encoder()
  table = pd.DataFrame({"text": WORDS})
  for corpus in (table, {"text": WORDS}, [None]):
    with pytest.raises(ValueError, match=r"corpus.* must be a"):
      encoder.evaluate(PAIRS, corpus=corpus)
  few = encoder.evaluate(PAIRS)
  many = encoder.evaluate(PAIRS, corpus=[a for a, _ in PAIRS])
  assert many["mrr@10"] < few["mrr@10"]


@pytest.mark.slow
def test_pairs_are_learned_and_scored_pairs_judge_them():
  encoder = new_encoder()
  scored = PAIRS, [float(k) for k in range(len(PAIRS))]
  settings = SETTINGS | {"epochs": 1, "matryoshka_widths": (2, 4)}
  history = encoder.fit(PAIRS, validation_data=scored, **settings)
  assert -1 <= history.history["val_spearman"][0] <= 1
  assert files.exists(encoder.results["artifacts"]["checkpoint"] + ".index")


@pytest.mark.parametrize("batch_size", [None, 2])
def test_tuples_of_a_data_set_are_texts_and_maybe_a_score(batch_size):
  columns = ["a", "b", "c"], ["x", "y", "z"], [0.5, 1.0, 0.0]
  for number in (2, 3):
    data = tf.data.Dataset.from_tensor_slices(columns[:number])
    data = data.batch(batch_size) if batch_size else data
    found, *_ = embedding_trainer.examples_of(data)
    assert [e.texts for e in found] == [*zip(*columns[:2])]
    scores = columns[2] if number == 3 else [None] * 3
    assert [e.score for e in found] == scores


@pytest.mark.parametrize(
  "arguments, message",
  [
    ({"data": [("a", "b")]}, "have 1 examples with two texts"),
    ({"data": [("a", "b"), ("c",)]}, r"data\[1\] has one text, but others"),
    (
      {"data": [("a", "b", "1.0"), ("c", "d", "2")]},
      r"data\[0\] has the third text '1.0'.*: give scores as float",
    ),
    ({"data": [("a", ""), ("c", "d")]}, r"data\[0\] has an empty text"),
    ({"data": [("a", 3), ("c", "d")]}, r"data\[0\]\[1\] \(3\) must be a str"),
    ({"data": [{"anchor": "a", "negatives": []}]}, "the key 'negatives'"),
    ({"data": PAIRS, "teacher": object()}, r"teacher \(object\) must be an"),
    (
      {"data": {"anchor": ["a"], "positive": ["b"], "negative": [NAN]}},
      r"data\[0\]\[2\] \(nan\) must be a str",
    ),
    ({"data": [{"anchor": "a"}]}, r"data\[0\]\[1\] \(None\) must be a str"),
    ({"data": PAIRS, "loss": "nothing"}, r"loss \('nothing'\) must be one of"),
    ({"data": PAIRS, "temprature": 1}, "the nearest is temperature, and all"),
    ({"data": PAIRS, "pooling": "max"}, "is the model's own"),
    ({"data": PAIRS, "batch_size": 1}, r"size \(1\) must be at least 2: the"),
    (
      {"data": PAIRS[:2], "targets": [0, 1], "loss": "cosent", "batch_size": 1},
      r"train_batch_size \(1\) must be at least 2",
    ),
    (
      {"data": [("a", "b", float("nan")), ("c", "d", 1.0)]},
      r"data\[0\].score \(nan\) must be a finite",
    ),
  ],
)
def test_a_wrong_example_or_setting_is_named(arguments, message):
  with pytest.raises(ValueError, match=message):
    new_encoder().fit(**arguments)


@pytest.mark.slow
def test_adapters_are_merged_in_the_folder_of_a_run(tmp_path):
  encoder = new_encoder()
  before = encoder.encode(WORDS)
  encoder.fit(
    PAIRS, output_dir=tmp_path, lora_rank=2, **SETTINGS | {"learning_rate": 0.1}
  )
  trained = encoder.encode(WORDS)
  assert not np.allclose(trained, before, atol=0.01)
  folder = kb.SentenceEncoder.from_checkpoint(tmp_path / "sentence_encoder")
  assert folder.texts == encoder.texts
  np.testing.assert_allclose(folder.encode(WORDS), trained, atol=1e-5)


@pytest.mark.integration
def test_a_run_that_was_killed_goes_on_to_the_same_vectors(tmp_path):
  settings = SETTINGS | {"chunk_size": 3, "keep_checkpoint_max": 9}
  whole, run = new_encoder(), tmp_path / "run"
  whole.fit(PAIRS, output_dir=run, **settings)
  # What a kill after the first epoch leaves.
  kept = run.rename(tmp_path / "kept")
  run.mkdir()
  for path in kept.glob("*"):
    if path.name in ("start", "records"):
      shutil.copytree(path, run / path.name)
    elif path.is_file() and path.name not in ("results.json", "checkpoint"):
      if "ckpt" not in path.name or "ckpt-3" in path.name:
        shutil.copy(path, run)
  resumed = new_encoder()
  history = resumed.fit(PAIRS, output_dir=run, **settings)
  assert len(history.history["loss"]) == 1  # The second epoch.
  np.testing.assert_array_equal(whole.encode(WORDS), resumed.encode(WORDS))


@pytest.mark.slow
def test_a_run_that_was_killed_before_its_first_checkpoint_begins_anew(
  tmp_path,
):
  new = new_encoder()
  layer = keras.layers.Dense(4, name="projection")
  model = kb.EmbeddingModel(new.model.encoder, "mean", [layer])
  kb.SentenceEncoder(model, new.tokenizer, new.texts).save(tmp_path / "start")
  opened = [
    kb.SentenceEncoder.from_checkpoint(tmp_path / "start") for _ in range(2)
  ]
  # Made in memory: no checkpoint is theirs.
  whole, again = (
    kb.SentenceEncoder(each.model, each.tokenizer, each.texts)
    for each in opened
  )
  settings = SETTINGS | {"epochs": 1}
  whole.fit(PAIRS, output_dir=tmp_path / "run", **settings)
  for path in (tmp_path / "run").glob("*"):
    if "ckpt" in path.name or path.name in ("checkpoint", "results.json"):
      path.unlink()
  again.fit(PAIRS, output_dir=tmp_path / "run", **settings)
  np.testing.assert_array_equal(whole.encode(WORDS), again.encode(WORDS))
