"""Rerankers that are trained, scored, saved and mined for from Python."""

import json
import pathlib

import numpy as np
import pytest
import tensorflow as tf

import keras_bert_impl as kb
from keras_bert_impl import files
from keras_bert_impl.kinds.embeddings import embedding_data, mining
from keras_bert_impl.kinds.embeddings.tasks import mining_options
from keras_bert_impl.kinds.reranking import ranking_examples, reranking_options
from keras_bert_impl.sentences import folders
from keras_bert_impl.tasks.basics import example_types

CROSS_ENCODER = pathlib.Path(__file__).parents[2] / "data/cross_encoder"
SENTENCES = pathlib.Path(__file__).parents[2] / "data/sentences"
PAIRS = [(f"is {w}?", f"{w} cat") for w in "abcdefghij"]
SETTINGS = {"epochs": 1, "batch_size": 2, "learning_rate": 1e-3}


class Letters:
  """An encoder whose vectors are angles that are given."""

  def __init__(self, angles):
    self._angles = angles

  def similarity_rows(self, queries, documents):
    a, b = (np.array([*map(self._angles.get, x)]) for x in (queries, documents))
    yield from np.cos(a[:, None] - b)


@pytest.fixture(name="found")
def fixture_found():
  angles = {"q": 0, "near": 0.1, "right": 0.3, "far": 0.5, "other": 1.5}
  examples = [
    embedding_data.example("0", ("q", "right"), "file:1"),
    *embedding_data.documents(["near", "far", "other"], "corpus"),
  ]
  return Letters(angles), examples


@pytest.mark.parametrize("length", [-1, 0, 10**30, None])
def test_a_tokenizer_without_a_limit_limits_nothing(length, tmp_path):
  content = json.dumps({"model_max_length": length})
  (tmp_path / "tokenizer_config.json").write_text(content)
  assert folders.longest_text(files.Folder(tmp_path)) is None


def mined(found, number, goes_deeper=False, **options):
  options = mining_options.MiningOptions(num_negatives=number, **options)
  [one] = mining.negatives(*found, options, goes_deeper)
  return one.texts


def test_negatives_are_near_but_not_nearer_than_the_positive(found):
  two = mined(found, 2, mining_margin=0.01)
  assert two == ("q", "right", "far", "other")
  assert mined(found, 1, mining_margin=-1.0) == ("q", "right", "near")
  fourth = {"first_mined_rank": 4, "last_mined_rank": 4}
  assert mined(found, 1, **fourth) == ("q", "right", "other")
  # The cosine of far is 0.92 of that of right, that of other 0.07.
  few = mined(found, 1, mining_margin=0.0, mining_share=0.9)
  assert few == ("q", "right", "other")
  second = {"first_mined_rank": 2, "last_mined_rank": 2}
  with pytest.raises(ValueError, match="no query has 1 negatives among the"):
    mined(found, 1, **second)
  assert mined(found, 1, True, **second) == ("q", "right", "far")
  for goes_deeper in (False, True):
    with pytest.raises(ValueError, match="no query has 3 negatives among the"):
      mined(found, 3, goes_deeper)


def test_candidates_are_the_nearest_relevant_or_not(found):
  [one] = mining.candidates(*found, 3)
  assert one.documents == ("near", "right", "far")
  assert (one.grades, one.missing_grades) == ((0, 1, 0), ())
  [one] = mining.candidates(*found, 1)
  assert (one.grades, one.missing_grades) == ((0,), (1,))


def test_pairs_with_scores_are_put_together_by_query():
  pairs = [("q", "a", 0.0), ("p", "a", 1.0), ("q", "b", 2.0), ("p", "c", 0.0)]
  examples = [
    embedding_data.example(str(k), (q, d), f"f:{k}", score)
    for k, (q, d, score) in enumerate(pairs)
  ]
  options = reranking_options.RerankingOptions()
  found = ranking_examples.ranked({"dev": examples}, None, options)["dev"]
  assert [(e.query, e.documents, e.grades) for e in found] == [
    ("q", ("a", "b"), (0.0, 2.0)),
    ("p", ("a", "c"), (1.0, 0.0)),
  ]
  with pytest.raises(ValueError, match="f:0 has one document, like all other"):
    ranking_examples.ranked({"dev": examples[:2]}, None, options)


