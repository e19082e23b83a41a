import dataclasses
import json
import os
import pickle
import resource
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import choices, features, tokenizers
from keras_bert_impl.tokenizers.formats import vocabularies
from tests.tfrecords import corpus
from tfrecords import manifest, masking_config
from tfrecords.reading import lanes, reader, record_parsing, scan
from tfrecords.text import documents
from tfrecords.writing import shards, writer, writing_config

CLS, SEP, MASK = 3, 4, 5


@pytest.fixture(name="vocab_file")
def fixture_vocab_file(tmp_path):
  return corpus.write_vocabulary(tmp_path)


@pytest.fixture(name="text")
def fixture_text(tmp_path):
  return corpus.write_text(tmp_path)


@pytest.fixture(name="out")
def fixture_out(tmp_path):
  folder = tmp_path / "out"
  folder.mkdir()
  return str(folder / "data.tfrecord")


@pytest.fixture(name="small_chunks")
def fixture_small_chunks(monkeypatch):
  monkeypatch.setattr(writer, "_CHUNK_BYTES", 3000)


def config(vocab_file, **changes):
  values = dict(max_seq_length=48, dupe_factor=2) | changes
  return writing_config.PretrainingDataConfig(vocab_file, **values)


def write(text, vocab_file, out, num_shards=1, num_workers=1, **changes):
  return writer.write_shards(
    config(vocab_file, **changes),
    [text],
    writer.shard_paths(out, num_shards),
    num_workers=num_workers,
  )


def examples(*paths):
  return [
    tf.train.Example.FromString(record.numpy())
    for record in tf.data.TFRecordDataset(list(paths))
  ]


def ids_of(example, name=features.INPUT_IDS):
  return list(example.features.feature[name].int64_list.value)


def contents(out):
  folder = os.path.dirname(out)
  return {
    name: open(os.path.join(folder, name), "rb").read()
    for name in sorted(os.listdir(folder))
  }


def test_clean_records_hold_ids_and_label(text, vocab_file, out):
  summary = write(text, vocab_file, out)
  found = examples(out)
  assert len(found) == summary.num_instances > 100
  tokens = 0
  for example in found:
    assert sorted(example.features.feature) == [
      features.INPUT_IDS,
      features.NEXT_SENTENCE_LABELS,
    ]
    ids = ids_of(example)
    tokens += len(ids)
    assert len(ids) <= 48
    assert ids[0] == CLS and ids[-1] == SEP and ids.count(SEP) == 2
    assert len(ids_of(example, features.NEXT_SENTENCE_LABELS)) == 1
  assert tokens == summary.num_tokens


def test_the_folder_of_a_vocabulary_makes_the_records_of_its_file(
  text, vocab_file, out
):
  folder = os.path.dirname(vocab_file)
  results = []
  for name, path in (("file", vocab_file), ("folder", folder)):
    summary = write(text, path, f"{out}-{name}")
    with open(summary.files[0], "rb") as file:
      results.append(file.read())
  assert results[0] == results[1]


def test_masked_records_are_those_of_the_original(text, vocab_file, out):
  write(text, vocab_file, out, masking="static", max_predictions_per_seq=7)
  expected = features.masked_record(48, 7)
  for example in examples(out):
    found = example.features.feature
    assert sorted(found) == sorted(expected)
    for name, feature in expected.items():
      kind = "int64_list" if feature.dtype == "int64" else "float_list"
      assert found[name].WhichOneof("kind") == kind
      assert len(getattr(found[name], kind).value) == feature.shape[0]


def texts_of(example):
  """Returns the texts of a packed record, tuples of ids."""
  ids = np.array(ids_of(example))
  numbers = np.array(ids_of(example, features.SEQUENCE_IDS))
  assert len(ids) == len(numbers) <= 48
  assert sorted(numbers) == list(numbers)
  return [tuple(ids[numbers == k]) for k in range(1, numbers[-1] + 1)]


@pytest.mark.parametrize("packing", ["doc_sentences", "full_sentences"])
def test_packed_records_hold_the_same_texts(text, vocab_file, out, packing):
  plain_out = out + "-plain"
  plain = write(text, vocab_file, plain_out, packing=packing)
  packed = write(text, vocab_file, out, packing=packing, pack_sequences=True)
  found = [one for example in examples(out) for one in texts_of(example)]
  expected = [tuple(ids_of(example)) for example in examples(plain_out)]
  assert sorted(found) == sorted(expected)
  assert packed.num_instances == plain.num_instances == plain.num_records
  assert packed.num_tokens == plain.num_tokens
  assert packed.num_records == len(examples(out)) < plain.num_records
  assert packed.padding_share(48) < plain.padding_share(48)


