"""Rows, scores and files of entity tags; the model is played by the tests."""

import collections
import os
import pathlib

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import choices, configs, tokenizers
from keras_bert_impl.metrics import tagging
from keras_bert_impl.tasks import token_classification
from tests.tokenizers import vocabularies
from tfrecords.labelled import length_batches, tag_files
from tfrecords.labelled import rows as rows_lib

DATA = os.environ.get("KERAS_BERT_DATA")
CONFIG = configs.EncoderConfig(
  vocab_size=400,
  hidden_size=8,
  num_hidden_layers=1,
  num_attention_heads=2,
  intermediate_size=16,
  max_position_embeddings=64,
)
LABELS = ("O", "B-LOC", "I-LOC", "B-PER", "I-PER")
KINDS = {
  "wordpiece": vocabularies.write,
  "byte_bpe": vocabularies.write_byte_bpe,
  "sentencepiece": vocabularies.write_sentencepiece,
}


def sentence(text, tags=None, document=None):
  return token_classification.TaggedSentence(
    tuple(text.split()), tags and tuple(tags.split()), document, "file:1"
  )


def make_task(max_seq_length=16, labels=LABELS, **options):
  return token_classification.TokenClassificationTask(
    CONFIG, max_seq_length, labels, **options
  )


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
  return tokenizers.load(vocabularies.write(tmp_path_factory.mktemp("vocab")))


def make_rows(task, examples, tokenizer):
  """Returns rows column by column, as `score` gets them, and the counts."""
  counts = collections.Counter()
  rows = list(task.make_rows(examples, tokenizer, counts))
  for row in rows:
    assert set(row) == set(task.columns)
    lengths = {len(x) for name, x in row.items() if name != "example_index"}
    assert len(lengths) == 1 and max(lengths) <= task.max_seq_length
  return {name: [row[name] for row in rows] for name in task.columns}, counts


def texts_of(rows, tokenizer):
  names = tokenizer.vocabulary.tokens
  return [" ".join(names[i] for i in ids) for ids in rows["input_ids"]]


def gold_outputs(task, examples, rows):
  """Returns the logits of a model that makes no mistake where it is asked."""
  logits = []
  for index, example in zip(rows["token_index"], rows["example_index"]):
    tags = tagging.convert(examples[example].tags, "IOB2")
    wrong = np.full((len(index), len(task.labels)), 0.0, "float32")
    for place, token in enumerate(index):
      # Elsewhere it says what nobody may listen to.
      tag = tags[token] if token >= 0 else task.labels[-1]
      wrong[place, task.labels.index(tag)] = 1.0
    logits.append(wrong)
  return {"logits": logits}


def test_labels_are_of_every_type_in_iob2():
  examples = [sentence("a b", "I-PER O"), sentence("c", "S-LOC")]
  assert token_classification.labels_of(examples) == LABELS
  assert token_classification.labels_of([sentence("a", "B")]) == ("O", "B", "I")
  with pytest.raises(ValueError, match="no entities"):
    token_classification.labels_of([sentence("a b", "O O")])


def test_the_first_piece_of_a_token_has_its_label(tokenizer):
  task = make_task()
  # "play ##ing" and "hello" are tokens; the schemes make no difference.
  for tags in ("B-PER I-PER O", "I-PER I-PER O", "B-PER E-PER O"):
    rows, counts = make_rows(
      task, [sentence("playing hello world", tags)], tokenizer
    )
    assert texts_of(rows, tokenizer) == ["[CLS] play ##ing hello world [SEP]"]
    np.testing.assert_array_equal(rows["label_ids"], [[-1, 3, -1, 4, 0, -1]])
    np.testing.assert_array_equal(rows["token_index"], [[-1, 0, -1, 1, 2, -1]])
    assert not counts


