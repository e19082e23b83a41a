"""Servables of trained models of all kinds."""

import json
import pathlib
import shutil

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import models
from keras_bert_impl.checkpoints.formats import tf_format
from keras_bert_impl.kinds import opening
from keras_bert_impl.model_folders import model_files
from tests.model_folders import runs

DATA = pathlib.Path(__file__).parents[1] / "data"
SENTENCES = DATA / "sentences"
TAGGED = DATA / "tagged/roberta"
IDS = {
  "input_ids": np.array([[2, 6, 7, 3, 8, 3], [2, 9, 3, 0, 0, 0]], np.int32),
  "input_mask": np.array([[1] * 6, [1, 1, 1, 0, 0, 0]], np.int32),
  "segment_ids": np.array([[0, 0, 0, 0, 1, 1], [0] * 6], np.int32),
}


def make(folder, head=None, max_seq_length=None, **chosen):
  servable, _ = opening.make_servable(
    model_files.ModelFilesConfig(),
    str(folder),
    head,
    max_seq_length,
    chosen,
  )
  return servable


def write_safetensors(folder, name):
  """Copies a checkpoint of `transformers`; adds a vocabulary of its size."""
  shutil.copytree(DATA / "parity" / name, folder, dirs_exist_ok=True)
  tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
  tokens += [f"word{index}" for index in range(120 - len(tokens))]
  (folder / "vocab.txt").write_text("\n".join(tokens) + "\n")


def check_ids(servable, model):
  """Checks that the weights are those of `model`."""
  ids = IDS
  if servable.ids_rank == 3:
    ids = {name: value[:, np.newaxis] for name, value in IDS.items()}
  found = servable.answer_ids(**{k: tf.constant(v) for k, v in ids.items()})
  for name, value in model(ids, training=False).items():
    np.testing.assert_allclose(found[name], value, atol=1e-5)


@pytest.mark.parametrize(
  ("name", "results", "described"),
  [
    ("scores", {}, {"head": "regression", "max_seq_length": 16}),
    (
      "bilstm",
      {"configuration": {"task_name": "mrpc"}},
      {
        "head": "classification",
        "labels": ["0", "1"],
        "text_pairs": True,
        # The names in the data set that it was trained on.
        "label_names": {"0": "not_equivalent", "1": "equivalent"},
      },
    ),
    ("choices", {}, {"head": "multiple_choice"}),
    (
      "answers",
      {
        "configuration": {"max_answer_length": 9, "doc_stride": 1},
        "eval": {"dev": {"scores": {"best_f1_thresh": -1.5}}},
      },
      {
        "head": "question_answering",
        "max_seq_length": 20,
        "doc_stride": 5,
        "max_query_length": 7,
        "max_answer_length": 9,
        "null_score_diff_threshold": -1.5,
      },
    ),
    (
      "entities",
      {},
      {
        "head": "token_classification",
        "labels": list(runs.TAGS),
        "trained_on": "characters",
        "token_unit": "character",
      },
    ),
  ],
)
def test_a_run_is_served_as_it_was_trained(tmp_path, name, results, described):
  model = runs.write(tmp_path, name, **results)
  servable = make(tmp_path)
  assert described.items() <= servable.describe().items()
  check_ids(servable, model)


def test_any_masked_language_model_gives_sparse_vectors(tmp_path):
  write_safetensors(tmp_path, "roberta_masked_lm")
  servable = make(tmp_path, "sparse", top_k=7)
  assert servable.describe()["head"] == "sparse"
  assert servable.answer(["word1 word2"])["weights"].shape == (1, 7)
  logits = models.from_checkpoint(tmp_path, heads=True)(IDS)["token_logits"]
  weights = np.log1p(np.maximum(logits, 0)) * IDS["input_mask"][..., np.newaxis]
  found = servable.answer_ids(**IDS)["embeddings"]
  np.testing.assert_allclose(found, weights.max(axis=1), atol=1e-5)


def test_of_a_search_the_best_run_is_served(tmp_path):
  best = json.dumps({"best": {"name": "seed=2"}})
  (tmp_path / "results.json").write_text(best)
  model = runs.write(tmp_path / "runs/seed=2", "scores")
  check_ids(make(tmp_path), model)


def test_the_encoder_of_any_model_is_served(tmp_path):
  model = runs.write(tmp_path, "entities")
  servable = make(tmp_path, "encoder", 8, pooling="cls", normalize=True)
  assert servable.describe() == {
    "head": "encoder",
    "labels": None,
    "max_seq_length": 8,
    "pooling": "cls",
    "normalize": True,
  }
  hidden = model.encoder(IDS)["sequence_output"]
  found = servable.answer_ids(**{k: tf.constant(v) for k, v in IDS.items()})
  np.testing.assert_allclose(found["sequence_output"], hidden, atol=1e-5)
  norms = np.linalg.norm(found["embeddings"], axis=1)
  np.testing.assert_allclose(norms, 1, atol=1e-5)


