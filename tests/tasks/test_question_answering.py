"""Questions become rows, outputs become scores and files."""

import collections
import json
import os
import pathlib

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import configs, tokenizers
from keras_bert_impl.tasks import question_answering
from tests.tokenizers import vocabularies
from tfrecords.labelled import squad_files

TOKENS = [
  *"in 1871 ( ) , . ? the normans were from norway where when did come".split(),
  *"abcdefghijklmnopqrstuvwxyz",
  *(f"##{c}" for c in "abcdefghijklmnopqrstuvwxyz"),
]
CONTEXT = "The Normans  were (in 1871), from\nNorway."
CONFIG = configs.EncoderConfig(
  vocab_size=100,
  hidden_size=8,
  num_hidden_layers=1,
  num_attention_heads=2,
  intermediate_size=8,
  max_position_embeddings=64,
)


def _example(text="1871", start=22, number=1, context=CONTEXT, **values):
  values = {
    "id": f"q{number}",
    "question": "when did the normans come ?",
    "context": context,
    "answers": ((text, start),),
    "origin": f"file: data[{number}]",
    **values,
  }
  return question_answering.QuestionExample(**values)


def _task(max_seq_length=32, max_query_length=8, **options):
  return question_answering.QuestionAnsweringTask(
    CONFIG, max_seq_length, max_query_length=max_query_length, **options
  )


@pytest.fixture(scope="module")
def wordpiece(tmp_path_factory):
  path = vocabularies.write(tmp_path_factory.mktemp("wordpiece"), TOKENS)
  return tokenizers.load(path, do_lower_case=True)


def _rows(task, examples, tokenizer):
  """Returns (rows as a list, counts)."""
  counts = collections.Counter()
  return list(task.make_rows(examples, tokenizer, counts)), dict(counts)


def _table(task, rows):
  """Returns rows as `score` wants them: by column."""
  return {
    name: [row[name] for row in rows]
    if column.shape
    else np.array([row[name] for row in rows])
    for name, column in task.columns.items()
  }


def _tokens(tokenizer, row):
  return [tokenizer.vocabulary.tokens[i] for i in row["input_ids"]]


def _labelled(row, example):
  """Returns what the start and end positions of a row stand for."""
  start = row["piece_starts"][row["start_positions"]]
  end = row["piece_ends"][row["end_positions"]]
  return example.context[start:end]


def _pointing(rows, height=5.0):
  """Returns outputs that are sure of the labels."""
  outputs = {"start_logits": [], "end_logits": []}
  for row in rows:
    for side in ("start", "end"):
      logits = np.zeros(len(row["input_ids"]), np.float32)
      if row["answer_weights"]:
        logits[row[f"{side}_positions"]] = height
      outputs[f"{side}_logits"].append(logits)
  return outputs


def test_a_row_is_a_question_and_its_text(wordpiece):
  [row], counts = _rows(_task(), [_example()], wordpiece)
  assert (
    _tokens(wordpiece, row)
    == (
      "[CLS] when did the normans come ? [SEP] the normans were ( in 1871 ) , "
      "from norway . [SEP]"
    ).split()
  )
  assert row["segment_ids"].tolist() == [0] * 8 + [1] * 12
  assert row["start_positions"] == row["end_positions"] == 13
  assert row["answer_weights"] == 1.0
  assert row["is_max_context"].tolist() == [0] * 8 + [1] * 11 + [0]
  assert (row["piece_starts"][:8] == -1).all()
  assert CONTEXT[row["piece_starts"][17] : row["piece_ends"][17]] == "Norway"
  assert counts == {}


def test_every_column_is_in_a_row_in_its_shape(wordpiece):
  task = _task()
  [row], _ = _rows(task, [_example()], wordpiece)
  assert set(row) == set(task.columns)
  for name, column in task.columns.items():
    expected = (len(row["input_ids"]),) if column.shape else ()
    assert np.shape(row[name]) == expected, name


def test_windows_slide_over_a_long_text(wordpiece):
  task = _task(max_seq_length=13, max_query_length=6, doc_stride=2)
  example = _example(question="when ?")
  rows, counts = _rows(task, [example], wordpiece)
  assert [_tokens(wordpiece, row)[4] for row in rows] == ["the", "were", "in"]
  assert [_tokens(wordpiece, row)[-2] for row in rows] == [",", "norway", "."]
  assert counts == {"questions with several windows": 1}
  # In all three windows, and in one with most context.
  assert [_labelled(row, example) for row in rows] == ["1871"] * 3
  assert sum(row["is_max_context"].sum() for row in rows) == 11
  assert [row["example_index"] for row in rows] == [0, 0, 0]


