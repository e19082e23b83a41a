import concurrent.futures
import dataclasses
import functools
import json
import os
import pathlib
import resource
import shutil

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import choices, features, tokenizers
from keras_bert_impl.tokenizers.formats import vocabularies
from keras_bert_impl.training import stopping
from tests.tfrecords import corpus
from tfrecords import manifest, masking_config
from tfrecords.text import documents
from tfrecords.writing import shards, worker_pool, writer, writing_config

CLS, SEP, MASK = 3, 4, 5


@pytest.fixture(name="text", scope="module")
def fixture_text(tmp_path_factory):
  return corpus.write_text(tmp_path_factory.mktemp("text"))


@pytest.fixture(name="written", scope="module")
def fixture_written(text, vocab_file, tmp_path_factory):
  """Callable (**changes) -> (`Summary`, examples), once for each of them."""

  @functools.cache
  def written(**changes):
    # In a folder that has to be made.
    out = str(tmp_path_factory.mktemp("out") / "new" / "data.tfrecord")
    summary = write(text, vocab_file, out, **changes)
    return summary, examples(*summary.files)

  return written


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


def plan(text, vocab_file, out, num_shards=1):
  return writer.plan_shards(
    config(vocab_file),
    vocabularies.Vocabulary.load(vocab_file),
    documents.open_files([text]),
    writer.shard_paths(out, num_shards),
  )


def examples(*paths):
  return [
    tf.train.Example.FromString(record.numpy())
    for record in tf.data.TFRecordDataset(list(paths))
  ]


def ids_of(example, name=features.INPUT_IDS):
  return list(example.features.feature[name].int64_list.value)


def weights_of(example):
  feature = example.features.feature[features.MASKED_LM_WEIGHTS]
  return list(feature.float_list.value)


def predictions_of(example):
  """Returns {position: original id} of the masked tokens."""
  columns = features.MASKED_LM_POSITIONS, features.MASKED_LM_IDS
  positions, originals = (ids_of(example, name) for name in columns)
  rows = zip(positions, originals, weights_of(example))
  return {position: original for position, original, weight in rows if weight}


def contents(out):
  folder = os.path.dirname(out)
  return {
    name: open(os.path.join(folder, name), "rb").read()
    for name in sorted(os.listdir(folder))
  }


# The records.


OWN = (choices.DOCUMENTS, choices.FOLLOWING_SENTENCES)


@pytest.mark.parametrize("packing", OWN)
def test_records_of_full_rows_and_of_two_texts(written, packing):
  summary, found = written(packing=packing)
  assert len(found) == summary.num_instances > 100
  if packing == choices.DOCUMENTS:
    rows = [ids_of(example) for example in found]
    assert np.mean([len(ids) == 48 for ids in rows]) > 0.9
    assert not any(CLS in ids for ids in rows)
    return
  for name in (features.INPUT_IDS, features.TARGET_IDS):
    rows = [ids_of(example, name) for example in found]
    assert all(ids[0] == CLS and ids[-1] == SEP for ids in rows)
    assert {ids.count(SEP) for ids in rows} == {1}


def test_static_noise_is_that_of_the_seed(written):
  _, found = written(objective="bart", masking="static")
  assert found == written(objective="bart", masking="static")[1]
  names = {features.INPUT_IDS, features.TARGET_IDS}
  assert all({*e.features.feature} == names for e in found)
  _, clean = written(objective="bart")
  targets = sorted(ids_of(e, features.TARGET_IDS) for e in found)
  assert targets == sorted(map(ids_of, clean))


