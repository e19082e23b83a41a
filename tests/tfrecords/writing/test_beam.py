import functools
import os
import pathlib
import signal
import sys
import time

import psutil
import pytest

from keras_bert_impl.tokenizers.formats import tokenizer_options
from keras_bert_impl.tokenizers.learning import (
  sentence_piece_learner,
  wordpiece_learner,
)
from tests.official_tasks import scripts
from tests.tfrecords import corpus
from tfrecords import manifest
from tfrecords.text import documents, sources
from tfrecords.writing import beam_runner, writer, writing_config

TWO_WORKERS = "--direct_num_workers=2 --direct_running_mode=multi_processing"
# The DirectRunner of Beam without the attempt to download another one.
LOCAL = writing_config.BeamConfig("FnApiRunner")


@pytest.fixture(name="beam", scope="module")
def fixture_beam():
  return pytest.importorskip("apache_beam")


@pytest.fixture(name="text", scope="module")
def fixture_text(tmp_path_factory):
  return corpus.write_text(tmp_path_factory.mktemp("text"), num_documents=900)


def contents(folder):
  return {
    path.name: path.read_bytes()
    for path in sorted(folder.iterdir())
    if not path.name.endswith(".results.json")
  }


def write(text, vocab_file, folder, config=None, **changes):
  values = dict(max_seq_length=48, dupe_factor=2) | changes
  return writer.write_shards(
    writing_config.PretrainingDataConfig(vocab_file, **values),
    [text],
    writer.shard_paths(str(folder / "data"), 4),
    beam=config,
  )


@pytest.mark.parametrize(
  "changes",
  [{}, {"objective": "spanbert", "masking": "static"}],
  ids=["default", "spanbert static"],
)
def test_two_workers_write_the_bytes_of_one_process(
  beam, text, vocab_file, tmp_path, monkeypatch, changes
):
  monkeypatch.setattr(writer, "_CHUNK_BYTES", 20_000)
  expected = write(text, vocab_file, tmp_path / "here", **changes)
  config = writing_config.BeamConfig("DirectRunner", TWO_WORKERS)
  found = write(text, vocab_file, tmp_path / "beam", config, **changes)
  assert contents(tmp_path / "beam") == contents(tmp_path / "here")
  assert len(contents(tmp_path / "beam")) == 8
  assert found.num_instances == expected.num_instances
  assert found.num_written_shards == 4


def test_only_what_is_unfinished_is_written(beam, text, vocab_file, tmp_path):
  write(text, vocab_file, tmp_path)
  expected = contents(tmp_path)
  path = tmp_path / "data-00002-of-00004"
  pathlib.Path(manifest.path_of(str(path))).unlink()
  # What a killed worker leaves.
  (tmp_path / f".{path.name}.{'0f' * 16}.tmp").touch()
  assert write(text, vocab_file, tmp_path, LOCAL).num_written_shards == 1
  assert contents(tmp_path) == expected
  assert write(text, vocab_file, tmp_path, LOCAL).num_written_shards == 0


def command_of(text, vocab_file, folder):
  return dict(
    input_file=text,
    vocab_file=vocab_file,
    output_file=folder / "data",
    num_shards=8,
    dupe_factor=20,
    num_shown=0,
  )


def kill_tree(process):
  family = [process, *process.children(recursive=True)]
  for member in family:
    member.send_signal(signal.SIGKILL)
  psutil.wait_procs(family, timeout=60)
  return len(family)


def test_killed_and_started_again_gives_the_same_shards(
  beam, text, vocab_file, tmp_path
):
  flags = command_of(text, vocab_file, tmp_path / "beam")
  flags |= dict(runner="DirectRunner", pipeline_options=TWO_WORKERS)
  process = scripts.start("create_pretraining_data", **flags)
  deadline = time.monotonic() + 300
  while not list((tmp_path / "beam").glob(f"*{manifest.SUFFIX}")):
    assert process.poll() is None and time.monotonic() < deadline
    time.sleep(0.01)
  assert kill_tree(psutil.Process(process.pid)) >= 3
  process.communicate()
  finished = list((tmp_path / "beam").glob(f"*{manifest.SUFFIX}"))
  assert 0 < len(finished) < 8

  status, out, err = scripts.run("create_pretraining_data", **flags)
  assert status == 0, err
  assert f"{8 - len(finished)}, {len(finished)}" in out

  flags = command_of(text, vocab_file, tmp_path / "here")
  status, _, err = scripts.run("create_pretraining_data", **flags)
  assert status == 0, err
  assert contents(tmp_path / "beam") == contents(tmp_path / "here")


def test_a_failing_worker_gives_one_line_and_the_others_go_on(
  beam, text, vocab_file, tmp_path
):
  flags = command_of(text, vocab_file, tmp_path)
  flags |= dict(runner="FnApiRunner", pipeline_options=TWO_WORKERS)
  in_the_way = tmp_path / "data-00003-of-00008"
  in_the_way.mkdir()
  status, _, err = scripts.run("create_pretraining_data", **flags)
  assert status == 1
  line = scripts.error_line(err)
  assert f"writing {in_the_way} failed" in line
  assert "run the same command again" in line
  assert len(list(tmp_path.glob(f"*{manifest.SUFFIX}"))) == 7
  assert not list(tmp_path.glob(".*"))


