"""Rows of pairs, and their batches of two lengths."""

import collections
import dataclasses
import pathlib

import numpy as np
import pytest

import keras_bert_impl as kb
from keras_bert_impl.generation import settings
from keras_bert_impl.kinds.generation import pair_files, pair_rows, token_ids
from tfrecords.labelled import length_batches, row_files

TOKENIZERS = pathlib.Path(__file__).parents[2] / "data/tokenizers"
PAIRS = [
  pair_files.Pair("0", "the cat sat on the mat", "the cat"),
  pair_files.Pair("1", "cat", "on the mat sat the cat", "file:2"),
  pair_files.Pair("2", "the mat"),
]


def make(tokenizer, pairs=PAIRS, length=32, **values):
  """Returns preprocessor, tokenizer, rows and counts."""
  tokenizer = kb.load_tokenizer(TOKENIZERS / tokenizer)
  preprocessor = pair_rows.PairPreprocessor(length, **values)
  counts = collections.Counter()
  rows = [*preprocessor.make_rows(pairs, tokenizer, counts)]
  return preprocessor, tokenizer, rows, counts


def ids_of(tokenizer, text):
  return tokenizer.tokenize([text]).to_list()[0]


def test_a_decoder_reads_its_text_one_token_late():
  values = {"start": 9, "target_begin": (7,), "target_end": (1,)}
  _, tokenizer, rows, _ = make("t5", prefix="x: ", **values)
  first = rows[0]
  text = [*ids_of(tokenizer, "x: the cat sat on the mat"), 1]
  assert first["input_ids"].tolist() == text
  target = [7, *ids_of(tokenizer, "the cat"), 1]
  assert first["label_ids"].tolist() == target
  assert first["decoder_ids"].tolist() == [9, *target[:-1]]
  assert rows[2]["label_ids"].tolist() == [-1]
  assert rows[2]["decoder_ids"].tolist() == [9]


def test_a_text_goes_on_where_it_ends():
  _, tokenizer, rows, _ = make("gpt2", has_decoder=False, target_end=(0,))
  first = rows[0]
  text = ids_of(tokenizer, "the cat sat on the mat")
  target = [*ids_of(tokenizer, "the cat"), 0]
  assert first["input_ids"].tolist() == text + target[:-1]
  assert first["label_ids"].tolist() == target
  places = range(len(text) - 1, len(text) + len(target) - 1)
  assert first["masked_lm_positions"].tolist() == [*places]
  last = rows[2]
  text = ids_of(tokenizer, "the mat")
  assert last["input_ids"].tolist() == text
  assert last["label_ids"].tolist() == [-1]
  assert last["masked_lm_positions"].tolist() == [len(text) - 1]


def test_long_targets_keep_their_ends_and_are_counted():
  values = {"start": 9, "target_end": (1,), "max_target_length": 3}
  preprocessor, tokenizer, rows, counts = make("t5", **values)
  target = ids_of(tokenizer, "on the mat sat the cat")
  assert rows[1]["label_ids"].tolist() == [*target[:2], 1]
  assert counts["targets cut to max_target_length"] >= 1
  assert preprocessor.longest_row == 32


def test_a_text_without_tokens_begins_with_what_begins_texts():
  pairs = [pair_files.Pair("0", "", "cat", "file:1")]
  values = {"has_decoder": False, "target_end": (0,)}
  _, tokenizer, rows, _ = make("gpt2", pairs, start=5, **values)
  target = ids_of(tokenizer, "cat")
  assert rows[0]["input_ids"].tolist() == [5, *target]
  assert rows[0]["label_ids"].tolist() == [*target, 0]
  with pytest.raises(ValueError, match="file:1: the text has no tokens"):
    make("gpt2", pairs, **values)