@pytest.mark.parametrize(
  "packing", [p for p in choices.PACKINGS if p not in OWN]
)
def test_clean_records_hold_ids_and_the_label_of_pairs(written, packing):
  summary, found = written(packing=packing)
  assert len(found) == summary.num_instances > 100
  has_label = packing in choices.PAIR_PACKINGS
  names = [features.INPUT_IDS, features.NEXT_SENTENCE_LABELS][: 1 + has_label]
  assert all(sorted(e.features.feature) == names for e in found)
  rows = [ids_of(example) for example in found]
  assert all(ids[0] == CLS and ids[-1] == SEP for ids in rows)
  assert max(map(len, rows)) <= 48
  assert sum(map(len, rows)) == summary.num_tokens
  num_separators = {ids.count(SEP) for ids in rows}
  if packing == "full_sentences":  # One more where a document ends.
    assert num_separators >= {1, 2}
  else:
    assert num_separators == {1 + has_label}
  labels = [ids_of(e, features.NEXT_SENTENCE_LABELS) for e in found]
  assert {len(label) for label in labels} == {int(has_label)}
  assert sum(map(sum, labels)) == summary.num_positive


def test_the_folder_of_a_vocabulary_makes_the_records_of_its_file(
  written, text, vocab_file, out
):
  write(text, os.path.dirname(vocab_file), out)
  assert examples(out) == written()[1]


def texts_of(example):
  """Returns the texts of a packed record, tuples of ids."""
  ids = np.array(ids_of(example))
  numbers = np.array(ids_of(example, features.SEQUENCE_IDS))
  assert len(ids) == len(numbers) <= 48
  assert sorted(numbers) == list(numbers)
  return [tuple(ids[numbers == k]) for k in range(1, numbers[-1] + 1)]


@pytest.mark.parametrize("packing", ["doc_sentences", "full_sentences"])
def test_packed_records_hold_the_same_texts(written, packing):
  plain, expected = written(packing=packing)
  packed, found = written(packing=packing, pack_sequences=True)
  texts = [text for example in found for text in texts_of(example)]
  assert sorted(texts) == sorted(tuple(ids_of(e)) for e in expected)
  assert packed.num_instances == plain.num_instances == plain.num_records
  assert packed.num_tokens == plain.num_tokens
  assert packed.num_records == len(found) < plain.num_records
  assert packed.padding_share(48) < plain.padding_share(48)


def test_packed_records_can_be_masked_when_written(written):
  options = dict(objective="spanbert", pack_sequences=True)
  _, found = written(**options, masking="static")
  for masked, clean in zip(found, written(**options)[1], strict=True):
    numbers = ids_of(masked, features.SEQUENCE_IDS)
    mask = ids_of(masked, features.INPUT_MASK)
    assert len(numbers) == 48 and [n > 0 for n in numbers] == [*map(bool, mask)]
    assert numbers[: sum(mask)] == ids_of(clean, features.SEQUENCE_IDS)
    assert sum(weights_of(masked)) <= max(round(0.15 * sum(mask)), 1)


def test_masked_records_are_the_originals_and_change_only_what_they_say(
  written,
):
  _, found = written(masking="static", do_whole_word_mask=True)
  num_masks = 0
  expected = features.masked_record(48, 20)
  for clean, masked in zip(written()[1], found, strict=True):
    columns = masked.features.feature
    assert sorted(columns) == sorted(expected)
    for name, feature in expected.items():
      kind = "int64_list" if feature.dtype == "int64" else "float_list"
      assert columns[name].WhichOneof("kind") == kind
      assert len(getattr(columns[name], kind).value) == feature.shape[0]
    ids = ids_of(masked)
    for position, original in predictions_of(masked).items():
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


def test_the_objective_decides_what_is_not_given():
  def decided(**values):
    made = config("vocab.txt", **values)
    masking = made.masking_values
    return made.packing, *(masking[name] for name in masking_config.NAMES[2:])

  assert decided() == ("next_sentence", "token", 0.8, 0.1)
  assert decided(objective="albert") == ("sentence_order", "ngram", 0.8, 0.1)
  assert decided(objective="electra") == ("doc_sentences", "token", 1.0, 0.0)
  assert decided(do_whole_word_mask=True, objective="albert")[1] == "whole_word"
  given = dict(
    objective="spanbert",
    packing="full_sentences",
    masking_policy="token",
    mask_token_prob=0.0,
  )
  assert decided(**given) == ("full_sentences", "token", 0.0, 0.1)