def test_a_pipeline_that_fails_is_named(beam, text, tmp_path):
  def fail(unused_texts):
    raise ZeroDivisionError("division by zero")

  with pytest.raises(OSError, match="on FnApiRunner failed: .*by zero"):
    beam_runner.count_words(
      documents.open_chunks([text]), fail, str(tmp_path / "vocab"), LOCAL
    )
  assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("learner", ["wordpiece", "sentencepiece"])
def test_counted_words_give_the_same_vocabulary(
  beam, text, tmp_path, monkeypatch, learner
):
  monkeypatch.setattr(documents, "_CHUNK_BYTES", 20_000)
  chunks = documents.open_chunks([text])
  assert len(chunks) > 4
  sentences = [s for d in sources.iter_documents([text]) for s in d]
  vocab_file = str(tmp_path / "model" / "vocab")
  found = []

  def count(chunks, options):
    counts = beam_runner.count_words(
      chunks,
      functools.partial(module.count_words, options=options),
      vocab_file,
      writing_config.BeamConfig("DirectRunner", TWO_WORKERS),
    )
    found.append(counts)
    return counts.words

  if learner == "wordpiece":
    module = wordpiece_learner
    expected = module.learn(sentences, 120)
    assert module.learn(chunks, 120, count=count) == expected
  else:
    module = sentence_piece_learner
    options = tokenizer_options.SentencePieceOptions(do_lower_case=True)
    expected = module.learn(sentences, 70, options, "bpe")
    learned = module.learn(chunks, 70, options, "bpe", count=count)
    assert learned.model == expected.model
  [counts] = found
  assert counts.num_documents == 900
  assert counts.num_sentences == len(sentences)
  assert os.listdir(tmp_path / "model") == []


def test_the_script_learns_the_same_vocabulary(beam, text, tmp_path):
  flags = dict(input_file=text, vocab_size=150)
  for folder, more in [("here", {}), ("beam", dict(runner="FnApiRunner"))]:
    vocab_file = tmp_path / folder / "vocab.txt"
    status, _, err = scripts.run(
      "train_vocabulary", vocab_file=vocab_file, **flags, **more
    )
    assert status == 0, err
  assert contents(tmp_path / "beam") == contents(tmp_path / "here")
  for name in ("data", "vocabulary"):
    [a, b] = [
      scripts.results(tmp_path / folder, "vocab.txt.results.json")[name]
      for folder in ("here", "beam")
    ]
    assert a == b


def make_text(folder, index):
  """Makes the text of an example, and shows which process did."""
  pathlib.Path(folder, f"process-{os.getpid()}").touch()
  return index, {"text": f"the dog {'sings ' * index}.\nthe moon walks."}


def test_data_sets_are_generated_by_the_runner(
  beam, vocab_file, tmp_path, monkeypatch
):
  tfds = pytest.importorskip("tensorflow_datasets")

  class TinyBeamArticles(tfds.core.GeneratorBasedBuilder):
    VERSION = tfds.core.Version("1.0.0")

    def _info(self):
      return self.dataset_info_from_configs(
        features=tfds.features.FeaturesDict({"text": tfds.features.Text()})
      )

    def _split_generators(self, dl_manager):
      return {"train": self._generate_examples()}

    def _generate_examples(self):
      make = functools.partial(make_text, str(tmp_path))
      return beam.Create(range(50)) | beam.Map(make)

  def write_all(name, config=None):
    (tmp_path / name).mkdir()
    source = f"tfds:tiny_beam_articles?data_dir={tmp_path / name / 'prepared'}"
    write(source, vocab_file, tmp_path / name / "out", config)
    processes = {path.name for path in tmp_path.glob("process-*")}
    for process in processes:
      (tmp_path / process).unlink()
    shards_of = sorted((tmp_path / name / "out").glob("data-*"))
    return processes, [
      path.read_bytes()
      for path in shards_of
      if not path.name.endswith(manifest.SUFFIX)
    ]

  here, expected = write_all("here")
  assert here == {f"process-{os.getpid()}"}
  elsewhere, found = write_all(
    "beam", writing_config.BeamConfig("FnApiRunner", TWO_WORKERS)
  )
  assert elsewhere and elsewhere.isdisjoint(here)
  assert found == expected


@pytest.mark.parametrize(
  ("config", "message"),
  [
    (("NoRunner",), r"runner \(NoRunner\) .*Unexpected pipeline runner"),
    (("DirectRunner", "--direct_num_workers=a"), "invalid int value: 'a'"),
    (("DirectRunner", "'"), "No closing quotation"),
  ],
)
def test_wrong_runners_and_options_are_named(
  beam, text, vocab_file, tmp_path, config, message
):
  config = writing_config.BeamConfig(*config)
  with pytest.raises(ValueError, match=message):
    write(text, vocab_file, tmp_path / "out", config)
  assert not (tmp_path / "out").exists()


def test_without_apache_beam_it_is_asked_for(
  text, vocab_file, tmp_path, monkeypatch
):
  monkeypatch.setitem(sys.modules, "apache_beam", None)
  config = writing_config.BeamConfig("DirectRunner")
  with pytest.raises(ValueError, match=r"'keras-bert-impl\[beam\]'"):
    write(text, vocab_file, tmp_path / "out", config)
  assert not (tmp_path / "out").exists()
