"""The log of a run, also of one that was killed and resumed."""

from keras_bert_impl.training import run_log

SCALARS = {"loss": 1.5, "examples_per_second": 10.0}


def write(folder, start, steps):
  log = run_log.RunLog(str(folder), start, 10)
  for step in steps:
    log.write(step, SCALARS)
  log.close()


def test_a_resumed_log_reads_like_an_uninterrupted_one(tmp_path):
  write(tmp_path, 0, (1, 4, 7))
  # Killed while it wrote a line, after the checkpoint of step 4.
  with open(tmp_path / run_log.LOG_NAME, "a") as file:
    file.write('{"step": 8, "lo')
  write(tmp_path, 4, (5, 9))
  entries = run_log.read(str(tmp_path))
  assert [entry["step"] for entry in entries] == [1, 4, 5, 9]
  assert entries[0] == {"step": 1, **SCALARS}
  assert list((tmp_path / "tensorboard").iterdir())
