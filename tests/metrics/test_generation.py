"""ROUGE, BLEU and chrF have the digits of rouge-score and sacrebleu."""

import random

import numpy as np
import pytest

from keras_bert_impl.metrics import generation

ENGLISH = (
  "the cat Dog's sat-on mat. 1999 U.S. don't x,y END! aa bb cc dd".split()
)
KOREAN = (
  "나는 학교에 갔다. 고양이가 매트 위에 앉았다, 서울 2024년 요약 은 가".split()
)


def texts(words, seed, number=1000):
  """Returns random texts, some of several lines, some empty."""
  rng = random.Random(seed)
  return [
    "".join(
      rng.choice(words) + rng.choice(("\n", " ", " ", "  "))
      for _ in range(rng.randint(0, 25))
    )
    for _ in range(number)
  ]


def test_rouge_is_that_of_known_pairs():
  # As rouge-score 0.1.2 has them.
  found = generation.score_each(
    ["the cat sat on the mat", "a b\nc d e", "x"],
    ["the cat lay on a mat", "c d\na e b", ""],
    generation.ROUGE,
  )
  expected = [[2 / 3, 0.2, 2 / 3, 2 / 3], [1, 0.25, 0.6, 1], [0] * 4]
  np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("words", [ENGLISH, KOREAN], ids=["English", "Korean"])
def test_rouge_has_the_digits_of_rouge_score(words):
  scorers = pytest.importorskip("rouge_score.rouge_scorer")

  class Words:
    def tokenize(self, text):
      return [*generation.words(text)]

  # Its own words are those of English alone.
  tokenizer = Words() if words is KOREAN else None
  scorer = scorers.RougeScorer([*generation.ROUGE], tokenizer=tokenizer)
  golds, found = texts(words, 1), texts(words, 2)
  ours = generation.score_each(golds, found, generation.ROUGE)
  for row, gold, text in zip(ours, golds, found, strict=True):
    theirs = scorer.score(gold, text)
    assert [*row] == [theirs[name].fmeasure for name in generation.ROUGE]


@pytest.mark.parametrize("words", [ENGLISH, KOREAN], ids=["English", "Korean"])
def test_bleu_and_chrf_are_those_of_sacrebleu(words):
  sacrebleu = pytest.importorskip("sacrebleu")
  golds, found = texts(words, 3), texts(words, 4)
  theirs = sacrebleu.corpus_bleu(found, [golds])
  assert 100 * generation.bleu(golds, found) == pytest.approx(theirs.score)
  theirs = sacrebleu.corpus_chrf(found, [golds])
  assert 100 * generation.chrf(golds, found) == pytest.approx(theirs.score)
  scores = generation.score(golds, golds, generation.METRICS)
  assert [*scores] == [*generation.METRICS]
  assert scores["bleu"] == pytest.approx(1) and scores["exact_match"] == 1


def test_words_are_those_of_all_scripts():
  for text, words in (
    ("나는 학교에 갔다.", ("나는", "학교에", "갔다")),
    ("हिन्दी में, भाषा", ("हिन्दी", "में", "भाषा")),
    ("東京のcafé", ("東", "京", "のcafé")),
    ("Don't (U.S.) x_1", ("don", "t", "u", "s", "x", "1")),
    ("...", ()),
  ):
    assert generation.words(text) == words


def test_texts_that_are_missing_are_refused():
  for golds, found in ((["a"], []), ([], [])):
    with pytest.raises(ValueError, match="give one for each"):
      generation.rouge(golds, found)


def test_metrics_without_their_package_are_refused(monkeypatch):
  with pytest.raises(ValueError, match=r"metrics \('f1'\) must be one of"):
    generation.check(["f1"])
  monkeypatch.setattr(generation.importlib.util, "find_spec", lambda name: None)
  with pytest.raises(ValueError, match=r"'keras-bert-impl\[generation\]'"):
    generation.bleu(["a"], ["a"])