def test_packed_records_can_be_masked_when_written(text, vocab_file, out):
  write(
    text,
    vocab_file,
    out,
    objective="spanbert",
    masking="static",
    pack_sequences=True,
  )
  write(
    text, vocab_file, out + "-clean", objective="spanbert", pack_sequences=True
  )
  for masked, clean in zip(
    examples(out), examples(out + "-clean"), strict=True
  ):
    numbers = ids_of(masked, features.SEQUENCE_IDS)
    mask = ids_of(masked, features.INPUT_MASK)
    assert len(numbers) == 48 and [n > 0 for n in numbers] == [*map(bool, mask)]
    assert numbers[: sum(mask)] == ids_of(clean, features.SEQUENCE_IDS)
    weights = masked.features.feature[features.MASKED_LM_WEIGHTS]
    num_masked = sum(weights.float_list.value)
    assert num_masked <= max(round(0.15 * sum(mask)), 1)


def test_packed_records_do_not_depend_on_the_number_of_workers(
  text, vocab_file, tmp_path, small_chunks
):
  found = []
  for num_workers in (1, 2):
    out = tmp_path / str(num_workers) / "data"
    write(
      text,
      vocab_file,
      str(out),
      3,
      num_workers,
      objective="electra",
      pack_sequences=True,
    )
    found.append(contents(str(out)))
  assert found[0] == found[1]
  assert len(found[0]) == 6


def test_pairs_are_not_packed(vocab_file):
  with pytest.raises(ValueError, match="pack_sequences needs texts"):
    config(vocab_file, pack_sequences=True)


def test_masking_changes_only_what_it_says(text, vocab_file, out, tmp_path):
  clean_out = str(tmp_path / "clean.tfrecord")
  write(text, vocab_file, clean_out)
  write(text, vocab_file, out, masking="static", do_whole_word_mask=True)
  num_masks = 0
  for clean, masked in zip(examples(clean_out), examples(out), strict=True):
    ids = ids_of(masked)
    weights = masked.features.feature[features.MASKED_LM_WEIGHTS]
    predictions = zip(
      ids_of(masked, features.MASKED_LM_POSITIONS),
      ids_of(masked, features.MASKED_LM_IDS),
      weights.float_list.value,
      strict=True,
    )
    for position, original, weight in predictions:
      if weight:
        num_masks += ids[position] == MASK
        ids[position] = original
    length = sum(ids_of(masked, features.INPUT_MASK))
    assert ids[:length] == ids_of(clean)
    assert not any(ids[length:])
    first_sep = ids.index(SEP)
    assert ids_of(masked, features.SEGMENT_IDS) == [
      int(first_sep < i < length) for i in range(48)
    ]
    assert ids_of(masked, features.NEXT_SENTENCE_LABELS) == ids_of(
      clean, features.NEXT_SENTENCE_LABELS
    )
  assert num_masks > 100


def test_records_without_pairs_have_no_label(text, vocab_file, out):
  summary = write(text, vocab_file, out, packing="doc_sentences")
  assert summary.num_positive == 0
  for example in examples(out):
    assert list(example.features.feature) == [features.INPUT_IDS]
    assert ids_of(example).count(SEP) == 1


def test_full_sentences_have_a_separator_between_documents(
  text, vocab_file, out
):
  summary = write(text, vocab_file, out, packing="full_sentences")
  found = [ids_of(example) for example in examples(out)]
  assert sum(map(len, found)) == summary.num_tokens
  assert max(map(len, found)) <= 48
  assert {ids.count(SEP) for ids in found} >= {1, 2}
  assert all(ids[0] == CLS and ids[-1] == SEP for ids in found)


def test_records_of_full_sentences_have_one_segment(text, vocab_file, out):
  write(text, vocab_file, out, packing="full_sentences", masking="static")
  for example in examples(out):
    assert features.NEXT_SENTENCE_LABELS not in example.features.feature
    assert not any(ids_of(example, features.SEGMENT_IDS))


