"""Tags, scores, files and pictures of sentences."""

import collections
import os
import pathlib

import numpy as np
import pytest

from keras_bert_impl import tokenizers
from keras_bert_impl.kinds.tags import tag_files, tag_rows, tag_scores
from keras_bert_impl.metrics import tagging
from keras_bert_impl.tasks.basics import example_types
from tests.kinds.tags.tagged import (
  LABELS,
  gold_outputs,
  make_rows,
  preprocessor,
  sentence,
)
from tests.tasks.basics import parts

DATA = os.environ.get("KERAS_BERT_DATA")
EVALUATOR = tag_scores.TagEvaluator(LABELS)


@pytest.mark.parametrize("kind", ("wordpiece", "byte_bpe"))
def test_every_token_of_a_long_sentence_is_predicted_once(
  tokenizers_of_kinds, kind
):
  tokenizer = tokenizers_of_kinds[kind]
  task = preprocessor(max_seq_length=10)
  long = " ".join(["hello", "cat", "the", "sat"] * 20)
  examples = [
    sentence("hello the", "B-PER O", "doc"),
    sentence(long, " ".join(["B-PER", "I-PER", "O", "B-LOC"] * 20), "doc"),
    sentence("cat", "B-LOC", "doc"),
  ]
  rows, counts = make_rows(task, examples, tokenizer)
  assert counts == {"sentences cut into windows": 1}
  found = collections.Counter()
  for index, example in zip(rows["token_index"], rows["example_index"]):
    found.update((int(example), int(token)) for token in index if token >= 0)
  assert set(found.values()) == {1}
  assert len(found) == sum(len(example.tokens) for example in examples)
  scores = parts.score(
    EVALUATOR, examples, rows, gold_outputs(task, examples, rows)
  )
  assert scores["f1"] == scores["accuracy"] == 1.0


def test_a_token_longer_than_a_row_is_predicted_too(tokenizer):
  task = preprocessor(max_seq_length=5)
  examples = [sentence("a " + "b" * 30 + " c", "O B-PER I-PER")]
  rows, _ = make_rows(task, examples, tokenizer)
  outputs = gold_outputs(task, examples, rows)
  assert parts.score(EVALUATOR, examples, rows, outputs)["f1"] == 1.0


def test_tokens_without_pieces_go_with_the_entity_around_them(tokenizer):
  task = preprocessor(token_unit="character")
  example = example_types.TaggedSentence(
    tuple(" ab c d"), ("O", "B-PER", "I-PER", "I-PER", "I-PER", "O", "B-PER")
  )
  rows, counts = make_rows(task, [example], tokenizer)
  assert counts == {}  # Blanks need none.
  outputs = gold_outputs(task, [example], rows)
  assert EVALUATOR.answers([example], rows, outputs) == [[*example.tags]]


def test_a_sentence_without_any_piece_is_outside(tokenizer):
  examples = [sentence("a", "B-PER")]
  examples.append(example_types.TaggedSentence(("\u200b",), ("O",)))
  task = preprocessor()
  rows, counts = make_rows(task, examples, tokenizer)
  outputs = gold_outputs(task, examples, rows)
  assert EVALUATOR.answers(examples, rows, outputs) == [["B-PER"], ["O"]]
  assert counts["tokens without pieces"] == 1


def test_labels_absent_from_training_are_counted_and_missed(tokenizer):
  task = preprocessor()
  examples = [sentence("a b c", "B-ORG I-ORG B-PER")]
  rows, counts = make_rows(task, examples, tokenizer)
  assert counts == {
    "tokens labelled B-ORG, which training has not": 1,
    "tokens labelled I-ORG, which training has not": 1,
  }
  np.testing.assert_array_equal(rows["label_ids"], [[-1, -1, -1, 3, -1]])
  outputs = {"logits": [np.eye(5, dtype="float32")[[0, 0, 0, 3, 0]]]}
  scores = parts.score(EVALUATOR, examples, rows, outputs)
  assert scores["precision"] == 1.0 and scores["recall"] == 0.5
  assert scores["recall_ORG"] == 0.0


@pytest.mark.parametrize("scheme", tagging.SCHEMES)
def test_files_are_in_the_scheme_of_the_data(tokenizer, tmp_path, scheme):
  task = preprocessor()
  evaluator = tag_scores.TagEvaluator(LABELS, scheme)
  tags = tagging.convert("B-PER I-PER B-PER O B-LOC".split(), scheme)
  examples = [sentence("a b c d e", " ".join(tags)), sentence("f", "O")]
  rows, _ = make_rows(task, examples, tokenizer)
  outputs = gold_outputs(task, examples, rows)
  paths = parts.write(evaluator, examples, rows, outputs, tmp_path)
  lines = pathlib.Path(paths["predictions"]).read_text().split("\n")
  assert lines == [
    *(f"{word} {tag} {tag}" for word, tag in zip("abcde", tags)),
    *("", "f O O", "", ""),
  ]
  report = pathlib.Path(paths["report"]).read_text()
  assert "processed 6 tokens with 3 phrases; found: 3" in report


def test_predictions_of_untagged_sentences_have_two_columns(
  tokenizer, tmp_path
):
  task = preprocessor()
  examples = [sentence("a b")]
  rows, _ = make_rows(task, examples, tokenizer)
  assert not examples[0].is_labelled
  outputs = {"logits": [np.eye(5, dtype="float32")[[0, 1, 2, 0]]]}
  paths = parts.write(EVALUATOR, examples, rows, outputs, tmp_path, {})
  assert list(paths) == ["predictions"]
  again = tag_files.read(paths["predictions"])
  assert again[0].tags == ("B-LOC", "I-LOC")


