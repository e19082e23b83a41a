import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest
import tensorflow as tf

from tests.official_tasks import scripts
from tests.tfrecords import corpus
from tfrecords.reading import scan

pytestmark = pytest.mark.integration

DATA = os.environ.get("KERAS_BERT_DATA")


@pytest.fixture(name="vocab_file", scope="module")
def fixture_vocab_file(tmp_path_factory):
  return corpus.write_vocabulary(tmp_path_factory.mktemp("model"))


@pytest.fixture(name="text", scope="module")
def fixture_text(tmp_path_factory):
  return corpus.write_text(tmp_path_factory.mktemp("text"))


def create(**flags):
  return scripts.run("create_pretraining_data", **flags)


def test_the_command_of_the_original_writes_records(text, vocab_file, tmp_path):
  output_file = tmp_path / "tf_examples.tfrecord"
  flags = dict(
    input_file=text,
    output_file=output_file,
    vocab_file=vocab_file,
    do_lower_case=True,
    max_seq_length=64,
    max_predictions_per_seq=10,
    masked_lm_prob=0.15,
    random_seed=12345,
    dupe_factor=5,
  )
  status, out, err = create(**flags)
  assert status == 0, err
  assert "Random next sentences" in out
  assert err.count("*** Example ***") == 3
  assert "tokens: [CLS] " in err
  assert "next_sentence_labels: " in err

  results = json.loads((tmp_path / "tf_examples.results.json").read_text())
  num_records = sum(1 for _ in tf.data.TFRecordDataset(str(output_file)))
  assert results["data"]["num_documents"] == 60
  assert results["data"]["num_instances"] == num_records
  assert 0.48 < results["data"]["next_sentence_random_share"] < 0.52
  assert results["config"]["dupe_factor"] == 5
  assert results["artifacts"]["tfrecords"] == [str(output_file)]
  # Nothing but the shard goes by its name.
  assert scan.list_files(f"{output_file}*") == [str(output_file)]

  status, out, err = create(**flags, num_workers=2)
  assert status == 0, err
  assert "0, 1" in out  # shards written, finished before


# {name: changes of the flags}; {} is the folder.
RUNS = {
  "lists": {
    "input_file": "{}/text.txt,{}/more.txt",
    "output_file": "{}/a.tfrecord,{}/b.tfrecord",
  },
  "unknown": {"input_file": "{}/mostly_korean.txt"},
  "unknown allowed": {
    "input_file": "{}/mostly_korean.txt",
    "output_file": "{}/unknown",
    "max_unknown_share": 1,
  },
}
# {name: changes of the flags, words of the error}.
CASES = {
  "missing vocabulary": (
    {"vocab_file": "{}/no.txt"},
    ["vocab_file", "no.txt"],
  ),
  "vocabulary without [MASK]": (
    {"vocab_file": "{}/no_mask.txt"},
    ["no_mask.txt has no [MASK]"],
  ),
  "option of another tokenizer": (
    {"vocab_file": "{}/vocab.json", "do_lower_case": True},
    ["do_lower_case is no option", "vocab.json", "add_prefix_space"],
  ),
  "shards of several files": (
    {"output_file": "{}/a,{}/b", "num_shards": 2},
    ["num_shards (2) needs a single output_file"],
  ),
  "no workers": ({"num_workers": 0}, ["num_workers (0) must be in [1, 1024]"]),
  "workers of a runner": (
    {"num_workers": 2, "runner": "DirectRunner"},
    ["num_workers (2)", "pipeline_options", "--direct_num_workers"],
  ),
  "options without a runner": (
    {"pipeline_options": "--parallelism=2"},
    ["pipeline_options (--parallelism=2)", "need a runner"],
  ),
  "text of another vocabulary": (
    {"input_file": "{}/korean.txt"},
    ["max_unknown_share (0.5)", "vocab.txt does not fit"],
  ),
  "unknown objective": ({"objective": "gpt-3"}, ["objective", "albert"]),
  "unknown packing": ({"packing": "words"}, ["packing", "full_sentences"]),
  "unknown masking": ({"masking": "both"}, ["masking", "static"]),
}
_OF_FLAGS = [name for name in CASES if name.startswith("unknown")]