def test_one_document_gives_ordered_pairs(tmp_path, vocab_file, out):
  text = corpus.write_text(tmp_path, num_documents=1, name="one.txt")
  summary = write(
    text, vocab_file, out, packing="sentence_order", dupe_factor=50
  )
  assert summary.num_documents == 1
  assert 0.45 < summary.positive_share < 0.55
  labels = [
    ids_of(example, features.NEXT_SENTENCE_LABELS) for example in examples(out)
  ]
  assert sum(label for [label] in labels) == summary.num_positive


@pytest.mark.parametrize("policy", choices.MASKING_POLICIES)
def test_every_policy_gives_the_records_of_the_original(
  text, vocab_file, out, policy
):
  write(text, vocab_file, out, masking="static", masking_policy=policy)
  expected = features.masked_record(48, 20)
  for example in examples(out):
    found = example.features.feature
    lengths = {name: len(ids_of(example, name)) for name in found}
    lengths[features.MASKED_LM_WEIGHTS] = len(
      found[features.MASKED_LM_WEIGHTS].float_list.value
    )
    assert lengths == {name: f.shape[0] for name, f in expected.items()}


def decided(**values):
  made = writing_config.PretrainingDataConfig("vocab.txt", **values)
  masking = made.masking_values
  return (
    made.packing,
    masking["masking_policy"],
    masking["mask_token_prob"],
    masking["random_token_prob"],
  )


def test_the_objective_decides_what_is_not_given():
  assert decided() == ("next_sentence", "token", 0.8, 0.1)
  assert decided(objective="albert") == ("sentence_order", "ngram", 0.8, 0.1)
  assert decided(objective="electra") == ("doc_sentences", "token", 1.0, 0.0)
  given = dict(
    objective="spanbert",
    packing="full_sentences",
    masking_policy="token",
    mask_token_prob=0.0,
  )
  assert decided(**given) == ("full_sentences", "token", 0.0, 0.1)


def test_the_flag_of_the_original_stands_for_its_policy():
  assert decided(do_whole_word_mask=True)[1] == "whole_word"
  assert decided(do_whole_word_mask=True, objective="albert")[1] == "whole_word"
  with pytest.raises(ValueError, match="masking_policy .span. contradicts"):
    decided(do_whole_word_mask=True, masking_policy="span")


def test_two_names_of_one_policy_give_one_output(text, vocab_file, out):
  write(text, vocab_file, out, masking="static", do_whole_word_mask=True)
  again = write(
    text, vocab_file, out, masking="static", masking_policy="whole_word"
  )
  assert again.num_written_shards == 0


def test_what_masks_nothing_cannot_be_masked_now(text, vocab_file, out):
  with pytest.raises(ValueError, match="'left_to_right' masks nothing"):
    write(text, vocab_file, out, masking="static", objective="left_to_right")
  summary = write(text, vocab_file, out, objective="left_to_right")
  assert summary.num_instances


@pytest.mark.parametrize(
  "write_vocabulary", [corpus.write_byte_pairs, corpus.write_sentence_pieces]
)
def test_records_of_other_tokenizers_hold_the_text(
  tmp_path, out, write_vocabulary
):
  path = tmp_path / "one.txt"
  path.write_text("the dog sing.\n\n a moon walks.\nthe play.\nof the dog.\n")
  vocab_file = write_vocabulary(tmp_path)
  write(
    str(path),
    vocab_file,
    out,
    packing="full_sentences",
    short_seq_prob=0.0,
    dupe_factor=1,
    max_seq_length=128,
  )
  tokenizer = tokenizers.load(vocab_file)
  [example] = examples(out)
  cls_id, *ids, sep_id = ids_of(example)
  assert cls_id == tokenizer.vocabulary.cls_id
  assert sep_id == tokenizer.vocabulary.sep_id
  middle = ids.index(sep_id)
  documents = tf.ragged.constant([ids[:middle], ids[middle + 1 :]])
  assert tokenizer.detokenize(documents).numpy().tolist() == [
    b"the dog sing.",
    b"a moon walks. the play. of the dog.",
  ]