@pytest.mark.parametrize(
  ("inputs", "message"),
  [
    (["a", "b", "c"], r"inputs\[0\] \('a'\) must be a pair of texts"),
    ([{"text": "a"}], r"inputs\[0\] .* must be a pair of texts"),
    ([("a", 3)], r"inputs\[0\]\[1\] \(3\) must be a str"),
  ],
)
def test_what_is_no_pair_is_refused(checkpoint, inputs, message):
  reranker = kb.Reranker.from_checkpoint(checkpoint)
  with pytest.raises(ValueError, match=message):
    reranker.predict(inputs)
  with pytest.raises(ValueError, match=r"documents \('abc'\) must be a list"):
    reranker.rank("a", "abc")


def test_options_of_mining_need_an_encoder():
  options = reranking_options.RerankingOptions(num_negatives=3)
  with pytest.raises(ValueError, match=r"num_negatives \(3\) needs --mine"):
    ranking_examples.ranked({}, None, options)


@pytest.mark.integration
def test_a_reranker_is_trained_with_mined_negatives_and_saved(
  tmp_path, checkpoint
):
  encoder = kb.SentenceEncoder.from_checkpoint(SENTENCES)
  reranker = kb.Reranker.from_checkpoint(checkpoint)
  history = reranker.fit(
    PAIRS,
    validation_data=0.3,
    mine=SENTENCES,
    num_negatives=2,
    mining_margin=-2.0,
    num_candidates=3,
    **SETTINGS,
  )
  assert {"loss", "val_ndcg@10"} <= history.history.keys()
  assert reranker.results["eval"]["dev"]["baseline"] >= 0
  documents = ["a cat", "the sat", "b"]
  scores = reranker.predict([("is a?", text) for text in documents])
  ranked = reranker.rank("is a?", documents, top_k=2)
  assert ranked[0] == {
    "index": int(np.argmax(scores)),
    "score": pytest.approx(max(scores)),
  }
  assert len(ranked) == 2
  scored = reranker.evaluate(PAIRS, mine=encoder, num_candidates=3)
  assert {"ndcg@10", "mrr@10"} <= scores_of(scored)
  # Texts of the corpus are found as well: one is nearer than any.
  searched = reranker.evaluate(
    PAIRS, mine=encoder, corpus=[q for q, _ in PAIRS], num_candidates=1
  )
  assert searched["recall@1"] < scored["recall@1"] + 1e-6
  with pytest.raises(ValueError, match="corpus needs mine, the encoder"):
    reranker.evaluate(PAIRS, corpus=["a cat"])
  reranker.save(tmp_path / "saved")
  # What CrossEncoder cuts pairs to is what the training did.
  options = (tmp_path / "saved" / "tokenizer_config.json").read_text()
  length = reranker.results["configuration"]["max_seq_length"]
  assert json.loads(options)["model_max_length"] == length
  again = kb.Reranker.from_checkpoint(tmp_path / "saved")
  assert again.predict(("is a?", "b")) == pytest.approx(scores[2], abs=1e-5)


def test_what_pairs_are_cut_to_is_saved(tmp_path):
  pairs = json.loads((CROSS_ENCODER / "expected.json").read_text())["pairs"]
  shorter = kb.Reranker.from_checkpoint(CROSS_ENCODER, max_seq_length=9)
  expected = shorter.predict(pairs, convert_to_tensor=True).numpy()
  whole = kb.Reranker.from_checkpoint(CROSS_ENCODER).predict(pairs)
  assert not np.allclose(whole, expected, atol=0.1)
  shorter.save(tmp_path / "saved")
  again = kb.Reranker.from_checkpoint(tmp_path / "saved")
  np.testing.assert_allclose(again.predict(pairs), expected, atol=1e-6)
  # CrossEncoder reads the tokenizer's, transformers alone too.
  options = json.loads((tmp_path / "saved/tokenizer_config.json").read_text())
  assert options["model_max_length"] == 9


