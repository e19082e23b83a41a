"""Kills preparation and training at random moments; compares what is left.

  python tests/soak/soak.py --input_file=book.txt --work_dir=/tmp/soak

Makes a vocabulary of the text, then twice the shards and twice a training on
them: once undisturbed, and once killed with SIGKILL at random moments, by the
same command again and again until it has finished. Sometimes only the main
process is killed, and its workers have to notice. Every other time, a piece of
what the process left is damaged too: the newest checkpoint is cut in half. The
shards have to be the same bytes, the last checkpoint the same bits, and nothing
may lie around that an undisturbed run does not leave. Prints a line for each
kill, and ends with status 1 at the first difference.

No part of the tests: it takes minutes. Not for a machine that runs other
programs of these names.
"""

import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
from absl import app, flags

from keras_bert_impl import configs
from keras_bert_impl.checkpoints.formats import tf_format

flags.DEFINE_string("input_file", None, "Text.", required=True)
flags.DEFINE_string(
  "work_dir", None, "A folder that is emptied.", required=True
)
flags.DEFINE_integer("num_kills", 20, "Half of them in preparation.")
flags.DEFINE_integer("num_train_steps", 300, "Steps of the training.")
flags.DEFINE_integer("seed", 1, "Of the moments.")

FLAGS = flags.FLAGS
ROOT = pathlib.Path(__file__).parents[2]
_VOCAB_SIZE = 4000
_LENGTH = 64


def main(unused_argv):
  """Prepares and trains, undisturbed and killed, and compares."""
  folder = pathlib.Path(FLAGS.work_dir)
  shutil.rmtree(folder, ignore_errors=True)
  folder.mkdir(parents=True)
  moments = random.Random(FLAGS.seed)
  vocab_file = folder / "vocab.txt"
  run(
    command(
      "train_vocabulary",
      input_file=FLAGS.input_file,
      vocab_file=vocab_file,
      vocab_size=_VOCAB_SIZE,
    )
  )
  size = len(vocab_file.read_text(encoding="utf-8").splitlines())
  configs.EncoderConfig.preset("bert_tiny", vocab_size=size).to_json_file(
    folder / "bert_config.json"
  )
  for name, make, num_kills in (
    ("shards", preparation, FLAGS.num_kills // 2),
    ("run", training, FLAGS.num_kills - FLAGS.num_kills // 2),
  ):
    undisturbed, killed = folder / f"{name}_once", folder / f"{name}_killed"
    for path in (undisturbed, killed):
      path.mkdir()
    started = time.monotonic()
    run(make(folder, undisturbed))
    seconds = time.monotonic() - started
    print(f"{name}: {seconds:.0f} s undisturbed", flush=True)
    kill_and_continue(make(folder, killed), killed, num_kills, seconds, moments)
    compare(undisturbed, killed)
    print(f"{name}: the same after {num_kills} kills", flush=True)


def command(script, **values):
  """Returns the argument list of a script."""
  return [
    sys.executable,
    str(ROOT / "official_tasks" / f"{script}.py"),
    *(f"--{name}={value}" for name, value in values.items()),
  ]


def preparation(folder, output_dir):
  """Returns the command that writes shards."""
  return command(
    "create_pretraining_data",
    input_file=FLAGS.input_file,
    output_file=output_dir / "part",
    vocab_file=folder / "vocab.txt",
    max_seq_length=_LENGTH,
    dupe_factor=10,
    num_shards=8,
    num_workers=2,
    num_shown=0,
  )


def training(folder, output_dir):
  """Returns the command that trains on the undisturbed shards."""
  return command(
    "run_pretraining",
    input_file=folder / "shards_once" / "part-*-of-00008",
    output_dir=output_dir,
    bert_config_file=folder / "bert_config.json",
    vocab_file=folder / "vocab.txt",
    do_train=True,
    max_seq_length=_LENGTH,
    max_predictions_per_seq=10,
    train_batch_size=32,
    num_train_steps=FLAGS.num_train_steps,
    num_warmup_steps=10,
    save_checkpoints_steps=20,
    iterations_per_loop=5,
    do_export=False,
  )


def start(arguments):
  return subprocess.Popen(
    arguments,
    stdout=subprocess.DEVNULL,
    stderr=subprocess.PIPE,
    text=True,
    start_new_session=True,
    env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
  )


def run(arguments):
  """Runs a command to its end; ends this program if it fails."""
  process = start(arguments)
  _, err = process.communicate()
  if process.returncode:
    sys.exit(f"{arguments[1]} failed with {process.returncode}:\n{err}")


def kill_and_continue(arguments, output_dir, num_kills, seconds, moments):
  """Runs a command until it has been killed so often, then to its end."""
  killed = 0
  while killed < num_kills:
    process = start(arguments)
    moment = moments.uniform(0, seconds)
    try:
      _, err = process.communicate(timeout=moment)
    except subprocess.TimeoutExpired:
      kill(process, moments)
      killed += 1
      damaged = moments.random() < 0.5 and damage(output_dir)
      print(
        f"kill {killed}: after {moment:.1f} s"
        + (f", {damaged} damaged" if damaged else ""),
        flush=True,
      )
      continue
    if process.returncode:
      sys.exit(f"failed with {process.returncode} after a kill:\n{err}")
    # It was quicker: from the beginning again, to be killed later.
    shutil.rmtree(output_dir)
    output_dir.mkdir()
    print(f"finished within {moment:.1f} s; begins again", flush=True)
  run(arguments)


def kill(process, moments):
  """Kills a process: alone, or with its workers."""
  if moments.random() < 0.5:
    process.kill()
    process.communicate()
    # The workers have to go by themselves.
    for _ in range(100):
      if not group_lives(process.pid):
        return
      time.sleep(0.1)
    sys.exit("The workers of a killed process live on.")
  os.killpg(process.pid, signal.SIGKILL)
  process.communicate()


def group_lives(group):
  try:
    os.killpg(group, 0)
  except ProcessLookupError:
    return False
  return True


def damage(output_dir):
  """Cuts the newest of several checkpoints in half; returns its name."""
  state = output_dir / "checkpoint"
  if not state.exists() or len(state.read_text().splitlines()) < 3:
    return None
  name = state.read_text().split('"')[1]
  data = output_dir / f"{name}.data-00000-of-00001"
  content = data.read_bytes()
  data.write_bytes(content[: len(content) // 2])
  return name


def compare(undisturbed, killed):
  """Ends this program unless both folders hold the same results."""
  ours, theirs = (
    {path.name for path in folder.iterdir()} - {"tensorboard"}
    for folder in (killed, undisturbed)
  )
  if ours != theirs:
    sys.exit(f"Other files: {sorted(ours ^ theirs)}")
  for name in sorted(theirs):
    if name.startswith("part") and not name.endswith(".json"):
      if (undisturbed / name).read_bytes() != (killed / name).read_bytes():
        sys.exit(f"{name} differs.")
  last = f"model.ckpt-{FLAGS.num_train_steps}"
  if f"{last}.index" in theirs:
    compare_checkpoints(str(undisturbed / last), str(killed / last))


def compare_checkpoints(prefix, other_prefix):
  first, second = tf_format.read(prefix), tf_format.read(other_prefix)
  if {*first} != {*second}:
    sys.exit("The checkpoints hold other variables.")
  for name in first:
    if not np.array_equal(first[name], second[name]):
      sys.exit(f"{name} differs.")


if __name__ == "__main__":
  app.run(main)