def test_a_window_without_the_answer_points_at_the_first_token(wordpiece):
  task = _task(max_seq_length=13, max_query_length=6, doc_stride=8)
  example = _example("Normans  were", 4, question="when ?")
  rows, _ = _rows(task, [example], wordpiece)
  positions = [(r["start_positions"], r["end_positions"]) for r in rows]
  assert positions == [(5, 6), (0, 0)]
  assert [row["answer_weights"] for row in rows] == [1.0, 1.0]


def test_an_answer_that_no_window_holds_is_counted(wordpiece):
  task = _task(max_seq_length=13, max_query_length=6, doc_stride=8)
  example = _example(CONTEXT, 0, question="when ?")
  rows, counts = _rows(task, [example], wordpiece)
  assert counts["answers that no window holds"] == 1
  assert [row["start_positions"] for row in rows] == [0, 0]


def test_a_wrong_offset_is_relocated_to_the_nearest_place(wordpiece):
  context = "the normans, the normans, the normans"
  for start, expected in ((1, 4), (15, 17), (99, 30), (None, 4)):
    example = _example("normans", start, context=context)
    [row], counts = _rows(_task(), [example], wordpiece)
    assert row["piece_starts"][row["start_positions"]] == expected
    assert counts == ({} if start is None else {"answers relocated": 1})


def test_white_space_does_not_hide_an_answer(wordpiece):
  example = _example("normans were(in 1871)", 0, context=CONTEXT.lower())
  [row], counts = _rows(_task(), [example], wordpiece)
  assert _labelled(row, example) == "normans  were (in 1871)"
  assert counts == {"answers relocated": 1}


def test_an_answer_that_is_not_there_is_left_out_and_named(wordpiece, caplog):
  examples = [
    _example("Paris", 3, number=1),
    _example(number=2),
    _example(" ", 3, number=3),
  ]
  with caplog.at_level("WARNING", logger="absl"):
    rows, counts = _rows(_task(), examples, wordpiece)
  assert [row["answer_weights"] for row in rows] == [0.0, 1.0, 0.0]
  assert counts == {"answers not in the text, left out of training": 2}
  assert "file: data[1]: the answer 'Paris' of question 'q1'" in caplog.text
  assert "q2" not in caplog.text


def test_a_question_without_answer_points_at_the_first_token(wordpiece):
  [row], counts = _rows(
    _task(version_2_with_negative=True), [_example(answers=())], wordpiece
  )
  assert (row["start_positions"], row["end_positions"]) == (0, 0)
  assert row["answer_weights"] == 1.0
  assert counts == {}
  with pytest.raises(
    ValueError, match=r"data\[1\].*'q1' has no answer; .*version_2_with"
  ):
    _rows(_task(), [_example(answers=())], wordpiece)


def test_a_question_to_predict_has_no_weight(wordpiece):
  task = _task()
  examples = [_example(answers=None)]
  [row], counts = _rows(task, examples, wordpiece)
  assert row["answer_weights"] == 0.0
  assert counts == {}
  assert not task.has_labels(examples)
  assert task.has_labels([_example(), _example(answers=())])


def test_a_long_question_is_cut_and_counted(wordpiece):
  [row], counts = _rows(_task(max_query_length=2), [_example()], wordpiece)
  assert _tokens(wordpiece, row)[:4] == ["[CLS]", "when", "did", "[SEP]"]
  assert counts == {"questions cut to max_query_length": 1}


def test_a_row_without_room_for_text_is_refused(tmp_path):
  with pytest.raises(
    ValueError, match=r"max_seq_length \(11\) must be above .* \(8\) \+ 3"
  ):
    _task(max_seq_length=11)
  # Byte-level BPE has one special token more.
  tokenizer = tokenizers.load(vocabularies.write_byte_bpe(tmp_path))
  with pytest.raises(
    ValueError, match=r"file: data\[1\]: the 8 pieces of question 'q1' leave"
  ):
    _rows(_task(max_seq_length=12), [_example()], tokenizer)


@pytest.mark.parametrize(
  "name",
  ["doc_stride", "max_query_length", "n_best_size", "max_answer_length"],
)
def test_what_must_be_positive_is_checked(name):
  with pytest.raises(ValueError, match=rf"{name} \(0\) must be positive"):
    _task(**{name: 0})