def outputs_of(task, examples, rows, found, **more):
  """Returns the logits of a model that is sure of other tags."""
  answers = [sentence(" ".join(e.tokens), t) for e, t in zip(examples, found)]
  outputs = gold_outputs(task, answers, rows)
  return {"logits": [5 * logits for logits in outputs["logits"]], **more}


def test_sentences_are_judged_by_their_entities_and_drawn(tokenizer, tmp_path):
  examples = [
    sentence("서울 a b", "B-LOC I-LOC O"),
    sentence("a", "B-PER"),
    sentence("b c", "O O"),
  ]
  task = preprocessor()
  rows, _ = make_rows(task, examples, tokenizer)
  found = ["B-LOC I-LOC O", "O", "B-PER O"]
  outputs = outputs_of(task, examples, rows, found)
  found = parts.judge(EVALUATOR, examples, rows, outputs, tmp_path)
  scores, intervals, judged = found
  assert judged.gold == ["서울 a: LOC", "a: PER", "none"]
  assert judged.found == ["서울 a: LOC", "none", "b: PER"]
  assert judged.is_right.tolist() == [True, False, False]
  sure = np.exp(5) / (np.exp(5) + len(LABELS) - 1)
  assert judged.certainty == pytest.approx([sure] * 3)
  assert set(intervals) == {"accuracy", "precision", "recall", "f1"}
  for name, interval in intervals.items():
    assert interval.low <= scores[name] <= interval.high
  assert EVALUATOR.label_counts(examples) == {"LOC": 1, "PER": 1}

  # Without transitions a field is a softmax over each tag.
  none = np.zeros((3, len(LABELS) + 2, len(LABELS)), "float32")
  outputs |= {"transitions": none}
  _, _, again = parts.judge(EVALUATOR, examples, rows, outputs, tmp_path)
  assert again.certainty == pytest.approx(judged.certainty, abs=1e-6)


def test_intervals_of_entities_are_those_of_resampled_sentences():
  rng = np.random.default_rng(0)
  examples = [sentence("a b", "B-PER B-LOC") for _ in range(60)]
  answers = [
    ["B-PER" if rng.random() < 0.7 else "O", "B-LOC"] for _ in examples
  ]
  found = EVALUATOR.intervals(examples, answers, {})["f1"]
  values = []
  for _ in range(400):
    drawn = rng.integers(0, 60, 60)
    gold, guessed = ([x[i] for i in drawn] for x in (examples, answers))
    values.append(EVALUATOR.score(gold, guessed)["f1"])
  expected = np.percentile(values, [2.5, 97.5])
  np.testing.assert_allclose(found[:2], expected, atol=0.01)


@pytest.mark.slow  # On the faults and lengths of real sentences.
@pytest.mark.skipif(not DATA, reason="KERAS_BERT_DATA names no data")
@pytest.mark.parametrize("size", [64, 16])
def test_no_entity_of_klue_is_beyond_a_perfect_model(size):
  data = pathlib.Path(DATA)
  tokenizer = tokenizers.load(
    str(data / "vocab/google_multi_cased/vocab.txt"), do_lower_case=False
  )
  path = str(data / "tasks/klue/klue-ner-v1.1_dev.tsv")
  examples = tag_files.read(path, "character")[:1000]
  labels = tag_rows.labels_of(examples)
  task = preprocessor(size, labels, token_unit="character")
  rows, counts = make_rows(task, examples, tokenizer)
  assert not counts["tokens without pieces"]
  outputs = gold_outputs(task, examples, rows)
  evaluator = tag_scores.TagEvaluator(labels)
  scores = parts.score(evaluator, examples, rows, outputs)
  assert scores["f1"] == 1.0


def test_tags_of_no_scheme_stay_as_they_are(tokenizer, tmp_path):
  # B and I would be an entity, and O outside of any.
  examples = [
    sentence("a b c", "B I O"),
    example_types.TaggedSentence(("\u200b", "d"), ("O", "NN")),
  ]
  labels = tag_rows.labels_of(examples, "none")
  assert labels == ("B", "I", "NN", "O")
  task = preprocessor(labels=labels, tag_scheme="none")
  rows, _ = make_rows(task, examples, tokenizer)
  evaluator = tag_scores.make_evaluator(labels, "none")
  outputs = gold_outputs(task, examples, rows)
  answers = evaluator.answers(examples, rows, outputs)
  assert answers == [["B", "I", "O"], ["_", "NN"]]
  assert evaluator.score(examples, answers) == {"accuracy": 0.8}
  assert evaluator.baseline(examples) == 0.4
  scores, intervals, judged = parts.judge(evaluator, examples, rows, outputs)
  assert scores == {"accuracy": 0.8} and set(intervals) == {"accuracy"}
  assert judged.gold == ["B I O", "O NN"]
  assert judged.found == ["B I O", "_ NN"]
  assert judged.is_right.tolist() == [True, False]
  assert evaluator.label_counts(examples) == {"O": 2, "B": 1, "I": 1, "NN": 1}
  paths = evaluator.write(examples, answers, {}, str(tmp_path))
  text = (tmp_path / "predictions.txt").read_text()
  assert text == "a B B\nb I I\nc O O\n\n\u200b O _\nd NN NN\n\n"
  assert list(paths) == ["predictions"]