@pytest.fixture(name="outcomes", scope="module")
def fixture_outcomes(vocab_file, tmp_path_factory):
  """Folder, and {run or case: (exit status, stderr)}."""
  folder = tmp_path_factory.mktemp("runs")
  corpus.write_text(folder)
  corpus.write_text(folder, seed=2, name="more.txt")
  (folder / "korean.txt").write_text("나무가 있다.\n\n집이 있다.\n")
  # More than the 1,000 sentences that are looked at first.
  known = "the dog.\n" * 1100
  mostly_korean = f"{known}\n" + "나무 집 " * 9000 + "\n"
  (folder / "mostly_korean.txt").write_text(mostly_korean)
  corpus.write_byte_pairs(folder)
  tokens = pathlib.Path(vocab_file).read_text()
  (folder / "no_mask.txt").write_text(tokens.replace("[MASK]", "[unused2]"))

  def command(changes, **others):
    usual = {
      "input_file": "{}/text.txt",
      "vocab_file": vocab_file,
      "masking": "static",
      "do_whole_word_mask": True,
      "dupe_factor": 1,
      "num_workers": 1,
    }
    values = usual | others | changes
    return {k: str(v).replace("{}", str(folder)) for k, v in values.items()}

  right = [command(RUNS[n], output_file=f"{{}}/{n}") for n in RUNS]
  wrong = [command(c, output_file="{}/none/data") for c, _ in CASES.values()]
  outcomes = scripts.run_each("create_pretraining_data", right + wrong)
  assert not (folder / "none").exists()
  return folder, dict(zip([*RUNS, *CASES], outcomes, strict=True))


@pytest.fixture(name="results_of", scope="module")
def fixture_results_of(outcomes):
  """Callable (run) -> content of its results.json."""
  folder, statuses = outcomes

  def results_of(name, file=None):
    status, err = statuses[name]
    assert status == 0, err
    return scripts.results(folder, f"{file or name}.results.json")

  return results_of


def test_several_outputs_and_inputs_are_lists(results_of):
  results = results_of("lists", "a")
  assert results["data"]["num_documents"] == 120
  assert len(results["artifacts"]["tfrecords"]) == 2
  assert all(map(os.path.getsize, results["artifacts"]["tfrecords"]))


@pytest.mark.parametrize("case", CASES)
def test_one_line_names_what_is_wrong(outcomes, case):
  status, err = outcomes[1][case]
  assert status == (2 if case in _OF_FLAGS else 1), err
  line = scripts.error_line(err)
  for word in CASES[case][1]:
    assert word in line


def test_a_text_that_becomes_unknown_is_taken_if_that_is_allowed(
  outcomes, results_of
):
  status, err = outcomes[1]["unknown"]
  assert status == 1
  line = scripts.error_line(err)
  assert re.search(r"8\d.\d% of the text is \[UNK\]", line)
  assert "--max_unknown_share=1" in line
  assert results_of("unknown allowed", "unknown")["data"]["unknown_share"] > 0.8


needs_data = pytest.mark.skipif(not DATA, reason="KERAS_BERT_DATA is not set")