def test_a_sentence_has_its_document_around_it_evenly(tokenizer):
  task = make_task(max_seq_length=8)
  words = "a b c d e f g h i j".split()
  examples = [sentence(f"{word} {word}", "O O", "doc") for word in words]
  examples.append(sentence("z", "O", "other"))
  rows, _ = make_rows(task, examples, tokenizer)
  texts = texts_of(rows, tokenizer)
  assert texts[4] == "[CLS] d d e e f f [SEP]"
  # What is missing on one side comes from the other.
  assert texts[0] == "[CLS] a a b b c c [SEP]"
  assert texts[1] == "[CLS] a a b b c c [SEP]"
  assert texts[9] == "[CLS] h h i i j j [SEP]"
  assert texts[10] == "[CLS] z [SEP]"
  np.testing.assert_array_equal(
    rows["token_index"][4], [-1, -1, -1, 0, 1, -1, -1, -1]
  )
  np.testing.assert_array_equal(
    rows["label_ids"][4], [-1, -1, -1, 0, 0, -1, -1, -1]
  )


def test_a_sentence_alone_has_nothing_around_it(tokenizer):
  examples = [sentence(word, "O", "doc") for word in "abc"]
  rows, _ = make_rows(make_task(context="sentence"), examples, tokenizer)
  assert texts_of(rows, tokenizer) == [f"[CLS] {word} [SEP]" for word in "abc"]
  without = [sentence(word, "O") for word in "abc"]
  again, _ = make_rows(make_task(), without, tokenizer)
  assert texts_of(again, tokenizer) == texts_of(rows, tokenizer)


@pytest.mark.parametrize("kind", KINDS)
def test_every_token_of_a_long_sentence_is_predicted_once(tmp_path, kind):
  tokenizer = tokenizers.load(KINDS[kind](tmp_path))
  task = make_task(max_seq_length=10)
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
  scores = task.score(examples, rows, gold_outputs(task, examples, rows))
  assert scores["f1"] == scores["accuracy"] == 1.0


def test_a_token_counts_in_the_window_where_it_has_most_context(tokenizer):
  task = make_task(max_seq_length=8, doc_stride=3)
  text = "a b c d e f g h i"
  rows, _ = make_rows(task, [sentence(text, "O " * 9)], tokenizer)
  assert texts_of(rows, tokenizer) == [
    "[CLS] a b c d e f [SEP]",
    "[CLS] d e f g h i [SEP]",
  ]
  np.testing.assert_array_equal(
    rows["token_index"],
    [[-1, 0, 1, 2, 3, 4, -1, -1], [-1, -1, -1, 5, 6, 7, 8, -1]],
  )


def test_a_token_longer_than_a_row_is_predicted_too(tokenizer):
  task = make_task(max_seq_length=5)
  examples = [sentence("a " + "b" * 30 + " c", "O B-PER I-PER")]
  rows, _ = make_rows(task, examples, tokenizer)
  outputs = gold_outputs(task, examples, rows)
  assert task.score(examples, rows, outputs)["f1"] == 1.0


def test_tokens_without_pieces_go_with_the_entity_around_them(tokenizer):
  task = make_task(token_unit="character")
  example = token_classification.TaggedSentence(
    tuple(" ab c d"), ("O", "B-PER", "I-PER", "I-PER", "I-PER", "O", "B-PER")
  )
  rows, counts = make_rows(task, [example], tokenizer)
  assert counts == {"tokens without pieces": 3}
  outputs = gold_outputs(task, [example], rows)
  assert task.predicted_tags([example], rows, outputs) == [[*example.tags]]


def test_a_sentence_without_any_piece_is_outside(tokenizer):
  examples = [sentence("a", "B-PER")]
  examples.append(token_classification.TaggedSentence(("\u200b",), ("O",)))
  task = make_task()
  rows, counts = make_rows(task, examples, tokenizer)
  outputs = gold_outputs(task, examples, rows)
  assert task.predicted_tags(examples, rows, outputs) == [["B-PER"], ["O"]]
  assert counts["tokens without pieces"] == 1


def test_labels_absent_from_training_are_counted_and_missed(tokenizer):
  task = make_task()
  examples = [sentence("a b c", "B-ORG I-ORG B-PER")]
  rows, counts = make_rows(task, examples, tokenizer)
  assert counts == {
    "tokens labelled B-ORG, which training has not": 1,
    "tokens labelled I-ORG, which training has not": 1,
  }
  np.testing.assert_array_equal(rows["label_ids"], [[-1, -1, -1, 3, -1]])
  outputs = {"logits": [np.eye(5, dtype="float32")[[0, 0, 0, 3, 0]]]}
  scores = task.score(examples, rows, outputs)
  assert scores["precision"] == 1.0 and scores["recall"] == 0.5
  assert scores["recall_ORG"] == 0.0