@pytest.mark.parametrize(
  "write_vocabulary", [corpus.write_byte_pairs, corpus.write_sentence_pieces]
)
def test_words_of_other_tokenizers_are_masked_whole(
  tmp_path, text, out, write_vocabulary
):
  vocab_file = write_vocabulary(tmp_path)
  write(
    text,
    vocab_file,
    out,
    objective="spanbert",
    masking="static",
    # Room for the longest word in every record.
    packing="full_sentences",
    short_seq_prob=0.0,
    max_seq_length=128,
    masked_lm_prob=0.3,
    max_predictions_per_seq=40,
    dupe_factor=1,
  )
  vocabulary = vocabularies.Vocabulary.load(vocab_file)
  special = vocabulary.cls_id, vocabulary.sep_id
  num_runs = 0
  for example in examples(out):
    ids = ids_of(example)
    weights = example.features.feature[features.MASKED_LM_WEIGHTS]
    chosen = {
      position: original
      for position, original, weight in zip(
        ids_of(example, features.MASKED_LM_POSITIONS),
        ids_of(example, features.MASKED_LM_IDS),
        weights.float_list.value,
      )
      if weight
    }
    for position, original in chosen.items():
      # What precedes and follows a span is not of its words.
      before, after = ids[position - 1], ids[position + 1]
      if position - 1 not in chosen and before not in special:
        num_runs += 1
        assert not vocabulary.is_continuation[original]
      if position + 1 not in chosen and after not in special:
        assert not vocabulary.is_continuation[after]
  assert num_runs > 100


def test_the_reader_reads_what_was_written(text, vocab_file, out):
  summary = write(text, vocab_file, out, num_shards=3)
  vocab_size = vocabularies.Vocabulary.load(vocab_file).size
  manifests = {f: manifest.read(f) for f in scan.list_files(out + "*")}
  limits = record_parsing.Limits(48, 20, vocab_size)
  records = scan.open_records(manifests, limits)
  assert records.num_records == summary.num_instances
  dataset = reader.make_dataset(
    records, lambda batch, seed: batch, 8, lanes.Order(1, num_epochs=1)
  )
  labels = [b[features.NEXT_SENTENCE_LABELS].numpy() for b in dataset]
  assert sum(map(len, labels)) == summary.num_instances // 8 * 8


@pytest.mark.parametrize("masking", ["dynamic", "static"])
def test_any_number_of_chunks_and_workers_gives_the_same_bytes(
  text, vocab_file, out, tmp_path, small_chunks, masking
):
  write(text, vocab_file, out, num_shards=2, masking=masking)
  found = contents(out)
  assert len(found) == 4
  if masking == "static":
    write(text, vocab_file, out, num_shards=2, masking=masking)
    assert contents(out) == found
    return
  other = tmp_path / "other"
  other.mkdir()
  # `small_chunks` does not reach other processes, but the plan is made here.
  write(
    text, vocab_file, str(other / "data.tfrecord"), num_shards=2, num_workers=2
  )
  assert contents(str(other / "data.tfrecord")) == found


def test_a_task_can_be_sent_elsewhere(text, vocab_file, out, small_chunks):
  write(text, vocab_file, out, num_shards=2)
  expected = contents(out)
  path = writer.shard_paths(out, 2)[1]
  os.remove(path)
  os.remove(manifest.path_of(path))
  tasks = writer.plan_shards(
    config(vocab_file),
    vocabularies.Vocabulary.load(vocab_file),
    documents.open_files([text]),
    writer.shard_paths(out, 2),
  )
  shards.write_shard(pickle.loads(pickle.dumps(tasks[1])))
  assert contents(out) == expected


def test_every_dupe_is_made_anew_and_the_seed_matters(
  text, vocab_file, tmp_path
):
  def records(name, **changes):
    path = str(tmp_path / name)
    write(text, vocab_file, path, **changes)
    return [tuple(ids_of(example)) for example in examples(path)]

  once = records("once", dupe_factor=1)
  thrice = records("thrice", dupe_factor=3)
  assert len(thrice) == pytest.approx(3 * len(once), rel=0.1)
  assert set(once) < set(thrice)
  assert len(set(thrice)) > 2.5 * len(once)
  assert set(records("seed", dupe_factor=1, random_seed=1)) != set(once)


def test_a_vocabulary_that_changes_while_shards_are_written_is_an_error(
  text, vocab_file, out
):
  [task] = writer.plan_shards(
    config(vocab_file),
    vocabularies.Vocabulary.load(vocab_file),
    documents.open_files([text]),
    [out],
  )
  with open(vocab_file, "a") as file:
    file.write("more\n")
  with pytest.raises(ValueError, match="vocab.txt. has changed"):
    shards.write_shard(task)
  assert contents(out) == {}


def test_the_folder_of_the_output_is_made(text, vocab_file, tmp_path):
  summary = write(text, vocab_file, str(tmp_path / "new" / "folder" / "data"))
  assert os.path.exists(summary.files[0])