def test_half_a_character_counts_as_one(wordpiece):
  context = "\ud83d " + CONTEXT
  example = _example(start=24, context=context)
  [row], counts = _rows(_task(64), [example], wordpiece)
  assert _labelled(row, example) == "1871"
  assert not counts


def test_an_empty_text_is_one_window(wordpiece):
  task = _task(version_2_with_negative=True)
  example = _example(context=" ", answers=())
  [row], _ = _rows(task, [example], wordpiece)
  assert _tokens(wordpiece, row)[-2:] == ["[SEP]", "[SEP]"]
  table = _table(task, [row])
  assert task.score([example], table, _pointing([row]))["f1"] == 1.0


def test_other_tokenizers_frame_as_they_do_elsewhere(tmp_path):
  example = _example("hello", 4, context="the hello world", question="the cat")
  for write in (
    vocabularies.write_byte_bpe,
    vocabularies.write_sentencepiece,
  ):
    folder = tmp_path / write.__name__
    folder.mkdir()
    tokenizer = tokenizers.load(write(folder))
    [row], _ = _rows(_task(), [example], tokenizer)
    expected = tokenizer([example.question], [example.context])
    for name in ("input_ids", "segment_ids"):
      assert row[name].tolist() == expected[name].numpy()[0].tolist()
    assert _labelled(row, example) == "hello"


def test_sure_outputs_give_full_scores(wordpiece):
  task = _task(max_seq_length=13, max_query_length=6, doc_stride=3)
  examples = [
    _example("1871", 22, 1, question="when ?"),
    _example("from\nNorway", 29, 2, question="where ?"),
  ]
  rows, _ = _rows(task, examples, wordpiece)
  scores = task.score(examples, _table(task, rows), _pointing(rows))
  assert scores == {"exact_match": 1.0, "f1": 1.0}
  assert task.baseline(examples) == 0.0


def test_the_threshold_is_tuned_unless_it_is_given(wordpiece, tmp_path):
  examples = [_example(), _example(number=2, answers=())]
  scores = {}
  for threshold in (None, 0.0, 9.0):
    task = _task(
      version_2_with_negative=True, null_score_diff_threshold=threshold
    )
    rows, _ = _rows(task, examples, wordpiece)
    logits = np.zeros((2, len(rows[0]["input_ids"])), np.float32)
    logits[:, 13] = 1.0
    # Twice: the null scores higher than 1871, by 1 and by 4.
    logits[:, 0] = 1.5, 3.0
    outputs = {"start_logits": [*logits], "end_logits": [*logits]}
    table = _table(task, rows)
    scores[threshold] = task.score(examples, table, outputs)
    assert scores[threshold]["best_f1"] == 1.0
    assert scores[threshold]["best_f1_thresh"] == 1.0
    folder = tmp_path / str(threshold)
    task.write_predictions(examples, table, outputs, str(folder))
    predictions = json.loads((folder / "predictions.json").read_text())
    expected = {None: ["1871", ""], 0.0: ["", ""], 9.0: ["1871", "1871"]}
    assert list(predictions.values()) == expected[threshold]
  assert scores[None]["f1"] == 1.0
  assert scores[0.0]["f1"] == scores[0.0]["NoAns_f1"] / 2 == 0.5
  assert scores[9.0]["HasAns_exact"] == 1.0
  assert scores[9.0]["NoAns_exact"] == 0.0
  assert task.baseline(examples) == 0.5


def test_the_files_are_those_of_the_original(wordpiece, tmp_path):
  task = _task(version_2_with_negative=True, n_best_size=3)
  examples = [_example(), _example(number=2)]
  rows, _ = _rows(task, examples, wordpiece)
  table, outputs = _table(task, rows), _pointing(rows)
  paths = task.write_predictions(examples, table, outputs, str(tmp_path))
  names = {what: os.path.basename(path) for what, path in paths.items()}
  assert names == {
    "predictions": "predictions.json",
    "nbest": "nbest_predictions.json",
    "null odds": "null_odds.json",
  }
  read = {w: json.loads(pathlib.Path(p).read_text()) for w, p in paths.items()}
  assert read["predictions"] == {"q1": "1871", "q2": "1871"}
  assert read["null odds"] == {"q1": -10.0, "q2": -10.0}
  best, *others = read["nbest"]["q1"]
  assert list(best) == ["text", "probability", "start_logit", "end_logit"]
  assert (best["text"], best["start_logit"]) == ("1871", 5.0)
  assert "" in [other["text"] for other in others]
  total = sum(each["probability"] for each in read["nbest"]["q1"])
  assert total == pytest.approx(1.0)