@pytest.fixture(
  name="other_vocab_file",
  scope="module",
  params=[corpus.write_byte_pairs, corpus.write_sentence_pieces],
)
def fixture_other_vocab_file(request, tmp_path_factory):
  return request.param(tmp_path_factory.mktemp("other_model"))


# Room for the longest word in every record.
FULL = dict(packing="full_sentences", short_seq_prob=0.0, max_seq_length=128)


def test_records_of_other_tokenizers_hold_the_text(
  tmp_path, out, other_vocab_file
):
  path = tmp_path / "one.txt"
  path.write_text("the dog sing.\n\n a moon walks.\nthe play.\nof the dog.\n")
  write(str(path), other_vocab_file, out, dupe_factor=1, **FULL)
  tokenizer = tokenizers.load(other_vocab_file)
  [example] = examples(out)
  cls_id, *ids, sep_id = ids_of(example)
  assert cls_id == tokenizer.vocabulary.cls_id
  assert sep_id == tokenizer.vocabulary.sep_id
  middle = ids.index(sep_id)
  texts = tf.ragged.constant([ids[:middle], ids[middle + 1 :]])
  assert tokenizer.detokenize(texts).numpy().tolist() == [
    b"the dog sing.",
    b"a moon walks. the play. of the dog.",
  ]


def test_words_of_other_tokenizers_are_masked_whole(
  text, out, other_vocab_file
):
  write(
    text,
    other_vocab_file,
    out,
    objective="spanbert",
    masking="static",
    masked_lm_prob=0.3,
    max_predictions_per_seq=40,
    dupe_factor=1,
    **FULL,
  )
  vocabulary = vocabularies.Vocabulary.load(other_vocab_file)
  special = vocabulary.cls_id, vocabulary.sep_id
  num_runs = 0
  for example in examples(out):
    ids, chosen = ids_of(example), predictions_of(example)
    for position, original in chosen.items():
      # Tokens before and after a span are not of its words.
      before, after = ids[position - 1], ids[position + 1]
      if position - 1 not in chosen and before not in special:
        num_runs += 1
        assert not vocabulary.is_continuation[original]
      if position + 1 not in chosen and after not in special:
        assert not vocabulary.is_continuation[after]
  assert num_runs > 100


# Always the same bytes.


@pytest.mark.integration
@pytest.mark.parametrize(
  "changes",
  [
    {"objective": "electra", "pack_sequences": True},
    # Masks, pairs of other chunks.
    pytest.param({"masking": "static"}, marks=pytest.mark.slow),
  ],
)
def test_any_number_of_chunks_and_workers_gives_the_same_bytes(
  text, vocab_file, out, tmp_path, small_chunks, changes
):
  write(text, vocab_file, out, 3, **changes)
  # `small_chunks` does not reach other processes, but the plan is made here.
  other = str(tmp_path / "other" / "data")
  write(text, vocab_file, other, 3, num_workers=2, **changes)
  found = [*contents(other).values()]
  assert found == [*contents(out).values()]
  assert len(found) == 6


def test_every_dupe_is_made_anew_and_the_seed_matters(written):
  def records(**changes):
    return [tuple(ids_of(example)) for example in written(**changes)[1]]

  once, thrice = records(dupe_factor=1), records(dupe_factor=3)
  assert len(thrice) == pytest.approx(3 * len(once), rel=0.1)
  assert set(once) < set(thrice)
  assert len(set(thrice)) > 2.5 * len(once)
  assert set(records(dupe_factor=1, random_seed=1)) != set(once)


def test_all_documents_give_instances_in_many_shards(
  written, text, vocab_file, out, small_chunks
):
  one, _ = written()
  many = write(text, vocab_file, out, num_shards=7)
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


