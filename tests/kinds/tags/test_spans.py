"""Entities inside of others: files, rows, scores, and what is served."""

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl.kinds.tags import (
  span_classification,
  span_rows,
  span_servable,
  tag_files,
  tag_rows,
  tag_scores,
)
from keras_bert_impl.layers.heads import spans
from keras_bert_impl.metrics import tagging
from keras_bert_impl.tasks.basics import example_types
from tests.serving import toy
from tests.tasks.basics import parts

GENIA = """IL-2\tB-protein\tB-DNA\tO
gene\tO\tI-DNA\tO
in\tO\tO\tO
the\tO\tB-cell\tO
T\tI-cell\tI-cell\tO
cells\tI-cell\tI-cell\tO

한국\tB-LOC\tB-ORG\tO
은행\tO\tI-ORG\tO
"""
LABELS = ("O", "A", "B")
WIDTH = 3
EVALUATOR = tag_scores.make_evaluator(LABELS, tagging.SPANS)


def read(folder, text, **options):
  path = folder / "file.tsv"
  path.write_text(text, encoding="utf-8")
  return tag_files.read(path, tag_scheme=tagging.SPANS, **options)


def sentence(text, *entities):
  entities = tuple(tagging.Entity(*entity) for entity in entities)
  return example_types.TaggedSentence(tuple(text.split()), entities)


def preprocessor(max_seq_length=16, **options):
  return span_rows.SpanPreprocessor(
    max_seq_length,
    LABELS,
    tag_scheme=tagging.SPANS,
    max_span_width=WIDTH,
    **options,
  )


def by_column(task, rows):
  return parts.by_column(task, rows)


def gold_outputs(rows, labels):
  """Returns the logits of a model that makes no mistake where it is asked."""
  found = [np.maximum(row["label_ids"], 0) for row in rows]
  return {"logits": [9 * np.eye(len(labels), dtype="f")[x] for x in found]}


def test_each_column_is_a_level_of_entities(tmp_path):
  first, second = read(tmp_path, GENIA)
  assert first.tags == (
    (0, 1, "protein"),
    (0, 2, "DNA"),
    (3, 6, "cell"),
    (4, 6, "cell"),  # It has no B, as conlleval reads it.
  )
  assert second.tokens == ("한국", "은행")
  assert second.tags == ((0, 1, "LOC"), (0, 2, "ORG"))
  labels = tag_rows.labels_of([first, second], tagging.SPANS)
  assert labels == ("O", "DNA", "LOC", "ORG", "cell", "protein")


def test_the_first_column_of_levels_may_be_named(tmp_path):
  text = "1 a NN B-X O\n2 b NN O B-Y\n"
  for column in (3, -2):
    (found,) = read(tmp_path, text, tag_column=column, token_column=1)
    assert found.tokens == ("a", "b")
    assert found.tags == ((0, 1, "X"), (1, 2, "Y"))


@pytest.mark.parametrize(
  ("text", "options", "message"),
  [
    ("a\tB-X\tO\nb\tO\n", {}, "file.tsv:2: 2 columns"),
    ("a\tNN\tB-X\n", {}, "file.tsv:1: the tag 'NN' must be O"),
    ("a\tO\tB-X\n", {"tag_column": 3}, "file.tsv:1: tag_column (3) must be"),
    ("a\tO\tX\n", {}, "file.tsv:1: the tag 'X' must be O"),
  ],
)
def test_a_wrong_row_is_named(tmp_path, text, options, message):
  with pytest.raises(ValueError) as caught:
    read(tmp_path, text, **options)
  assert message in str(caught.value)


@pytest.mark.parametrize(
  "entities",
  [None, [None], [[0, 1]], [[0, 3, "A"]], [[-1, 1, "A"]], [[1, 1, "A"]]]
  + [[[0, 1, None]], [["0", 1, "A"]], "A"],
)
def test_a_wrong_entity_is_named(entities):
  with pytest.raises(ValueError, match=r"data\[4\].entities: .* 2, the number"):
    span_rows.read(entities, 2, "data[4]")
  assert span_rows.read([(0, 2, "A")], 2, "") == ((0, 2, "A"),)


