"""Trained models of all kinds, exported from the command line."""

import json
import pathlib
import random
import shutil
import types

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_text  # noqa: F401  Registers the ops of the tokenizer.

from keras_bert_impl import configs, models
from keras_bert_impl.checkpoints.formats import tf_format
from keras_bert_impl.tasks.answers import (
  question_answering,
  question_answering_rows,
  question_answering_scores,
)
from keras_bert_impl.tasks.basics import fine_tuning
from keras_bert_impl.tasks.tags import (
  token_classification,
  token_classification_rows,
  token_classification_scores,
)
from keras_bert_impl.tasks.texts import (
  multiple_choice,
  sequence_classification,
  sequence_regression,
  text_rows,
  text_scores,
)
from tests.official_tasks import scripts

SENTENCES = scripts.ROOT / "tests/data/sentences"
TAGGED = scripts.ROOT / "tests/data/tagged/roberta"
PARITY = scripts.ROOT / "tests/data/parity"
TAGS = ("O", "B-CAT", "I-CAT")
IDS = {
  "input_ids": np.array([[2, 6, 7, 3, 8, 3], [2, 9, 3, 0, 0, 0]], np.int32),
  "input_mask": np.array([[1] * 6, [1, 1, 1, 0, 0, 0]], np.int32),
  "segment_ids": np.array([[0, 0, 0, 0, 1, 1], [0] * 6], np.int32),
}


def make_tasks(config):
  """Returns {folder: `FineTuning`}, with what only runs of ours have."""
  labels = ("0", "1")
  return {
    "scores": fine_tuning.FineTuning(
      text_rows.TextPreprocessor(16),
      sequence_regression.SequenceRegressionTask(config),
      text_scores.NumberEvaluator(),
    ),
    "bilstm": fine_tuning.FineTuning(
      text_rows.TextPreprocessor(16, labels, text_pairs=True),
      sequence_classification.SequenceClassificationTask(config, labels, 8),
      text_scores.ClassEvaluator(labels),
    ),
    "choices": fine_tuning.FineTuning(
      multiple_choice.ChoicePreprocessor(16, 3),
      multiple_choice.MultipleChoiceTask(config, 3),
      multiple_choice.ChoiceEvaluator(),
    ),
    "answers": fine_tuning.FineTuning(
      question_answering_rows.QuestionPreprocessor(
        20, doc_stride=5, max_query_length=7, version_2_with_negative=True
      ),
      question_answering.QuestionAnsweringTask(config, bilstm_width=8),
      question_answering_scores.AnswerEvaluator(version_2_with_negative=True),
    ),
    "entities": fine_tuning.FineTuning(
      token_classification_rows.TagPreprocessor(
        16, TAGS, token_unit="character"
      ),
      token_classification.TokenClassificationTask(
        config, TAGS, "features", "last", lstm_width=8
      ),
      token_classification_scores.TagEvaluator(TAGS),
    ),
  }


def write_run(folder, parts):
  """Writes what a run leaves of its model; returns the model."""
  scripts.write_model_files(folder)
  model = parts.task.build_model()
  prefix = folder / "model.ckpt-7"
  tf_format.write(prefix, {w.path: w.value for w in model.weights})
  (folder / "checkpoint").write_text('model_checkpoint_path: "model.ckpt-7"\n')
  (folder / "task.json").write_text(json.dumps(parts.describe()))
  return model


def write_safetensors(folder, name):
  """Copies a checkpoint of `transformers`; adds a vocabulary of its size."""
  shutil.copytree(PARITY / name, folder)
  tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
  tokens += [f"word{index}" for index in range(120 - len(tokens))]
  (folder / "vocab.txt").write_text("\n".join(tokens) + "\n")