# Starting again.


def test_finished_shards_are_left_alone(text, vocab_file, out):
  first = write(text, vocab_file, out, num_shards=3)
  paths = first.files
  os.remove(manifest.path_of(paths[1]))
  before = [os.stat(path).st_mtime_ns for path in paths]
  second = write(text, vocab_file, out, num_shards=3)
  after = [os.stat(path).st_mtime_ns for path in paths]
  same = [a == b for a, b in zip(before, after, strict=True)]
  assert same == [True, False, True]
  assert (first.num_written_shards, second.num_written_shards) == (3, 1)
  changed = dict(num_written_shards=1, num_written_bytes=0, seconds=0)
  assert dataclasses.replace(first, **changed) == dataclasses.replace(
    second, **changed
  )


def test_a_damaged_shard_is_written_anew(text, vocab_file, out, caplog):
  write(text, vocab_file, out)
  expected = contents(out)
  with open(out, "r+b") as file:
    file.seek(100)
    file.write(b"damage")
  write(text, vocab_file, out)
  assert contents(out) == expected
  assert "does not match its manifest" in caplog.text


def test_the_manifest_tells_what_the_shard_holds(written, vocab_file):
  summary, _ = written()
  [path] = summary.files
  with open(manifest.path_of(path)) as file:
    content = json.load(file)
  assert content["num_records"] == summary.num_instances
  assert content["num_documents"] == 60
  assert content["num_bytes"] == os.path.getsize(path)
  assert content["origin"]["max_seq_length"] == 48
  fingerprint = vocabularies.Vocabulary.load(vocab_file).fingerprint
  assert content["origin"]["vocab_file_hash"] == fingerprint


@pytest.mark.parametrize("content", ["[]", '{"format_version": 1}'])
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
    ({"num_shards": 2}, "num_shards=3, not 2"),
  ],
)
def test_another_configuration_in_the_same_output_is_an_error(
  written, text, vocab_file, changes, named
):
  path = written(num_shards=3)[0].files[0].removesuffix("-00000-of-00003")
  expected = contents(path)
  with pytest.raises(ValueError, match=named):
    write(text, vocab_file, path, **({"num_shards": 3} | changes))
  assert contents(path) == expected


def test_another_text_or_vocabulary_is_an_error(
  text, vocab_file, out, tmp_path
):
  text = shutil.copy(text, tmp_path)
  vocab_file = shutil.copy(vocab_file, tmp_path)

  def add(line, path):
    with open(path, "a") as file:
      file.write(f"{line}\n")

  [task] = plan(text, vocab_file, out)
  add("more", vocab_file)
  with pytest.raises(ValueError, match="vocab.txt. has changed"):
    shards.write_shard(task)
  assert contents(out) == {}
  write(text, vocab_file, out)
  add("still_more", vocab_file)
  with pytest.raises(ValueError, match="vocab_file_hash"):
    write(text, vocab_file, out)
  add("the moon.", text)
  with pytest.raises(ValueError, match="input_files_hash"):
    write(text, vocab_file, out)


def test_clean_records_keep_how_they_are_to_be_masked(text, vocab_file, out):
  chosen = dict(masked_lm_prob=0.3, mask_token_prob=1, random_token_prob=0.0)
  write(text, vocab_file, out, **chosen, do_whole_word_mask=True)
  origin = manifest.read(out)["origin"]
  flags = masking_config.MaskingConfig()
  assert masking_config.agreed(flags, "bert", {out: origin}) == chosen | {
    "max_predictions_per_seq": 20,
    "masking_policy": "whole_word",
  }
  assert "max_predictions_per_seq" not in origin  # It is left open.
  with pytest.raises(ValueError, match="with mask_token_prob=1, not None"):
    write(text, vocab_file, out)
  # Two names of one policy.
  again = write(text, vocab_file, out, **chosen, masking_policy="whole_word")
  assert again.num_written_shards == 0