def test_each_span_has_its_label(tokenizer):
  example = sentence("hello the cat", (0, 1, "A"), (0, 3, "B"), (1, 3, "A"))
  task = preprocessor()
  [row], counts = parts.make_rows(task, [example], tokenizer)
  assert not counts
  begins = np.flatnonzero(row["word_starts"])
  np.testing.assert_array_equal(
    row["label_ids"][begins], [[1, 0, 2], [0, 1, -1], [0, -1, -1]]
  )
  others = np.delete(row["label_ids"], begins, axis=0)
  assert np.all(others == -1)


def test_entities_that_no_span_can_be_are_counted(tokenizer):
  examples = [
    sentence("hello the cat sat", (0, 4, "A"), (1, 2, "C"), (0, 2, "A")),
    # Its second type.
    sentence("hello the", (0, 2, "A"), (0, 2, "B")),
  ]
  rows, counts = parts.make_rows(preprocessor(), examples, tokenizer)
  assert sum(np.sum(row["label_ids"] > 0) for row in rows) == 2
  assert counts == {
    "entities of more than 3 words, not to be found": 1,
    "entities of the type C, which training has not": 1,
    "entities over the end of a window, or with two types, not to be found": 1,
  }


def test_an_entity_goes_over_tokens_without_pieces(tokenizer):
  task = preprocessor(token_unit="character")
  example = example_types.TaggedSentence(
    ("c", "a", " ", "t", " "), (tagging.Entity(0, 5, "A"),)
  )
  rows, counts = parts.make_rows(task, [example], tokenizer)
  assert counts == {}
  answers = EVALUATOR.answers(
    [example], by_column(task, rows), gold_outputs(rows, LABELS)
  )
  assert answers == [((0, 4, "A"),)]  # The last blank has no piece.


@pytest.mark.parametrize("kind", ("wordpiece", "byte_bpe", "sentencepiece"))
def test_a_long_sentence_is_scored_as_a_whole(tokenizers_of_kinds, kind):
  task = preprocessor(max_seq_length=24)
  entities = [(k, k + 2, "A") for k in range(0, 78, 4)]
  entities += [(k, k + 1, "B") for k in range(0, 78, 4)]
  words = " ".join(["hello", "cat", "the", "sat"] * 20)
  examples = [sentence("the cat", (1, 2, "B")), sentence(words, *entities)]
  rows, counts = parts.make_rows(task, examples, tokenizers_of_kinds[kind])
  assert counts == {"sentences cut into windows": 1}
  columns = by_column(task, rows)
  outputs = gold_outputs(rows, LABELS)
  assert parts.score(EVALUATOR, examples, columns, outputs) == {
    name: 1.0
    for rate in ("precision", "recall", "f1")
    for name in (rate, f"{rate}_A", f"{rate}_B")
  }


def test_of_two_spans_that_cross_the_likelier_stays():
  found = np.array(
    # Inside of each other, crossing, crossing what goes, elsewhere.
    [[0, 3, 0.5], [1, 2, 0.9], [3, 5, 0.6], [5, 6, 0.55], [8, 9, 0.1]]
  ).T
  first, last = found[:2].astype("int32")
  kept = spans.without_crossing(first, last, found[2].astype("float32"))
  assert np.array(kept).tolist() == [False, True, True, False, True]
  assert (
    np.array(spans.without_crossing(first[:0], last[:0], found[2, :0]))[
      :
    ].tolist()
    == []
  )


def test_precision_and_recall_are_those_of_exact_spans(tmp_path):
  examples = [
    sentence("a b c", (0, 2, "A"), (0, 1, "A"), (2, 3, "B")),
    sentence("a"),
  ]
  answers = [
    [tagging.Entity(0, 2, "A"), tagging.Entity(0, 1, "B")],
    [tagging.Entity(0, 1, "B")],
  ]
  scores = EVALUATOR.score(examples, answers)
  assert scores["precision"] == scores["recall"] == pytest.approx(1 / 3)
  assert scores["recall_A"] == 0.5 and scores["f1_B"] == 0
  intervals = EVALUATOR.intervals(examples, answers, scores)
  assert {*intervals} == {"precision", "recall", "f1"}
  assert EVALUATOR.text(examples[0], answers[0]) == "ab: A, a: B"
  paths = EVALUATOR.write(examples, answers, scores, str(tmp_path))
  lines = open(paths["predictions"], encoding="utf-8").read().splitlines()
  assert lines[1] == (
    '{"tokens": ["a"], "predicted": [[0, 1, "B"]], "entities": []}'
  )