def write_pairs(path, number):
  rng = random.Random(0)
  lines = ["a\tb\tlabel"]
  for _ in range(number):
    words = [" ".join(rng.choices(scripts.WORDS, k=3)) for _ in "ab"]
    lines.append("\t".join([*words, rng.choice(["no", "yes"])]))
  path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def train_classifiers_of_pairs(folder):
  """Runs a search for the better of two runs, of which one was moved."""
  scripts.write_model_files(folder)
  write_pairs(folder / "pairs.tsv", 40)
  status, _, err = scripts.run(
    "run_classifier",
    do_train=True,
    train_file=folder / "pairs.tsv",
    dev_fraction=0.2,
    text_column="a",
    text_pair_column="b",
    task_name="custom",
    bert_config_file=folder / "bert_config.json",
    output_dir=folder / "made",
    max_seq_length=16,
    num_train_epochs=1,
    num_restarts=2,
  )
  assert status == 0, err
  (folder / "made").rename(folder / "search")


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
  """All models, and what exporting them said."""
  folder = tmp_path_factory.mktemp("models")
  train_classifiers_of_pairs(folder / "pairs")
  scripts.write_model_files(folder / "files")
  config = configs.EncoderConfig.from_json_file(
    folder / "files/bert_config.json"
  )
  trained = {
    name: write_run(folder / name, parts)
    for name, parts in make_tasks(config).items()
  }
  (folder / "bilstm/results.json").write_text(
    json.dumps({"configuration": {"task_name": "mrpc"}})
  )
  (folder / "answers/results.json").write_text(
    json.dumps(
      {
        "configuration": {"max_answer_length": 9, "doc_stride": 1},
        "eval": {"dev": {"scores": {"best_f1_thresh": -1.5}}},
      }
    )
  )
  for name in ("bert_pretraining", "electra_discriminator", "bert_classifier"):
    write_safetensors(folder / name, name)
  old = json.loads((folder / "bilstm/task.json").read_text())
  del old["text_pairs"]
  shutil.copytree(folder / "bilstm", folder / "old")
  (folder / "old/task.json").write_text(json.dumps(old))
  (folder / "empty").mkdir()
  shutil.copytree(folder / "scores", folder / "no_vocabulary")
  (folder / "no_vocabulary/vocab.txt").unlink()
  shutil.copytree(folder / "scores", folder / "diverged")
  arrays = {w.path: np.array(w) for w in trained["scores"].weights}
  arrays["bert/pooler/dense/bias"][0] = np.nan
  tf_format.write(folder / "diverged/model.ckpt-7", arrays)

  runs = {
    "search": dict(checkpoint_dir=folder / "pairs/search"),
    **{name: dict(checkpoint_dir=folder / name) for name in trained},
    "fill_mask": dict(checkpoint_dir=folder / "bert_pretraining", top_k=2),
    "encoder": dict(
      checkpoint_dir=folder / "entities",
      head="encoder",
      pooling="cls",
      normalize=True,
      max_seq_length=8,
      weights_dtype="float16",
      model_name="vectors",
    ),
    "bfloat16": dict(
      checkpoint_dir=folder / "scores", compute_dtype="bfloat16"
    ),
    "sentences": dict(checkpoint_dir=SENTENCES),
    "sentences otherwise": dict(
      checkpoint_dir=SENTENCES,
      pooling="max",
      normalize=False,
      max_seq_length=8,
      prompt="the ",
    ),
    "tags": dict(checkpoint_dir=TAGGED),
    "discriminator": dict(checkpoint_dir=folder / "electra_discriminator"),
    "foreign": dict(
      checkpoint_dir=folder / "bert_classifier", text_pairs=False
    ),
    **{
      name: values | {"export_dir": folder / "served" / name}
      for name, values in {
        "nowhere": dict(checkpoint_dir=folder / "nowhere"),
        "empty": dict(checkpoint_dir=folder / "empty"),
        "no vocabulary": dict(checkpoint_dir=folder / "no_vocabulary"),
        "old": dict(checkpoint_dir=folder / "old"),
        "diverged": dict(checkpoint_dir=folder / "diverged"),
        "no such head": dict(
          checkpoint_dir=folder / "answers", head="fill_mask"
        ),
        "head of another classifier": dict(
          checkpoint_dir=folder / "entities",
          head="classification",
          text_pairs=False,
        ),
        "flag of another head": dict(
          checkpoint_dir=folder / "answers", pooling="cls"
        ),
        "too long": dict(checkpoint_dir=folder / "scores", max_seq_length=65),
        "too few labels": dict(
          checkpoint_dir=folder / "bert_classifier",
          labels="no,yes",
          text_pairs=True,
        ),
      }.items()
    },
    "a file": dict(
      checkpoint_dir=folder / "scores",
      export_dir=folder / "files/vocab.txt",
    ),
  }
  outcomes = scripts.run_each(
    "export_saved_model",
    [
      {"export_dir": folder / "served" / name} | values
      for name, values in runs.items()
    ],
  )
  return types.SimpleNamespace(
    folder=folder,
    trained=trained,
    outcomes=dict(zip(runs, outcomes, strict=True)),
  )