@pytest.mark.parametrize("has_null", [False, True])
def test_a_picture_is_drawn(wordpiece, tmp_path, has_null):
  task = _task(version_2_with_negative=has_null)
  examples = [_example(), _example(number=2)]
  rows, _ = _rows(task, examples, wordpiece)
  path = tmp_path / "scores.png"
  assert task.plot(examples, _table(task, rows), _pointing(rows), str(path))
  assert path.read_bytes().startswith(b"\x89PNG")


def _batch(task, rows):
  """Returns the rows as a batch with a padding row."""
  length = 2 + max(len(row["input_ids"]) for row in rows)
  batch = {
    name: np.zeros(
      (len(rows) + 1, *([length] if column.shape else [])), column.dtype
    )
    for name, column in task.columns.items()
    if column.in_batch
  }
  batch["input_mask"] = np.zeros((len(rows) + 1, length), np.int32)
  for index, row in enumerate(rows):
    for name in batch.keys() - {"input_mask"}:
      place = (index, slice(len(row["input_ids"])))
      batch[name][place if task.columns[name].shape else index] = row[name]
    batch["input_mask"][index, : len(row["input_ids"])] = 1
  return batch


def test_the_loss_is_the_mean_of_both_sides_over_known_answers(wordpiece):
  task = _task()
  examples = [_example(), _example("Paris", 3, 2), _example("Norway", 34, 3)]
  rows, _ = _rows(task, examples, wordpiece)
  batch = _batch(task, rows)
  outputs = {
    # What stands at padding does not count.
    f"{side}_logits": np.where(batch["input_mask"], 0.0, 99.0).astype("float32")
    for side in ("start", "end")
  }
  assert {k: float(v) for k, v in task.denominators(batch).items()} == {
    "answer_start": 2.0,
    "answer_end": 2.0,
  }
  for loss in task.losses(batch, outputs).values():
    assert float(loss) == pytest.approx(0.5 * 2 * np.log(20), rel=1e-5)


def test_training_steps_lower_the_loss(wordpiece):
  task = _task()
  examples = [_example(), _example("Norway", 34, 2)]
  rows, _ = _rows(task, examples, wordpiece)
  batch = {k: tf.constant(v) for k, v in _batch(task, rows).items()}
  model = task.build_model()
  inputs = {name: batch[name] for name in model.input}
  losses = []
  for _ in range(8):
    with tf.GradientTape() as tape:
      outputs = model(inputs, training=False)
      loss = sum(task.losses(batch, outputs).values())
    gradients = tape.gradient(loss, model.trainable_variables)
    for variable, gradient in zip(model.trainable_variables, gradients):
      variable.assign_sub(0.1 * tf.convert_to_tensor(gradient))
    losses.append(float(loss))
  assert losses[-1] < 0.9 * losses[0]


@pytest.mark.slow
@pytest.mark.parametrize(
  "version, least",
  # The rest are answers that begin or end within a word, which come from
  # rebuilding the files, and those of more than 30 pieces.
  [("1.1", 0.993), ("2.0", 0.996)],
)
def test_outputs_sure_of_the_gold_pieces_score_nearly_all(version, least):
  folder = os.environ.get("KERAS_BERT_DATA")
  if not folder:
    pytest.skip("KERAS_BERT_DATA is not set")
  tokenizer = tokenizers.load(
    f"{folder}/vocab/google_uncased/vocab.txt", do_lower_case=True
  )
  examples = squad_files.read(
    f"{folder}/tasks/squad/derived/dev-v{version}.json"
  )
  task = question_answering.QuestionAnsweringTask(
    CONFIG, 384, version_2_with_negative=version == "2.0"
  )
  rows, counts = _rows(task, examples, tokenizer)
  assert len(examples) == {"1.1": 10570, "2.0": 11873}[version]
  assert "answers not in the text, left out of training" not in counts
  scores = task.score(examples, _table(task, rows), _pointing(rows))
  assert scores["exact" if version == "2.0" else "exact_match"] > least
  assert scores["f1"] > least + 0.001