def test_a_bar_counts_the_pairs(capsys):
  reranker = kb.Reranker.from_checkpoint(CROSS_ENCODER)
  reranker.rank("the cat", ["a", "b", "cat"], show_progress_bar=True)
  lines = capsys.readouterr().err.splitlines()
  assert any(line.startswith("Scored: 100 %, 3/3") for line in lines)


def test_a_cross_encoder_of_sentence_transformers_scores_as_there(tmp_path):
  expected = json.loads((CROSS_ENCODER / "expected.json").read_text())
  pairs, logits = map(expected.get, ("pairs", "logits"))
  reranker = kb.Reranker.from_checkpoint(CROSS_ENCODER)
  # The long ones are cut to its model_max_length, 25 of 64 positions.
  np.testing.assert_allclose(reranker.predict(pairs), logits, atol=1e-5)
  [best] = reranker.rank(*pairs[0][:1], [pairs[0][1]])
  assert best["score"] == pytest.approx(logits[0], abs=1e-5)
  reranker.save(tmp_path / "saved")
  again = kb.Reranker.from_checkpoint(tmp_path / "saved")
  np.testing.assert_allclose(again.predict(pairs), logits, atol=1e-5)
  for name in ("modules.json", "config_sentence_transformers.json"):
    kept = (tmp_path / "saved" / name).read_text()
    assert kept == (CROSS_ENCODER / name).read_text()
  exported = tf.saved_model.load(reranker.export(tmp_path / "exported"))
  texts, others = zip(*pairs, strict=True)
  answer = exported.signatures["serving_default"]
  found = answer(text=tf.constant(texts), text_pair=tf.constant(others))
  np.testing.assert_allclose(found["scores"], logits, atol=1e-5)


@pytest.mark.integration
@pytest.mark.parametrize("kind", ["StaticEncoder", "SentenceEncoder"])
def test_any_encoder_finds_documents(kind):
  """A folder is opened as what it is, with the scores of its encoder."""
  folder = SENTENCES if kind == "SentenceEncoder" else SENTENCES / "../static"
  encoder = getattr(kb, kind).from_checkpoint(folder)
  examples = [
    example_types.EmbeddingExample(str(n), anchor, (text,))
    for n, (anchor, text) in enumerate(PAIRS)
  ]
  options = reranking_options.RerankingOptions(num_candidates=3)
  [found, expected] = [
    ranking_examples.ranked({"dev": examples}, given, options)["dev"]
    for given in (str(folder), encoder)
  ]
  assert isinstance(ranking_examples.open_encoder(folder), type(encoder))
  assert found == expected
  assert {len(each.documents) for each in found} == {3}


def scores_of(scores):
  return {name for name, value in scores.items() if 0 <= value <= 1}


@pytest.mark.integration
def test_negatives_may_be_given(checkpoint):
  reranker = kb.Reranker.from_checkpoint(checkpoint)
  triplets = [(*pair, "the sat") for pair in PAIRS]
  history = reranker.fit(triplets, ranking_loss="pairwise", **SETTINGS)
  assert np.isfinite(history.history["loss"]).all()


def test_pairs_without_negatives_are_refused(checkpoint):
  with pytest.raises(ValueError, match=r"data\[0\] has 1 documents.*--mine"):
    kb.Reranker.from_checkpoint(checkpoint).fit(PAIRS, **SETTINGS)


def test_a_document_must_be_relevant(checkpoint):
  scored = [(*pair, -1.0) for pair in PAIRS]
  with pytest.raises(ValueError, match=r"data\[0\] has no relevant document"):
    kb.Reranker.from_checkpoint(checkpoint).fit(scored, **SETTINGS)


def test_what_is_no_encoder_finds_no_documents():
  with pytest.raises(ValueError, match=r"mine \(int\) must be a kb.Sentence"):
    ranking_examples.open_encoder(3)