def load(exported, name):
  """Returns the signatures and the description of an export."""
  status, err = exported.outcomes[name]
  assert status == 0, err
  version_dir = exported.folder / "served" / name / "1"
  description = (version_dir / "assets.extra/model.json").read_text()
  return tf.saved_model.load(str(version_dir)).signatures, json.loads(
    description
  )


def check_ids(signatures, model, ids=None):
  """Checks that the weights are those of `model`."""
  ids = {k: tf.constant(v) for k, v in (ids or IDS).items()}
  answer = signatures["token_ids"](**ids)
  expected = model(ids, training=False)
  assert set(answer) == set(expected)
  for name, value in expected.items():
    np.testing.assert_allclose(answer[name], value, atol=1e-5)


def test_of_a_search_the_best_run_is_exported_with_its_pairs(exported):
  signatures, description = load(exported, "search")
  assert description["head"] == "classification"
  assert description["labels"] == ["no", "yes"]
  assert description["text_pairs"] is True
  assert description["max_seq_length"] == 16
  search = exported.folder / "pairs/search"
  best = json.loads((search / "results.json").read_text())["best"]["name"]
  model = models.from_checkpoint(str(search / "runs" / best), heads=True)
  check_ids(signatures, model)
  answer = signatures["serving_default"](
    text=tf.constant(["the cat"]), text_pair=tf.constant(["a dog"])
  )
  assert answer["label"].numpy()[0] in (b"no", b"yes")


def test_scores_are_exported(exported):
  signatures, description = load(exported, "scores")
  assert description["head"] == "regression"
  assert "regress" in signatures
  check_ids(signatures, exported.trained["scores"])


def test_a_model_may_compute_in_bfloat16(exported):
  signatures, description = load(exported, "bfloat16")
  assert description["compute_dtype"] == "bfloat16"
  assert description["weights_dtype"] == "bfloat16"
  text = tf.constant(["the cat sat", "a dog"])
  whole, _ = load(exported, "scores")
  scores = [
    each["serving_default"](text=text)["scores"].numpy()
    for each in (signatures, whole)
  ]
  assert 0 < np.abs(scores[0] - scores[1]).max() < 0.05


def test_a_bilstm_on_an_encoder_is_exported(exported):
  signatures, description = load(exported, "bilstm")
  assert description["text_pairs"] is True
  assert description["labels"] == ["0", "1"]
  # Of the data set that it was trained on.
  names = {"0": "not_equivalent", "1": "equivalent"}
  assert description["label_names"] == names
  check_ids(signatures, exported.trained["bilstm"])


def test_choices_are_exported(exported):
  signatures, description = load(exported, "choices")
  assert description["head"] == "multiple_choice"
  ids = {name: value[:, np.newaxis] for name, value in IDS.items()}
  check_ids(signatures, exported.trained["choices"], ids)


def test_answers_are_found_as_the_run_did(exported):
  signatures, description = load(exported, "answers")
  assert description["head"] == "question_answering"
  assert description["max_seq_length"] == 20
  assert description["doc_stride"] == 5
  assert description["max_query_length"] == 7
  assert description["max_answer_length"] == 9
  assert description["null_score_diff_threshold"] == -1.5
  check_ids(signatures, exported.trained["answers"])


def test_entities_are_found_by_a_bilstm_on_features(exported):
  signatures, description = load(exported, "entities")
  assert description["head"] == "token_classification"
  assert description["labels"] == list(TAGS)
  # Of a task.json that does not say it.
  assert description["trained_on"] == "characters"
  assert description["token_unit"] == "character"
  check_ids(signatures, exported.trained["entities"])


def test_tags_of_a_checkpoint_of_transformers_are_those_of_raw_text(exported):
  signatures, description = load(exported, "tags")
  assert description["trained_on"] == "text"
  lines = (TAGGED / "expected.jsonl").read_text("utf-8").splitlines()
  row = json.loads(lines[-1])
  found = signatures["serving_default"](text=tf.constant([row["text"]]))
  names = ("labels", "starts", "ends")
  assert [
    [label.decode(), start, end]
    for label, start, end in zip(
      *(found[name][0].numpy().tolist() for name in names), strict=True
    )
  ] == row["entities"]