def test_all_documents_give_instances_in_many_shards(
  text, vocab_file, out, small_chunks
):
  one = write(text, vocab_file, out)
  many = write(text, vocab_file, out + "s", num_shards=7)
  for name in ("num_documents", "num_sentences", "num_text_tokens"):
    assert getattr(one, name) == getattr(many, name)
  assert one.num_documents == 60
  assert many.num_instances == pytest.approx(one.num_instances, rel=0.05)
  assert 0.47 < many.positive_share < 0.53


def test_a_shard_without_documents_is_empty_and_said_so(
  vocab_file, out, tmp_path, caplog
):
  text = corpus.write_text(tmp_path, num_documents=3)
  summary = write(text, vocab_file, out, num_shards=8)
  assert summary.num_documents == 3
  assert "8 shards are too many" in caplog.text
  assert sum(not os.path.getsize(path) for path in summary.files) >= 5


def test_finished_shards_are_left_alone(text, vocab_file, out):
  first = write(text, vocab_file, out, num_shards=3)
  paths = first.files
  os.remove(manifest.path_of(paths[1]))
  before = [os.stat(path).st_mtime_ns for path in paths]
  second = write(text, vocab_file, out, num_shards=3)
  after = [os.stat(path).st_mtime_ns for path in paths]
  assert [a == b for a, b in zip(before, after, strict=True)] == [
    True,
    False,
    True,
  ]
  assert first.num_written_shards == 3
  assert second.num_written_shards == 1
  unchanged = ("num_written_shards", "num_written_bytes", "seconds")
  assert {
    k: v for k, v in dataclasses.asdict(first).items() if k not in unchanged
  } == {
    k: v for k, v in dataclasses.asdict(second).items() if k not in unchanged
  }


def test_a_damaged_shard_is_written_anew(text, vocab_file, out, caplog):
  write(text, vocab_file, out)
  expected = contents(out)
  with open(out, "r+b") as file:
    file.seek(100)
    file.write(b"damage")
  write(text, vocab_file, out)
  assert contents(out) == expected
  assert "does not match its manifest" in caplog.text


def test_the_manifest_tells_what_the_shard_holds(text, vocab_file, out):
  summary = write(text, vocab_file, out)
  with open(manifest.path_of(out)) as file:
    content = json.load(file)
  assert content["num_records"] == summary.num_instances
  assert content["num_documents"] == 60
  assert content["num_bytes"] == os.path.getsize(out)
  assert content["origin"]["max_seq_length"] == 48
  fingerprint = vocabularies.Vocabulary.load(vocab_file).fingerprint
  assert content["origin"]["vocab_file_hash"] == fingerprint


@pytest.mark.parametrize(
  "content",
  ["[]", "[" * 5000, '{"format_version": 1}', '{"format_version": "1"}'],
)
def test_what_is_no_manifest_is_refused_with_the_remedy(tmp_path, content):
  shard = str(tmp_path / "shard")
  with open(manifest.path_of(shard), "w") as file:
    file.write(content)
  with pytest.raises(ValueError, match="shard.manifest.json.* Delete it to"):
    manifest.read(shard)


@pytest.mark.parametrize(
  ("changes", "named"),
  [
    ({"max_seq_length": 32}, "max_seq_length=48, not 32"),
    ({"masking": "static"}, "masking='dynamic', not 'static'"),
    (
      {"packing": "sentence_order"},
      "packing='next_sentence', not 'sentence_order'",
    ),
    ({"num_shards": 3}, "num_shards=2, not 3"),
  ],
)
def test_another_configuration_in_the_same_output_is_an_error(
  text, vocab_file, out, changes, named
):
  write(text, vocab_file, out, num_shards=2)
  expected = contents(out)
  with pytest.raises(ValueError, match=named):
    write(text, vocab_file, out, **({"num_shards": 2} | changes))
  assert contents(out) == expected


def test_another_text_or_vocabulary_is_an_error(
  text, vocab_file, out, tmp_path
):
  write(text, vocab_file, out)
  with open(text, "a") as file:
    file.write("the moon.\n")
  with pytest.raises(ValueError, match="input_files_hash"):
    write(text, vocab_file, out)
  corpus.write_text(tmp_path)
  with open(vocab_file, "a") as file:
    file.write("more\n")
  with pytest.raises(ValueError, match="vocab_file_hash"):
    write(text, vocab_file, out)