@pytest.mark.parametrize("scheme", tagging.SCHEMES)
def test_files_are_in_the_scheme_of_the_data(tokenizer, tmp_path, scheme):
  task = make_task(scheme=scheme)
  tags = tagging.convert("B-PER I-PER B-PER O B-LOC".split(), scheme)
  examples = [sentence("a b c d e", " ".join(tags)), sentence("f", "O")]
  rows, _ = make_rows(task, examples, tokenizer)
  outputs = gold_outputs(task, examples, rows)
  paths = task.write_predictions(examples, rows, outputs, str(tmp_path))
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
  task = make_task()
  examples = [sentence("a b")]
  rows, _ = make_rows(task, examples, tokenizer)
  assert not task.has_labels(examples)
  outputs = {"logits": [np.eye(5, dtype="float32")[[0, 1, 2, 0]]]}
  paths = task.write_predictions(examples, rows, outputs, str(tmp_path))
  assert list(paths) == ["predictions"]
  again = tag_files.read(paths["predictions"])
  assert again[0].tags == ("B-LOC", "I-LOC")


def test_the_scores_are_drawn(tokenizer, tmp_path):
  task = make_task()
  examples = [sentence("a b", "B-PER B-LOC")]
  rows, _ = make_rows(task, examples, tokenizer)
  outputs = gold_outputs(task, examples, rows)
  path = tmp_path / "dev/scores.png"
  assert task.plot(examples, rows, outputs, str(path))
  assert path.read_bytes().startswith(b"\x89PNG")


def test_a_row_needs_room_for_a_piece():
  with pytest.raises(ValueError, match=r"max_seq_length \(2\)"):
    make_task(max_seq_length=2)


@pytest.mark.parametrize("approach", choices.APPROACHES)
def test_training_lowers_the_loss_of_first_pieces_alone(
  tokenizer, tmp_path, approach
):
  task = make_task(approach=approach, lstm_width=8)
  examples = [sentence("playing a hello b", "B-PER O B-LOC O")] * 3
  path = str(tmp_path / "rows")
  counts = collections.Counter()
  rows_lib.write(
    path, task.make_rows(examples, tokenizer, counts), task.columns, {}, counts
  )
  rows = rows_lib.read(path, task.columns)
  # The fourth row of the batch is padding.
  batches, _ = length_batches.evaluation_batches(rows, 4, (16,))
  [batch] = batches
  assert task.denominators(batch)["tag"] == 12.0
  model = task.build_model()
  variables = [v.value for v in model.trainable_variables]
  optimizer = tf.keras.optimizers.Adam(0.02)
  losses = []
  for _ in range(8):
    with tf.GradientTape() as tape:
      loss = task.losses(batch, model(batch))["tag"]
    losses.append(float(loss))
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
  assert losses[-1] < 0.8 * losses[0]
  assert ("bert/embeddings/word_embeddings" in _trained(model)) == (
    approach != "features"
  )


def _trained(model):
  return [variable.path for variable in model.trainable_variables]


@pytest.mark.skipif(not DATA, reason="KERAS_BERT_DATA names no data")
@pytest.mark.parametrize("size", [64, 16])
def test_no_entity_of_klue_is_beyond_a_perfect_model(size):
  data = pathlib.Path(DATA)
  tokenizer = tokenizers.load(
    str(data / "vocab/google_multi_cased/vocab.txt"), do_lower_case=False
  )
  path = str(data / "tasks/klue/klue-ner-v1.1_dev.tsv")
  examples = tag_files.read(path, "character")[:1000]
  labels = token_classification.labels_of(examples)
  task = make_task(size, labels, token_unit="character")
  rows, counts = make_rows(task, examples, tokenizer)
  assert counts["tokens without pieces"] == sum(
    token.isspace() for example in examples for token in example.tokens
  )
  outputs = gold_outputs(task, examples, rows)
  scores = task.score(examples, rows, outputs)
  assert scores["f1"] == 1.0