def test_the_encoder_of_any_model_is_exported(exported):
  signatures, description = load(exported, "encoder")
  assert description == {
    "head": "encoder",
    "labels": None,
    "max_seq_length": 8,
    "pooling": "cls",
    "normalize": True,
    "main_script": "Latin",
    "model_name": "vectors",
    "compute_dtype": "float32",
    "weights_dtype": "float16",
  }
  ids = {k: tf.constant(v) for k, v in IDS.items()}
  hidden = exported.trained["entities"].encoder(ids)["sequence_output"]
  answer = signatures["token_ids"](**ids)
  np.testing.assert_allclose(answer["sequence_output"], hidden, atol=0.02)
  np.testing.assert_allclose(
    np.linalg.norm(answer["embeddings"], axis=1), 1, atol=1e-5
  )


def test_a_folder_of_sentence_transformers_is_exported_as_it_says(exported):
  signatures, description = load(exported, "sentences")
  assert description["max_seq_length"] == 12
  assert description["pooling"] == "cls, mean, max, weightedmean, lasttoken"
  assert description["normalize"] is True
  assert description["prompt"] == "Query: "
  expected = np.load(SENTENCES / "expected.npz")
  text = tf.constant(expected["texts"].tolist())
  vectors = signatures["serving_default"](text=text)["embeddings"]
  np.testing.assert_allclose(vectors, expected["query"], atol=1e-5)


def test_flags_go_before_what_such_a_folder_says(exported):
  signatures, description = load(exported, "sentences otherwise")
  assert description["max_seq_length"] == 8
  assert description["pooling"] == "max"
  assert description["normalize"] is False
  assert description["prompt"] == "the "
  answer = signatures["serving_default"](text=tf.constant(["cat sat"]))
  # [CLS] the cat sat [SEP]
  ids = tf.constant([[2, 5, 6, 8, 3]])
  hidden = signatures["token_ids"](
    input_ids=ids, input_mask=tf.ones_like(ids), segment_ids=tf.zeros_like(ids)
  )["sequence_output"]
  # Without [CLS] and the prompt.
  np.testing.assert_allclose(
    answer["embeddings"], tf.reduce_max(hidden[:, 2:], axis=1), atol=1e-5
  )


def test_masks_are_filled_by_a_checkpoint_of_transformers(exported):
  signatures, description = load(exported, "fill_mask")
  assert description["head"] == "fill_mask"
  answer = signatures["serving_default"](text=tf.constant(["word7 [MASK]"]))
  assert answer["tokens"].shape == (1, 1, 2)
  folder = exported.folder / "bert_pretraining"
  model = models.from_checkpoint(str(folder), heads=True)
  ids = {k: tf.constant(v) for k, v in IDS.items()}
  np.testing.assert_allclose(
    signatures["token_ids"](**ids)["token_logits"],
    model(ids, training=False)["token_logits"],
    atol=1e-5,
  )


def test_a_discriminator_is_exported(exported):
  signatures, description = load(exported, "discriminator")
  assert description["head"] == "replaced_tokens"
  folder = exported.folder / "electra_discriminator"
  check_ids(signatures, models.from_checkpoint(str(folder), heads=True))


def test_classes_without_names_are_numbered(exported):
  _, description = load(exported, "foreign")
  assert description["labels"] == ["LABEL_0", "LABEL_1", "LABEL_2"]
  assert description["text_pairs"] is False


def test_what_was_exported_is_written_down(exported):
  results = scripts.results(exported.folder / "served/search")
  assert results["version_dir"].endswith("served/search/1")
  assert results["model"]["labels"] == ["no", "yes"]
  assert "classify" in results["signatures"]


@pytest.mark.parametrize(
  ("name", "words"),
  [
    ("nowhere", ["no checkpoint", "nowhere"]),
    ("empty", ["empty", "holds no checkpoint"]),
    ("no vocabulary", ["no_vocabulary", "has no vocabulary"]),
    ("diverged", ["bert/pooler/dense/bias", "NaN or infinite"]),
    ("old", ["pairs of texts", "--text_pairs or --notext_pairs"]),
    ("no such head", ["--head=fill_mask", "answers"]),
    ("head of another classifier", ["pooler", "a --head other than class"]),
    ("flag of another head", ["--pooling", "--head=question_answering"]),
    ("too long", ["max_seq_length (65)", "64"]),
    ("too few labels", ["labels (no, yes)", "3"]),
    ("a file", ["export_dir", "vocab.txt", "is a file"]),
  ],
)
def test_bad_input_is_told_in_one_line(exported, name, words):
  status, err = exported.outcomes[name]
  assert status == 1
  line = scripts.error_line(err)
  assert all(word in line for word in words), line
  assert not list(
    pathlib.Path(exported.folder / "served").glob(f"{name}/[0-9]")
  )