@needs_data
@pytest.mark.slow
@pytest.mark.parametrize(
  ("text_name", "vocabulary", "flags"),
  [
    ("gutenberg", "google_uncased", {}),
    ("korean/rust_book_ko.txt", "koelectra", {"do_lower_case": False}),
    ("google_bert_sample_text.txt", "google_cased", {"do_lower_case": False}),
  ],
)
def test_published_text_is_read_as_it_is(
  text_name, vocabulary, flags, tmp_path
):
  status, _, err = create(
    input_file=os.path.join(DATA, "text", text_name),
    output_file=tmp_path / "data.tfrecord",
    vocab_file=os.path.join(DATA, "vocab", vocabulary, "vocab.txt"),
    dupe_factor=20 if "sample" in text_name else 1,
    **flags,
  )
  assert status == 0, err
  data = json.loads((tmp_path / "data.results.json").read_text())["data"]
  assert 0.49 <= data["next_sentence_random_share"] <= 0.51
  assert data["unknown_share"] < 0.01
  assert data["num_documents"] >= 3


def children_of(process):
  tasks = pathlib.Path(f"/proc/{process.pid}/task")
  return tasks.joinpath(f"{process.pid}/children").read_text().split()


# Real processes, which the test of `writer` replaces.
@pytest.mark.slow
@pytest.mark.parametrize(
  "has_begun",
  [
    # The resource tracker and two workers, which still import modules.
    pytest.param(
      lambda process, out: len(children_of(process)) >= 3,
      marks=pytest.mark.skipif(
        not sys.platform.startswith("linux"), reason="reads /proc"
      ),
    ),
    lambda process, out: len([*out.glob(".data.tfrecord-*")]) == 2,
  ],
  ids=["starting", "writing"],
)
def test_ctrl_c_leaves_nothing_half_written_and_no_worker(
  has_begun, vocab_file, tmp_path
):
  text = corpus.write_text(tmp_path, num_documents=4000)
  out = tmp_path / "out"
  process = subprocess.Popen(
    scripts.command(
      "create_pretraining_data",
      input_file=text,
      output_file=out / "data.tfrecord",
      vocab_file=vocab_file,
      num_shards=2,
      num_workers=2,
      dupe_factor=10**4,  # No shard is finished when Ctrl-C comes.
    ),
    stdout=subprocess.PIPE,
    stderr=subprocess.PIPE,
    text=True,
    start_new_session=True,
  )
  while not has_begun(process, out):
    assert process.poll() is None
    time.sleep(0.05)
  # To all processes, as the terminal does.
  os.killpg(process.pid, signal.SIGINT)
  _, err = process.communicate()  # Ends when no process holds stderr any more.
  assert process.returncode == 75
  assert err.splitlines()[-1] == "Stopped: SIGINT; the same command continues."
  assert "Traceback" not in err
  assert not out.exists() or os.listdir(out) == []


WRITE_AND_MEASURE = """
import resource, sys
from tfrecords.writing import writing_config, writer
text, vocab_file, out = sys.argv[1:]
config = writing_config.PretrainingDataConfig(vocab_file, dupe_factor=1)
writer.write_shards(config, [text], [out])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


@needs_data
@pytest.mark.acceptance
def test_memory_does_not_grow_with_the_corpus(tmp_path):
  books = pathlib.Path(DATA, "text", "gutenberg").iterdir()
  whole = b"".join(sorted(book.read_bytes() for book in books))
  # Chapters as documents, without the licences' marks: one file, any size.
  whole = (
    whole.replace(b"\r", b"").replace(b"***", b"").replace(b"\xef\xbb\xbf", b"")
  )
  peaks = {}
  for megabytes in (20, 200):
    text = tmp_path / f"{megabytes}.txt"
    with open(text, "wb") as file:
      while file.tell() < megabytes * 1e6:
        file.write(whole)
    process = subprocess.run(
      [
        sys.executable,
        "-c",
        WRITE_AND_MEASURE,
        text,
        os.path.join(DATA, "vocab", "google_uncased", "vocab.txt"),
        tmp_path / f"{megabytes}.tfrecord",
      ],
      capture_output=True,
      text=True,
      check=True,
    )
    text.unlink()
    peaks[megabytes] = int(process.stdout.splitlines()[-1])
  assert peaks[200] < 1.1 * peaks[20], peaks