def test_clean_records_keep_how_they_are_to_be_masked(text, vocab_file, out):
  chosen = dict(do_whole_word_mask=True, masked_lm_prob=0.3, mask_token_prob=1)
  write(text, vocab_file, out, **chosen, random_token_prob=0.0)
  origin = manifest.read(out)["origin"]
  assert masking_config.agreed(
    masking_config.MaskingConfig(), "bert", {out: origin}
  ) == {
    "max_predictions_per_seq": 20,
    "masked_lm_prob": 0.3,
    "masking_policy": "whole_word",
    "mask_token_prob": 1,
    "random_token_prob": 0.0,
  }
  assert "max_predictions_per_seq" not in origin  # That is left open.
  with pytest.raises(ValueError, match="with mask_token_prob=1, not None"):
    write(text, vocab_file, out)


def test_masks_that_are_left_open_are_not_kept(text, vocab_file, out):
  write(text, vocab_file, out, objective="electra")
  assert not manifest.read(out)["origin"].keys() & set(masking_config.NAMES)


WRITE_SLOWLY = """
import sys, time
from tfrecords.writing import writing_config, writer
text, vocab_file, out = sys.argv[1:]
writer._CHUNK_BYTES = 3000
config = writing_config.PretrainingDataConfig(
  vocab_file, max_seq_length=48, dupe_factor=2
)
def wait(done, total):
  print(done, flush=True)
  time.sleep(0.05)
writer.write_shards(
  config, [text], writer.shard_paths(out, 5), on_progress=wait
)
"""


def test_killed_and_started_again_gives_the_same_shards(
  text, vocab_file, out, tmp_path, small_chunks
):
  killed = tmp_path / "killed"
  killed.mkdir()
  killed_out = str(killed / "data.tfrecord")
  command = [sys.executable, "-c", WRITE_SLOWLY, text, vocab_file, killed_out]
  process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
  for _ in range(4):
    assert process.stdout.readline()
  process.send_signal(signal.SIGKILL)
  process.wait()
  process.stdout.close()
  names = set(contents(killed_out))
  finished = {name for name in names if name.endswith(manifest.SUFFIX)}
  assert 0 < len(finished) < 5
  # Whatever has the name of a shard is whole.
  for name in finished:
    path = str(killed / name.removesuffix(manifest.SUFFIX))
    assert manifest.is_intact(path, manifest.read(path))
  summary = write(text, vocab_file, killed_out, num_shards=5)
  assert summary.num_written_shards == 5 - len(finished)
  write(text, vocab_file, out, num_shards=5)
  assert contents(killed_out) == contents(out)


def test_what_killed_processes_left_is_removed(text, vocab_file, out):
  write(text, vocab_file, out + "x")
  others = set(contents(out)) | {".data.tfrecordxy." + "0f" * 16 + ".tmp"}
  folder = os.path.dirname(out)
  for name in (
    *others,
    ".data.tfrecord." + "0f" * 16 + ".tmp",
    "data.tfrecord.manifest.json.tmp-1234",
  ):
    open(os.path.join(folder, name), "a").close()
  write(text, vocab_file, out)
  expected = others | {"data.tfrecord", "data.tfrecord.manifest.json"}
  assert set(contents(out)) == expected


@pytest.fixture(name="full_disk")
def fixture_full_disk():
  """Files cannot grow beyond 20 kB, as if the disk were full."""
  limits = resource.getrlimit(resource.RLIMIT_FSIZE)
  resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
  yield
  resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_full_disk_leaves_nothing_half_written(
  text, vocab_file, out, full_disk
):
  with pytest.raises(OSError, match="data.tfrecord failed: .*free some space"):
    write(text, vocab_file, out)
  assert contents(out) == {}


def test_a_full_disk_keeps_finished_shards(
  text, vocab_file, out, tmp_path, full_disk
):
  few = corpus.write_text(tmp_path, num_documents=2, name="few.txt")
  write(few, vocab_file, out)
  expected = contents(out)
  with pytest.raises(OSError, match="free some space"):
    write(text, vocab_file, out + "2")
  assert contents(out) == expected


def be_killed(unused_task):
  os.kill(os.getpid(), signal.SIGKILL)


def test_a_killed_worker_is_said_to_be_killed(
  text, vocab_file, out, monkeypatch
):
  monkeypatch.setattr(writer, "_write_in_worker", be_killed)
  with pytest.raises(OSError, match="a worker process was killed"):
    write(text, vocab_file, out, num_shards=2, num_workers=2)


