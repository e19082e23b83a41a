"""A corpus of a gigabyte: vocabulary, records, reading; time, memory, disk.

  python benchmarks/corpus_benchmark.py --text_folder=gutenberg \
    --work_dir=/tmp/corpus --megabytes=1000

The text is made of the books in the folder: their paragraphs in random order,
with some words exchanged for others of the books, drawn as often as they occur
there, so that no two copies are the same and rare words stay rare. It is in
files of 50 MB, a document every thirty paragraphs.

Each step runs as the script does it, in processes of its own. Printed are wall
and CPU seconds, MB of text per CPU second, the largest memory of any process
and the size of what was written. At a tenth of the text first: what stays the
same does not grow with it. The work folder is kept, and what is in it is not
made again.
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import collections  # noqa: E402
import pathlib  # noqa: E402
import random  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402

import psutil  # noqa: E402
from absl import app, flags  # noqa: E402

flags.DEFINE_string("text_folder", None, "Books, *.txt.", required=True)
flags.DEFINE_string("work_dir", None, "What is made.", required=True)
flags.DEFINE_integer("megabytes", 1000, "Size of the text, 10**6 bytes.")
flags.DEFINE_integer("vocab_size", 30000, "Tokens of the vocabulary.")
flags.DEFINE_integer("num_workers", os.cpu_count(), "Processes that prepare.")
flags.DEFINE_integer("num_shards", 16, "Files of records.")
flags.DEFINE_integer("max_seq_length", 128, "Tokens per instance.")
flags.DEFINE_string("read", None, "Records, for the benchmark's own use.")

FLAGS = flags.FLAGS
ROOT = pathlib.Path(__file__).parents[1]
_FILE_BYTES = 50_000_000
_PARAGRAPHS_PER_DOCUMENT = 30
_EXCHANGED = 0.05  # of the words
_BATCH_SIZE = 256


def main(unused_argv):
  """Prints a line for each step of each size."""
  if FLAGS.read:
    _read(FLAGS.read)
    return
  print(
    f"{'MB':>6} {'step':12} {'wall s':>8} {'CPU s':>8} {'MB/CPU s':>9}"
    f" {'peak MB':>8} {'on disk MB':>11}"
  )
  for megabytes in (FLAGS.megabytes // 10, FLAGS.megabytes):
    folder = pathlib.Path(FLAGS.work_dir) / str(megabytes)
    _write_text(folder / "text", megabytes)
    for name, arguments, written in _steps(folder):
      wall, cpu, peak, out = _measure(arguments)
      on_disk = sum(path.stat().st_size for path in folder.glob(written))
      print(
        f"{megabytes:6} {name:12} {wall:8.1f} {cpu:8.1f}"
        f" {megabytes / cpu:9.2f} {peak / 1e6:8.0f} {on_disk / 1e6:11.1f}"
        + (f"  {out}" if name == "reading" else ""),
        flush=True,
      )


def _steps(folder):
  """Yields (name, command, pattern of what it writes)."""
  text, vocab_file = f"{folder}/text/*.txt", f"{folder}/vocab.txt"
  yield (
    "vocabulary",
    _script(
      "train_vocabulary",
      input_file=text,
      input_format="sentences",
      vocab_file=vocab_file,
      vocab_size=FLAGS.vocab_size,
    ),
    "vocab.txt",
  )
  for path in folder.glob("part-*"):
    path.unlink()
  yield (
    "records",
    _script(
      "create_pretraining_data",
      input_file=text,
      input_format="sentences",
      output_file=f"{folder}/part",
      vocab_file=vocab_file,
      max_seq_length=FLAGS.max_seq_length,
      dupe_factor=1,
      num_shards=FLAGS.num_shards,
      num_workers=FLAGS.num_workers,
      num_shown=0,
    ),
    f"part-*-of-{FLAGS.num_shards:05d}",
  )
  yield (
    "reading",
    [
      *(sys.executable, __file__, f"--read={folder}/part-*"),
      *(f"--text_folder={folder}", f"--work_dir={folder}"),
      f"--max_seq_length={FLAGS.max_seq_length}",
    ],
    "nothing",
  )


def _script(name, **values):
  return [
    sys.executable,
    str(ROOT / "official_tasks" / f"{name}.py"),
    *(f"--{key}={value}" for key, value in values.items()),
  ]


def _measure(arguments):
  """Runs a command.

  Returns:
    wall s, CPU s, the most bytes of one process, the last line it printed.
  """
  before = os.times()
  started = time.monotonic()
  process = psutil.Popen(
    arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
  )
  peak = 0
  while True:
    try:
      out, err = process.communicate(timeout=0.5)
      break
    except subprocess.TimeoutExpired:
      peak = max(peak, *_sizes(process))
  wall = time.monotonic() - started
  if process.returncode:
    sys.exit(f"{arguments[1]} failed: {err}")
  after = os.times()
  cpu = (after.children_user + after.children_system) - (
    before.children_user + before.children_system
  )
  return wall, cpu, peak, out.strip().rpartition("\n")[2]


def _sizes(process):
  """Yields the resident bytes of a process and those it has started."""
  yield 0
  try:
    for one in (process, *process.children(recursive=True)):
      yield one.memory_info().rss
  except psutil.NoSuchProcess:
    return


def _write_text(folder, megabytes):
  """Writes the text, if it is not there; a size is made of the same books."""
  if folder.exists():
    return
  temporary = folder.with_name("text.tmp")
  temporary.mkdir(parents=True, exist_ok=True)
  paragraphs = [
    " ".join(paragraph.split())
    for path in sorted(pathlib.Path(FLAGS.text_folder).glob("*.txt"))
    for paragraph in path.read_text("utf-8-sig").split("\n\n")
    if paragraph.strip()
  ]
  counts = collections.Counter(w for p in paragraphs for w in p.split())
  rng = random.Random(1)
  others = rng.choices(list(counts), list(counts.values()), k=1_000_000)
  number, left = 0, megabytes * 10**6
  while left > 0:
    size = 0
    with open(temporary / f"{number:05d}.txt", "w", encoding="utf-8") as file:
      while size < min(_FILE_BYTES, left):
        for _ in range(_PARAGRAPHS_PER_DOCUMENT):
          words = rng.choice(paragraphs).split()
          for _ in range(int(len(words) * _EXCHANGED)):
            words[rng.randrange(len(words))] = rng.choice(others)
          # A sentence a line, as near as full stops tell.
          text = " ".join(words).replace(". ", ".\n") + "\n"
          file.write(text)
          size += len(text.encode())
        file.write("\n")
    number, left = number + 1, left - size
  temporary.rename(folder)


def _read(pattern):
  """Reads one epoch of records, as training does, masked by token."""
  from keras_bert_impl.tasks.masking import masking
  from keras_bert_impl.tokenizers.formats import vocabularies
  from tfrecords import manifest
  from tfrecords.reading import lanes, reader, record_parsing, scan

  files = scan.list_files(pattern)
  tokens = vocabularies.Vocabulary.load(
    os.path.join(os.path.dirname(files[0]), "vocab.txt")
  )
  limits = record_parsing.Limits(FLAGS.max_seq_length, 20, tokens.size)
  manifests = {file: manifest.read(file) for file in files}
  records = scan.open_records(manifests, limits)
  mask = masking.Masking(tokens, FLAGS.max_seq_length, 20)
  started = time.monotonic()
  number = 0
  for batch in reader.make_dataset(
    records, mask, _BATCH_SIZE, lanes.Order(1, num_epochs=1)
  ):
    number += len(batch["input_ids"])
  seconds = time.monotonic() - started
  print(f"{number} instances, {number / seconds:.0f} a second")


if __name__ == "__main__":
  app.run(main)