@pytest.mark.integration
def test_tags_of_a_checkpoint_of_transformers_are_those_of_raw_text():
  servable = make(TAGGED)
  assert servable.describe()["trained_on"] == "text"
  lines = (TAGGED / "expected.jsonl").read_text("utf-8").splitlines()
  row = json.loads(lines[-1])
  found = servable.answer(tf.constant([row["text"]]))
  columns = (found[n][0].numpy().tolist() for n in ("labels", "starts", "ends"))
  assert [
    [label.decode(), start, end]
    for label, start, end in zip(*columns, strict=True)
  ] == row["entities"]


def test_a_folder_of_sentence_transformers_is_served_as_it_says():
  servable = make(SENTENCES)
  assert {
    "max_seq_length": 12,
    "pooling": "cls, mean, max, weightedmean, lasttoken",
    "normalize": True,
    "prompt": "Query: ",
  }.items() <= servable.describe().items()
  expected = np.load(SENTENCES / "expected.npz")
  vectors = servable.answer(tf.constant(expected["texts"].tolist()))
  np.testing.assert_allclose(
    vectors["embeddings"], expected["query"], atol=1e-5
  )


def test_options_go_before_what_such_a_folder_says():
  chosen = {"pooling": "max", "normalize": False, "prompt": "the "}
  servable = make(SENTENCES, None, 8, **chosen)
  described = {"max_seq_length": 8} | chosen
  assert described.items() <= servable.describe().items()
  answer = servable.answer(tf.constant(["cat sat"]))
  ids = tf.constant([[2, 5, 6, 8, 3]])  # [CLS] the cat sat [SEP]
  found = servable.answer_ids(ids, tf.ones_like(ids), tf.zeros_like(ids))
  # Without [CLS] and the prompt.
  expected = tf.reduce_max(found["sequence_output"][:, 2:], axis=1)
  np.testing.assert_allclose(answer["embeddings"], expected, atol=1e-5)


def test_masks_are_filled_by_a_checkpoint_of_transformers(tmp_path):
  write_safetensors(tmp_path, "bert_pretraining")
  servable = make(tmp_path, top_k=2)
  assert servable.describe()["head"] == "fill_mask"
  answer = servable.answer(tf.constant(["word7 [MASK]"]))
  assert answer["tokens"].shape == (1, 1, 2)
  model = models.from_checkpoint(str(tmp_path), heads=True)
  found = servable.answer_ids(**{k: tf.constant(v) for k, v in IDS.items()})
  expected = model(IDS, training=False)["token_logits"]
  np.testing.assert_allclose(found["token_logits"], expected, atol=1e-5)


def test_a_discriminator_is_served(tmp_path):
  write_safetensors(tmp_path, "electra_discriminator")
  servable = make(tmp_path)
  assert servable.head == "replaced_tokens"
  check_ids(servable, models.from_checkpoint(str(tmp_path), heads=True))


def test_classes_without_names_are_numbered(tmp_path):
  write_safetensors(tmp_path, "bert_classifier")
  described = make(tmp_path, text_pairs=False).describe()
  assert described["labels"] == ["LABEL_0", "LABEL_1", "LABEL_2"]
  assert described["text_pairs"] is False
  with pytest.raises(ValueError, match=r"labels \(no, yes\) .*3"):
    make(tmp_path, text_pairs=True, labels=("no", "yes"))


@pytest.fixture(scope="module")
def written(tmp_path_factory):
  """A folder with some runs, each damaged in its way."""
  folder = tmp_path_factory.mktemp("runs")
  (folder / "empty").mkdir()
  runs.write(folder / "answers", "answers")
  runs.write(folder / "entities", "entities")
  model = runs.write(folder / "scores", "scores")
  shutil.copytree(folder / "scores", folder / "no_vocabulary")
  (folder / "no_vocabulary/vocab.txt").unlink()
  shutil.copytree(folder / "scores", folder / "diverged")
  arrays = {w.path: np.array(w) for w in model.weights}
  arrays["bert/pooler/dense/bias"][0] = np.nan
  tf_format.write(folder / "diverged/model.ckpt-7", arrays)
  runs.write(folder / "old", "bilstm")
  task = json.loads((folder / "old/task.json").read_text())
  del task["text_pairs"]
  (folder / "old/task.json").write_text(json.dumps(task))
  return folder


@pytest.mark.parametrize(
  ("name", "options", "words"),
  [
    ("nowhere", {}, ["no checkpoint", "nowhere"]),
    ("empty", {}, ["empty", "holds no checkpoint"]),
    ("no_vocabulary", {}, ["no_vocabulary", "has no vocabulary"]),
    ("diverged", {}, ["bert/pooler/dense/bias", "NaN or infinite"]),
    ("old", {}, ["pairs of texts", "--text_pairs or --notext_pairs"]),
    ("answers", {"head": "fill_mask"}, ["--head=fill_mask", "answers"]),
    (
      "entities",
      {"head": "classification", "text_pairs": False},
      ["pooler", "a --head other than class"],
    ),
    (
      "answers",
      {"pooling": "cls"},
      ["--pooling", "--head=question_answering"],
    ),
    ("scores", {"max_seq_length": 65}, ["max_seq_length (65)", "64"]),
  ],
)
def test_what_does_not_fit_is_told(written, name, options, words):
  with pytest.raises((ValueError, FileNotFoundError)) as error:
    make(written / name, **options)
  assert all(word in str(error.value) for word in words), error.value