WAIT_IN_A_WORKER = """
import concurrent.futures, multiprocessing, time
from tfrecords.writing import writer
if __name__ == "__main__":
  executor = concurrent.futures.ProcessPoolExecutor(
    1, multiprocessing.get_context("spawn"), writer._start_worker, (None,)
  )
  future = executor.submit(time.sleep, 600)
  while not future.running():
    time.sleep(0.1)
  print(*executor._processes, flush=True)
  time.sleep(600)
"""


def test_workers_end_with_their_parent(tmp_path):
  script = tmp_path / "wait_in_a_worker.py"
  script.write_text(WAIT_IN_A_WORKER)
  parent = subprocess.Popen(
    [sys.executable, script], stdout=subprocess.PIPE, text=True
  )
  worker = int(parent.stdout.readline())
  time.sleep(1)
  os.kill(worker, 0)
  parent.kill()
  parent.wait()
  parent.stdout.close()
  for _ in range(300):
    if not is_alive(worker):
      return
    time.sleep(0.1)
  os.kill(worker, signal.SIGKILL)
  pytest.fail("The worker outlived its parent.")


def is_alive(pid):
  try:
    with open(f"/proc/{pid}/stat") as file:
      return file.read().rpartition(")")[2].split()[0] != "Z"
  except FileNotFoundError:
    return False


@pytest.mark.parametrize(
  ("text_content", "changes", "named"),
  [
    ("", {}, "the corpus is empty"),
    (" \n\n \n", {}, "the corpus is empty"),
    ("the dog.\nthe moon.\n", {}, "a single document.*--packing=doc_sentences"),
    ("\u200b\n\n\u200b\n", {}, "there are no instances"),
  ],
)
def test_too_little_text_is_an_error(
  tmp_path, vocab_file, out, text_content, changes, named
):
  path = tmp_path / "little.txt"
  path.write_text(text_content, encoding="utf-8")
  with pytest.raises(ValueError, match=named):
    write(str(path), vocab_file, out, **changes)


def test_a_single_document_without_pairs_is_enough(tmp_path, vocab_file, out):
  path = tmp_path / "single.txt"
  path.write_text("the dog.\nthe moon.")
  summary = write(
    str(path), vocab_file, out, packing="doc_sentences", dupe_factor=1
  )
  assert summary.num_documents == 1
  assert summary.num_tokens == 6 + 2 * summary.num_instances


@pytest.mark.parametrize(
  ("changes", "named"),
  [
    ({"max_seq_length": 4}, "max_seq_length .4. must be in .5,"),
    ({"dupe_factor": 0}, "dupe_factor .0."),
    ({"random_token_prob": 0.5}, "mask_token_prob .0.8. and random_token"),
    ({"short_seq_prob": 1.5}, "short_seq_prob .1.5."),
    ({"masking": "none"}, "masking .'none'. must be one of dynamic, static"),
    ({"packing": "words"}, "packing .'words'. must be one of next_sentence"),
    ({"objective": "gpt"}, "objective .'gpt'. must be one of bert, roberta"),
    ({"masking_policy": "line"}, "masking_policy .'line'. must be one of"),
    ({"masked_lm_prob": 2.0}, "masked_lm_prob .2.0."),
    ({"max_predictions_per_seq": 0}, "max_predictions_per_seq .0."),
    ({"num_workers": 0}, "num_workers .0."),
    ({"num_shards": 0}, "num_shards .0."),
  ],
)
def test_values_out_of_range_are_named(text, vocab_file, out, changes, named):
  with pytest.raises(ValueError, match=named):
    write(text, vocab_file, out, **changes)


def test_the_output_must_be_named_once(text, vocab_file):
  with pytest.raises(ValueError, match="must name each shard once"):
    writer.write_shards(config(vocab_file), [text], ["a", "a"])


def test_progress_reaches_the_size_of_the_text(
  text, vocab_file, out, small_chunks
):
  seen = []
  writer.write_shards(
    config(vocab_file),
    [text],
    writer.shard_paths(out, 2),
    on_progress=lambda done, total: seen.append((done, total)),
  )
  size = os.path.getsize(text)
  assert seen[-1] == (size, size)
  assert len(seen) > 4
  assert np.all(np.diff([done for done, _ in seen]) > 0)