def test_masks_that_are_left_open_are_not_kept(written):
  [path] = written(objective="left_to_right")[0].files
  origin = manifest.read(path)["origin"]
  assert not origin.keys() & set(masking_config.NAMES)


def test_broken_off_and_started_again_gives_the_same_shards(
  text, vocab_file, out, tmp_path, small_chunks
):
  def break_off(done, unused_total):
    if done > 9000:
      raise KeyboardInterrupt

  other = str(tmp_path / "other" / "data.tfrecord")
  with pytest.raises(KeyboardInterrupt):
    writer.write_shards(
      config(vocab_file),
      [text],
      writer.shard_paths(other, 5),
      on_progress=break_off,
    )
  num_finished = len(contents(other)) // 2
  assert 0 < num_finished < 5
  summary = write(text, vocab_file, other, num_shards=5)
  assert summary.num_written_shards == 5 - num_finished
  write(text, vocab_file, out, num_shards=5)
  assert contents(other) == contents(out)


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


def test_a_full_disk_keeps_finished_shards_and_nothing_half_written(
  text, vocab_file, out, tmp_path
):
  few = corpus.write_text(tmp_path, num_documents=2, name="few.txt")
  write(few, vocab_file, out)
  expected = contents(out)
  limits = resource.getrlimit(resource.RLIMIT_FSIZE)
  resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
  try:
    with pytest.raises(OSError, match="record2 failed: .*ulimit -f"):
      write(text, vocab_file, out + "2")
  finally:
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)
  assert contents(out) == expected


# Workers.


@pytest.mark.parametrize(
  ("error", "raised", "message"),
  [
    (
      concurrent.futures.process.BrokenProcessPool(),
      OSError,
      r"a worker process was killed.*num_workers \(2",
    ),
    (KeyboardInterrupt(), KeyboardInterrupt, ""),
  ],
)
def test_workers_that_are_killed_or_stopped_leave_nothing(
  text, vocab_file, out, monkeypatch, error, raised, message
):
  class Workers(concurrent.futures.Executor):
    def __init__(self, *unused):
      pass

    def submit(self, call, function, task):
      pathlib.Path(shards.temporary_path(task.path)).touch()
      future = concurrent.futures.Future()
      future.set_exception(error)
      return future

  monkeypatch.setattr(concurrent.futures, "ProcessPoolExecutor", Workers)
  with pytest.raises(raised, match=message):
    write(text, vocab_file, out, num_shards=2, num_workers=2)
  assert contents(out) == {}


def test_a_worker_is_prepared_and_ends_with_its_parent(monkeypatch):
  called = []
  for module, name in (shards, "prepare_worker"), (stopping, "end_with_parent"):
    monkeypatch.setattr(module, name, functools.partial(called.append, name))
  worker_pool._start_worker(None)
  assert called == ["prepare_worker", "end_with_parent"]


# Wrong input.


@pytest.mark.parametrize(
  ("text_content", "named"),
  [
    ("", "the corpus is empty"),
    (" \n\n \n", "the corpus is empty"),
    ("the dog.\nthe moon.\n", "a single document.*--packing=doc_sentences"),
    ("\u200b\n\n\u200b\n", "there are no instances"),
  ],
)
def test_too_little_text_is_an_error(
  tmp_path, vocab_file, out, text_content, named
):
  path = tmp_path / "little.txt"
  path.write_text(text_content, encoding="utf-8")
  with pytest.raises(ValueError, match=named):
    write(str(path), vocab_file, out)


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
    ({"random_token_prob": 0.5}, "mask_token_prob .0.8. and random_token"),
    ({"objective": "gpt3"}, "objective .'gpt3'. must be one of bert, roberta"),
    (
      {"objective": "left_to_right", "masking": "static"},
      "'left_to_right' masks nothing",
    ),
    ({"pack_sequences": True}, "pack_sequences needs texts"),
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
