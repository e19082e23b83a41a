"""Texts with choices: rows, the loss by hand, scores and files."""

import json

import numpy as np
import pytest

from keras_bert_impl.kinds.choices import multiple_choice
from keras_bert_impl.tasks.basics import cross_entropy, fine_tuning
from keras_bert_impl.tasks.basics.example_types import MultipleChoiceExample
from tests.tasks.basics import parts
from tests.tasks.basics.parts import CONFIG
from tfrecords.labelled import length_batches, row_files

EXAMPLES = [
  MultipleChoiceExample("0", "hello", ("world", "the cls token", "mask"), 1),
  MultipleChoiceExample("1", "the", ("un", "play", "token token token"), 2),
]


EVALUATOR = multiple_choice.ChoiceEvaluator()


def task(num_choices=3):
  return multiple_choice.MultipleChoiceTask(CONFIG, num_choices)


def preprocessor(num_choices=3, max_seq_length=16):
  return multiple_choice.ChoicePreprocessor(max_seq_length, num_choices)


def make_rows(tokenizer, examples=EXAMPLES, **options):
  return parts.make_rows(preprocessor(**options), examples, tokenizer)


@pytest.mark.parametrize("kind", ("wordpiece", "sentencepiece"))
def test_each_choice_is_a_sequence_after_the_text(tokenizers_of_kinds, kind):
  tokenizer = tokenizers_of_kinds[kind]
  rows, _ = make_rows(tokenizer)
  for example, row in zip(EXAMPLES, rows, strict=True):
    for index, choice in enumerate(example.choices):
      expected = tokenizer([example.text], [choice], 16)
      length = expected["input_ids"].shape[1]
      for name in ("input_ids", "segment_ids", "input_mask"):
        column = row[name][:, index]
        assert column[:length].tolist() == expected[name][0].numpy().tolist()
        assert not column[length:].any()
  assert [row["label_ids"] for row in rows] == [1, 2]


def test_batches_are_what_the_model_takes(tokenizer, tmp_path):
  rows, counts = make_rows(tokenizer)
  path = str(tmp_path / "rows")
  columns = preprocessor().columns
  row_files.write(path, rows, columns, {}, counts)
  batches, order = length_batches.evaluation_batches(
    row_files.read(path, columns), 4, (8, 16)
  )
  [batch] = list(batches)
  model = task().build_model()
  logits = model({name: batch[name] for name in model.input})["logits"]
  assert batch["input_ids"].shape == (4, 3, 8)
  assert logits.shape == (4, 3)
  weights = cross_entropy.row_weights(batch).numpy()
  assert weights.tolist() == [1, 1, 0, 0]
  assert batch["label_ids"].numpy()[:2].tolist() == [
    EXAMPLES[index].label for index in order
  ]


def test_long_texts_are_cut_and_counted_and_empty_choices_kept(tokenizer):
  example = MultipleChoiceExample("0", "hello " * 9, ("world", " "), 0)
  [row], counts = make_rows(
    tokenizer, [example], num_choices=2, max_seq_length=8
  )
  assert row["input_mask"].sum(axis=0).tolist() == [8, 8]
  assert counts == {"pairs cut to max_seq_length": 2, "empty texts": 1}


def test_the_loss_is_the_cross_entropy_over_the_choices():
  batch = {
    "input_mask": np.array([[[1, 1], [1, 0]], [[1, 1], [1, 1]], [[0, 0]] * 2]),
    "label_ids": np.array([0, 1, 0]),
  }
  probabilities = np.array([[0.5, 0.5], [0.75, 0.25], [0.1, 0.9]], "float32")
  outputs = {"logits": np.log(probabilities)}
  loss = task(2).losses(batch, outputs)["label"]
  assert float(loss) == pytest.approx(np.log(2) + np.log(4))
  assert float(task(2).denominators(batch)["label"]) == 2


def test_choices_are_scored_by_accuracy_against_the_commonest_place():
  outputs = {"logits": np.array([[0, 1, 0], [1, 0, 0]], "float32")}
  scores = parts.score(EVALUATOR, EXAMPLES, None, outputs)
  assert scores == {"accuracy": 0.5}
  baseline = EVALUATOR.baseline([*EXAMPLES, EXAMPLES[0]])
  assert baseline == pytest.approx(2 / 3)
  assert all(example.is_labelled for example in EXAMPLES)
  assert not MultipleChoiceExample("0", "a", ("b", "c")).is_labelled


def test_predictions_hold_the_choice_and_probabilities(tmp_path):
  outputs = {"logits": np.log(np.array([[0.25, 0.5, 0.25], [0.5, 0.25, 0.25]]))}
  paths = parts.write(EVALUATOR, EXAMPLES, None, outputs, tmp_path)
  with open(paths["predictions"], encoding="utf-8") as file:
    assert file.read().splitlines() == [
      "id\tlabel\t0\t1\t2",
      "0\t1\t0.25\t0.5\t0.25",
      "1\t0\t0.5\t0.25\t0.25",
    ]


def test_what_a_server_must_know_is_json():
  whole = fine_tuning.FineTuning(preprocessor(), task(), EVALUATOR)
  described = json.loads(json.dumps(whole.describe()))
  assert described["num_choices"] == 3
  assert described["head"] == "multiple_choice"


def test_choices_are_judged_as_texts():
  outputs = {"logits": np.log(np.array([[0.25, 0.5, 0.25], [0.2, 0.5, 0.3]]))}
  _, intervals, judged = parts.judge(EVALUATOR, EXAMPLES, None, outputs)
  places = [example.label for example in EXAMPLES]
  assert judged.found == [example.choices[1] for example in EXAMPLES]
  assert judged.is_right.tolist() == [place == 1 for place in places]
  assert judged.certainty == pytest.approx([0.5, 0.5])
  assert 0 <= intervals["accuracy"].low < intervals["accuracy"].high <= 1
  assert sum(EVALUATOR.label_counts(EXAMPLES).values()) == 2