def test_batches_have_a_length_for_each_text(tmp_path):
  values = {"start": 9, "target_end": (1,)}
  preprocessor, _, rows, _ = make("t5", 20 * PAIRS[:2], **values)
  path = str(tmp_path / "rows")
  row_files.write(path, rows, preprocessor.columns, {}, {})
  table = row_files.read(path, preprocessor.columns)
  for number, row in enumerate(rows):
    for name, values in row.items():
      np.testing.assert_array_equal(table[name][number], values)
  lengths = (2, 4, 8, 16, 32)
  batches = length_batches.training_batches([(table, 9)], 4, 0, lengths)
  seen = set()
  for batch in batches.take(10):
    source, target = (batch[x].shape[1] for x in ("input_ids", "label_ids"))
    assert batch["decoder_ids"].shape[1] == target
    seen.add((source, target))
    mask = np.asarray(batch["input_mask"])
    np.testing.assert_array_equal(
      mask > 0, np.cumsum(mask[:, ::-1], 1)[:, ::-1] > 0
    )
    labels = np.asarray(batch["label_ids"])
    # Each ends with its end, and nothing is predicted behind it.
    assert np.all((labels == 1).sum(axis=1) == 1)
    ends = (labels >= 0).sum(axis=1) - 1
    assert np.all(labels[np.arange(4), ends] == 1)
  assert len(seen) > 1
  [whole] = {
    tuple(batch["label_ids"].shape)
    for batch in length_batches.training_batches(
      [(table, 9)], 4, 0, (32,)
    ).take(3)
  }
  assert whole[1] == max(len(row["label_ids"]) for row in rows)


def test_ids_that_files_do_not_say_are_those_of_the_vocabulary():
  vocabulary = kb.load_tokenizer(TOKENIZERS / "t5").vocabulary
  roles = vocabulary.role_ids
  config = kb.EncoderConfig.preset("t5_small_encoder", vocab_size=99)
  config = dataclasses.replace(config, num_decoder_layers=2)
  beyond = settings.TokenIds(end=(100,))
  tokens, start = token_ids.completed(beyond, 200, vocabulary, config)
  assert tokens.end == (roles["sep"],) and start == roles["pad"]
  known = settings.TokenIds(end=(7, 8), first=3)
  assert token_ids.completed(known, 5, vocabulary, config) == (known, 5)
  written = token_ids.to_dict(known, 5, config)
  assert written == {
    "eos_token_id": [7, 8],
    "pad_token_id": 0,
    "decoder_start_token_id": 5,
    "forced_bos_token_id": 3,
  }


def test_pairs_are_complete(tmp_path):
  path = tmp_path / "pairs.tsv"
  source = pair_files.PairSource()
  path.write_text("text\ttarget\na b\tc\n\td\n")
  with pytest.raises(ValueError, match="pairs.tsv:3 has no text"):
    source.read([str(path)], True, {})
  path.write_text("text\ttarget\na b\tc\ne\t \n")
  with pytest.raises(ValueError, match="pairs.tsv:3 has no target"):
    source.read([str(path)], True, {})
  assert [x.target for x in source.read([str(path)], False, {})] == ["c", None]
  for name, text in (
    ("pairs.tsv", "text\ttarget\na\tb\n\nc\td\n"),
    ("pairs.csv", "text,target\na,b\n\nc,d\n"),
  ):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(ValueError, match=f"{name}:3 is an empty line: remove"):
      source.read([str(path)], True, {})
  path.write_text("text,target\na,b\nc\n")
  with pytest.raises(ValueError, match="csv:3 has 1 fields, .* mend the line"):
    source.read([str(path)], True, {})
  path = tmp_path / "pairs.jsonl"
  for target in ("", ', "summary": "b"', ', "target": null'):
    path.write_text('{"text": "a"' + target + "}\n")
    message = "jsonl:1 has no column 'target'; .*: write it, or .*target_column"
    with pytest.raises(ValueError, match=message):
      source.read([str(path)], True, {})


def test_sentences_in_a_list_are_a_text_and_one_of_several_targets_is_read(
  tmp_path,
):
  path = tmp_path / "scitldr.jsonl"
  path.write_text(
    '{"source": ["We read.", "We write."], "target": ["Reading.", "Both."]}\n'
    '{"source": [], "target": ["Nothing."]}\n'
  )
  source = pair_files.PairSource(text="source", label="target.0")
  with pytest.raises(ValueError, match="jsonl:2 has no text"):
    source.read([str(path)], True, {})
  path.write_text(path.read_text().splitlines()[0])
  (pair,) = source.read([str(path)], True, {})
  assert (pair.text, pair.target) == ("We read. We write.", "Reading.")


def test_splits_of_tensorflow_datasets_are_pairs():
  tfds = pytest.importorskip("tensorflow_datasets")
  source = pair_files.PairSource(text="en", label="de")
  with tfds.testing.mock_data(num_examples=3):
    pairs = source.read(["tfds:wmt16_translate/de-en?split=train"], True, {})
  assert len({(pair.text, pair.target) for pair in pairs}) == 3
  assert pairs[2].origin == "tfds:wmt16_translate/de-en?split=train:2"