def make(tokenizer, **options):
  """Returns a servable of a tiny model that finds entities at random."""
  config = toy.config(tokenizer, max_position_embeddings=64)
  model = span_classification.SpanClassifier(config, len(LABELS), WIDTH, 8)
  rng = np.random.default_rng(0)
  for weight in model.weights:
    if weight.path.startswith("span_head"):
      weight.assign(rng.normal(0, 2, weight.shape))
  return span_servable.SpanClassificationServable(
    model, tokenizer, 16, LABELS, **options
  )


@pytest.mark.parametrize(
  ("kind", "trained_on"),
  [
    ("wordpiece", "words"),
    ("byte_bpe", "words"),
    ("sentencepiece", "words"),
    ("wordpiece", "characters"),
  ],
)
def test_texts_have_the_entities_of_the_evaluation(
  tokenizers_of_kinds, kind, trained_on
):
  servable = make(tokenizers_of_kinds[kind], trained_on=trained_on)
  texts = ["the cat sat on a mat", "", "고양이 앉았다", "hello cats the " * 9]
  answer = servable.answer(tf.constant(texts))
  answer = {name: x.numpy() for name, x in answer.items()}
  task = preprocessor(doc_stride=servable.doc_stride)
  places = [
    [k for k, c in enumerate(text) if c != " " and text[k - 1 : k] in ("", " ")]
    for text in texts
  ]
  split = [tuple(text.split()) for text in texts]
  if trained_on == "characters":
    task = preprocessor(doc_stride=servable.doc_stride, token_unit="character")
    split, places = [*map(tuple, texts)], [range(len(x)) for x in texts]
  examples = [example_types.TaggedSentence(x) for x in split if x]
  rows, _ = parts.make_rows(task, examples, servable.tokenizer)
  model = servable._trained_model()
  logits = []
  for row in rows:
    ids = row["input_ids"][np.newaxis]
    batch = {name: row[name][np.newaxis] for name in model.input if name in row}
    logits += [*model(batch | {"input_mask": np.ones_like(ids)})["logits"]]
  found = EVALUATOR.answers(
    examples, by_column(task, rows), {"logits": np.array(logits, object)}
  )
  found.insert(1, ())
  assert sum(map(len, found)) > 10
  for number, (text, entities) in enumerate(zip(texts, found, strict=True)):
    size = answer["num_entities"][number]
    served = [
      (int(start), int(end), label.decode())
      for start, end, label in zip(
        *(answer[x][number, :size] for x in ("starts", "ends", "labels"))
      )
    ]
    assert served == sorted(served, key=lambda x: (x[0], -x[1]))
    begin = places[number]
    lengths = [len(token) for token in split[number]]
    assert sorted(served) == sorted(
      (begin[a], begin[b - 1] + lengths[b - 1], label)
      for a, b, label in entities
    )
    for start, end, part in zip(
      *(answer[x][number, :size] for x in ("starts", "ends", "texts"))
    ):
      assert text[start:end] == part.decode()


def test_padding_does_not_change_the_logits():
  head = span_classification.SpanHead(3, WIDTH, 8, 0.5)
  rng = np.random.default_rng(0)
  hidden = rng.normal(size=(2, 9, 4)).astype("f")
  begins = np.array([[0, 1, 0, 1, 1, 0, 1, 0, 0]] * 2, "int32")
  longer = [[0, 0], [0, 140]]
  ours = np.array(head(hidden, begins))
  theirs = head(np.pad(hidden, [*longer, [0, 0]]), np.pad(begins, longer))
  shares = tf.nn.softmax(ours), tf.nn.softmax(theirs)[:, :9]
  np.testing.assert_allclose(*shares, atol=1e-6)
  # What goes beyond the last word is none.
  assert np.all(ours[:, 6, 1:, 1:] == -1e9) and np.all(ours[:, 4, 2, 1:] < -9)
  assert np.all(np.abs(ours[:, 1]) < 100)
