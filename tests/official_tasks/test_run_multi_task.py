"""Several tasks on one encoder, from the command line to a SavedModel."""

import functools
import random
import re

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_text  # noqa: F401  Ops of the SavedModel.

from keras_bert_impl.kinds import opening
from keras_bert_impl.kinds.tags import tag_files
from keras_bert_impl.model_folders import model_files
from keras_bert_impl.serving import export
from tests.official_tasks import scripts
from tests.official_tasks import test_run_classifier as classifier
from tests.official_tasks import test_run_ner as ner

pytestmark = pytest.mark.integration


def write_sts(data):
  """Writes files of STS-B; two texts are like as they share words."""
  rng = random.Random(0)
  lines = []
  for _ in range(60):
    one, two = rng.choices(scripts.WORDS, k=3), rng.choices(scripts.WORDS, k=3)
    shared = rng.randrange(4)
    two[:shared] = one[:shared]
    lines.append((" ".join(one), " ".join(two), f"{shared}.0"))
  header = ("sentence1", "sentence2", "score")
  classifier.write_tsv(data / "train.tsv", header, *lines)
  classifier.write_tsv(data / "dev.tsv", header, *lines[:20])


@pytest.fixture(name="folder", scope="module")
def fixture_folder(tmp_path_factory):
  folder = tmp_path_factory.mktemp("multi_task")
  scripts.write_model_files(folder)
  classifier.write_sst(folder / "SST-2")
  write_sts(folder / "STS-B")
  (folder / "NER").mkdir()
  rng = random.Random(0)
  for split, number, longest in (("train", 120, 8), ("dev", 20, 40)):
    sentences = ner.make_sentences(rng, number, longest)
    ner.write_columns(folder / f"NER/{split}.txt", sentences)
  return folder


def flags(folder, output, **values):
  tasks = ",".join(f"{n}={folder}/{n}" for n in ("SST-2", "STS-B", "NER"))
  return scripts.fine_tuning(
    folder,
    output,
    **{"tasks": tasks, "learning_rate": 1e-3, "recipe": "paper"} | values,
  )


@pytest.fixture(name="outcomes", scope="module")
def fixture_outcomes(folder):
  return scripts.run_all(
    "run_multi_task",
    {
      "both": flags(
        folder,
        "both",
        do_train=True,
        do_eval=True,
        do_predict=False,
        num_train_epochs=8,
        task_shares="3,1,1",
      ),
      # Its labels, and how it was trained, are known.
      "again": flags(folder, "both", do_eval=True),
    },
  )


def test_each_task_has_its_scores_and_predictions(folder, outcomes):
  for name in ("both", "again"):
    status, out, err = outcomes[name]
    assert status == 0, err
  results = scripts.results(folder / "both")
  scores = results["eval"]["dev"]["scores"]
  assert scores["SST-2_accuracy"] > 0.9
  assert scores["NER_f1"] > 0.9
  of_each = ("SST-2_accuracy", "STS-B_spearman", "NER_f1")
  mean = sum(scores[name] for name in of_each) / 3
  assert scores["mean"] == pytest.approx(mean)
  assert re.search(f"dev mean +{mean:.4f}", outcomes["again"][1])
  classes = classifier.read_tsv(folder / "both/SST-2/dev/predictions.tsv")
  assert classes[0] == ["id", "label", "0", "1"] and len(classes) == 41
  numbers = classifier.read_tsv(folder / "both/STS-B/dev/predictions.tsv")
  assert numbers[0] == ["id", "label"] and len(numbers) == 21
  predicted = tag_files.read(str(folder / "both/NER/dev/predictions.txt"))
  gold = tag_files.read(str(folder / "NER/dev.txt"))
  assert [s.tokens for s in predicted] == [s.tokens for s in gold]
  assert results["data"]["dev"]["sentences cut into windows"] > 5


def test_one_saved_model_answers_by_all_heads_and_by_each(
  folder, outcomes, tmp_path
):
  assert outcomes["both"][0] == 0
  servable, _ = opening.make_servable(
    model_files.ModelFilesConfig(), str(folder / "both")
  )
  export.export(servable, tmp_path / "served")
  loaded = tf.saved_model.load(str(tmp_path / "served/1"))
  texts = [
    line[:2] for line in classifier.read_tsv(folder / "STS-B/dev.tsv")[1:]
  ]
  # Longer than a row: classes read what is in the first window of tags.
  texts += [("the cat sees a house " * 9, "x" * 40), ("", "")]
  pairs = dict(zip(("text", "text_pair"), map(tf.constant, zip(*texts))))
  alone = {"text": pairs["text"]}
  of_all = loaded.signatures["serving_default"](**pairs)
  for name, inputs in (("SST-2", alone), ("STS-B", pairs), ("NER", alone)):
    own = loaded.signatures[name](**inputs)
    assert set(loaded.signatures[name].structured_input_signature[1]) == set(
      inputs
    )
    for output in own.keys() - {"is_cut"}:
      found, expected = of_all[f"{name}/{output}"], own[output]
      if expected.dtype == tf.string:
        np.testing.assert_array_equal(found, expected)
      else:
        np.testing.assert_allclose(found, expected, atol=1e-6)
  scores = of_all["STS-B/scores"].numpy()
  written = classifier.read_tsv(folder / "both/STS-B/dev/predictions.tsv")
  np.testing.assert_allclose(
    scores[:-2], [float(score) for _, score in written[1:]], atol=1e-4
  )
  found = of_all["NER/texts"].numpy()[-2]
  assert [x.decode() for x in found if x] == ["cat", "house"] * 9
  np.testing.assert_array_equal(
    of_all["is_cut"], [False] * (len(texts) - 2) + [True, False]
  )


def test_wrong_tasks_are_told_in_a_line(folder):
  cases = [
    ({"tasks": "SQuAD=x.json"}, "File x.json, of the task SQuAD, is missing"),
    (
      {"tasks": f"SQuAD={folder}/vocab.txt"},
      "train it alone with run_squad.py",
    ),
    ({"tasks": f"..={folder}/vocab.txt"}, "tasks: '..' must be a name"),
    ({"tasks": f"={folder}/vocab.txt"}, "tasks: '' must be a name"),
    ({"tasks": f"a/b={folder}/vocab.txt"}, "'a/b') must be without /"),
    ({"task_weights": "1,2"}, "task_weights ((1.0, 2.0)) must be 3 numbers"),
    ({"task_shares": "1,-1,1"}, "((1.0, -1.0, 1.0)) must be 3 numbers above 0"),
  ]
  usual = functools.partial(flags, folder, "wrong", do_train=True)
  scripts.check_mistakes("run_multi_task", cases, usual)
