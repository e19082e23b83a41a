"""run_squad.py as a user runs it, on questions that a tiny model can answer."""

import functools
import json
import random

import pytest

from tests.official_tasks import scripts

pytestmark = pytest.mark.integration

ANIMALS = ("cat", "dog", "bird")
FILLERS = ("the", "a", "old", "new", "small", "big", "red", "blue", "house")


def _question(rng, number):
  """A text that names an animal, or none, and the question for it."""
  words = rng.choices(FILLERS, k=8)
  answers = []
  if number % 4:
    animal = rng.choice(ANIMALS)
    place = rng.randrange(len(words))
    words.insert(place, animal)
    start = len(" ".join([*words[:place], ""]))
    answers = [{"text": animal, "answer_start": start}]
  question = {
    "id": f"q{number}",
    "question": "the and .",
    "answers": answers,
    "is_impossible": not answers,
  }
  return {"context": " ".join(words), "qas": [question]}


def _content(num_articles, seed=0, first=0):
  """Articles of 20 paragraphs of a question each."""
  rng = random.Random(seed)
  return {
    "data": [
      {
        "title": f"article {article}",
        "paragraphs": [
          _question(rng, 20 * article + i + first) for i in range(20)
        ],
      }
      for article in range(num_articles)
    ]
  }


def _write(path, content):
  path.write_text(json.dumps(content), encoding="utf-8")
  return str(path)


def _without_answers(content):
  content = json.loads(json.dumps(content))
  for article in content["data"]:
    for paragraph in article["paragraphs"]:
      for question in paragraph["qas"]:
        del question["answers"], question["is_impossible"]
  return content


def _with_other_texts(content):
  for article in content["data"]:
    for paragraph in article["paragraphs"]:
      paragraph["context"] = " ".join(FILLERS)
  return content


def _flags(folder, output, **values):
  return {
    "bert_config_file": f"{folder}/bert_config.json",
    "vocab_file": f"{folder}/vocab.txt",
    "output_dir": f"{folder}/{output}",
    "version_2_with_negative": True,
    "max_seq_length": 24,
    "max_query_length": 6,
    "doc_stride": 4,
    "train_batch_size": 16,
    "learning_rate": 1e-2,
    "recipe": "paper",
    **values,
  }


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
  folder = tmp_path_factory.mktemp("squad")
  scripts.write_model_files(
    folder, initializer_range=0.3, hidden_dropout_prob=0.0
  )
  _write(folder / "train.json", _content(20))
  return folder


@pytest.fixture(scope="module")
def outcomes(folder):
  """{run: (status, stdout, stderr)}."""
  # Two files one after the other; the last articles are held out.
  extra = _write(folder / "extra.json", _content(5, seed=1, first=1000))
  unknown = _without_answers(_content(2, seed=2))
  return scripts.run_all(
    "run_squad",
    {
      "trained": _flags(
        folder,
        "run",
        train_file=f"{extra},{folder}/train.json",
        dev_articles=4,
        do_train=True,
        do_predict=True,
        num_train_epochs=6,
        verbose_logging=True,
      ),
      "later": _flags(
        folder,
        "run",
        predict_file=_write(folder / "test.json", unknown),
        do_predict=True,
      ),
    },
  )


def test_questions_are_learned_scored_and_answered(folder, outcomes):
  status, out, err = outcomes["trained"]
  assert status == 0, err
  results = scripts.results(folder / "run")
  assert results["data"]["train"]["examples"] == 100
  assert results["data"]["train_2"]["examples"] == 320
  assert results["data"]["dev"]["examples"] == 80
  dev = results["eval"]["dev"]
  assert dev["baseline"] == 0.25
  assert dev["scores"]["f1"] > 0.6
  assert dev["scores"]["f1"] == dev["scores"]["best_f1"]
  assert "best_f1_thresh" in out
  page = scripts.report(folder / "run")
  assert "<dd>(no answer)</dd>" in page and "without" in page
  written = {path.name for path in (folder / "run/dev").iterdir()}
  assert written == {
    "predictions.json",
    "nbest_predictions.json",
    "null_odds.json",
    "scores.png",
  }


def test_answers_without_scores_take_the_threshold_tuned_before(
  folder, outcomes
):
  status, out, err = outcomes["later"]
  assert status == 0, err
  scores = scripts.results(folder / "run")["eval"]["dev"]["scores"]
  predictions, null_odds = (
    json.loads((folder / "run/test" / name).read_text())
    for name in ("predictions.json", "null_odds.json")
  )
  assert len(predictions) == 40
  for key, text in predictions.items():
    assert (text == "") == (null_odds[key] > scores["best_f1_thresh"])
  assert "test f1" not in out


def test_bad_flags_and_files_are_named_in_one_line(folder):
  unlabelled = _write(folder / "none.json", _without_answers(_content(1)))
  [article] = _content(1)["data"]
  article["paragraphs"][1]["qas"][0]["id"] = "q0"
  articles = [{**article, "title": title} for title in "AB"]
  repeated_articles = _write(folder / "articles.json", {"data": articles})
  train = f"{folder}/train.json"
  elsewhere = _write(folder / "elsewhere.json", _with_other_texts(_content(1)))
  cases = [
    (
      {"do_train": True, "train_file": f"{train},{elsewhere}"},
      "elsewhere.json: none of the 15 answers is in its text",
    ),
    ({"do_train": True}, "--do_train needs --train_file"),
    (
      {"do_train": True, "train_file": train, "do_eval": True},
      "need --predict_file or, for the last articles",
    ),
    (
      {"do_eval": True, "dev_articles": 2, "predict_file": train},
      "--dev_articles cannot be combined with --predict_file",
    ),
    (
      {"do_eval": True, "dev_articles": 2},
      "--dev_articles needs --train_file",
    ),
    (
      {"do_eval": True, "dev_articles": 20, "train_file": train},
      "dev_articles (20) must be at least 1 and below",
    ),
    (
      {"do_eval": True, "predict_file": unlabelled},
      "none.json: data[0].paragraphs[0].qas[0] has no 'answers': --",
    ),
    (
      {"do_train": True, "train_file": f"{train},{unlabelled}"},
      "none.json: data[0].paragraphs[0].qas[0] has no 'answers': --",
    ),
    (
      {"do_eval": True, "train_file": repeated_articles, "dev_articles": 1},
      "data[1].paragraphs[1].qas[0] has the id 'q0' of ",
    ),
    (
      {"do_predict": True, "predict_file": f"{folder}/absent.json"},
      "predict_file (",
    ),
    (
      {
        "do_train": True,
        "train_file": train,
        "version_2_with_negative": False,
      },
      "question 'q0' has no answer; give --version_2_with_negative",
    ),
  ]
  scripts.check_mistakes(
    "run_squad", cases, functools.partial(_flags, folder, "bad")
  )
