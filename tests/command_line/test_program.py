import os
import re
import signal
import subprocess
import sys

import pytest

from tests.official_tasks import scripts

_SCRIPT = """
import dataclasses, os
from keras_bert_impl import files
from keras_bert_impl.command_line import program

@dataclasses.dataclass
class Config:
  kind: str = dataclasses.field(metadata={"help": "What happens."})
  size: int = dataclasses.field(
    default=3, metadata={"help": "A number.", "interval": "[1, 1000]"}
  )
  share: float = dataclasses.field(
    default=0.5, metadata={"help": "A share.", "interval": "[0, 1]"}
  )
  limit: float = dataclasses.field(
    default=0.0, metadata={"help": "Any.", "interval": "(-inf, inf)"}
  )

  def __post_init__(self):
    list(range(self.size))
    self.digits = round(self.limit)

def main():
  config = program.from_flags(Config)
  if config.kind == "value":
    raise ValueError("size (3) must be\\n  even.")
  if config.kind == "file":
    open("absent.txt")
  if config.kind == "full":
    with files.writing("out.txt") as file, open("/dev/full", "wb") as full:
      file.write(b"text")
      os.write(full.fileno(), b"text")
  if config.kind == "bug":
    raise KeyError("bug")
  print(config.size)

program.define_flags(Config)
program.run(main, imports=())
"""


def _run(*arguments, code=_SCRIPT, **environment):
  """Runs Python code with flags; returns its `CompletedProcess`."""
  return subprocess.run(
    [sys.executable, "-c", code, *arguments],
    capture_output=True,
    text=True,
    env=os.environ | {"PYTHONPATH": str(scripts.ROOT)} | environment,
  )


def test_flags_come_from_the_fields():
  result = _run("--kind=none", "--size=5")
  assert (result.returncode, result.stdout) == (0, "5\n")


_SEE_HELP = " See --help for the flags."


@pytest.mark.parametrize(
  "arguments, status, line",
  [
    (["--kind=value"], 1, "size (3) must be even."),
    (
      ["--kind=file"],
      1,
      "absent.txt cannot be found (No such file or directory): check the path.",
    ),
    (
      ["--kind=full"],
      1,
      "out.txt cannot be written (No space left on device): make room there, or"
      " choose another place.",
    ),
    (
      ["--kind=\udcff"],
      1,
      "kind ('\\udcff') is not UTF-8: give a file or folder such a name, or"
      " type a text in it.",
    ),
    (["--share=2"], 1, "share (2.0) must be in [0, 1]."),
    (["--share=nan"], 1, "share (nan) must be in [0, 1]."),
    (["--limit=nan"], 1, "limit (nan) must be in (-inf, inf)."),
    (["--limit=-inf"], 1, "limit (-inf) must be in (-inf, inf)."),
    ([f"--size={10**20}"], 1, f"size ({10**20}) must be in [1, 1000]."),
    (
      ["--sise=5"],
      2,
      f"Unknown command line flag 'sise'. Did you mean: size ?.{_SEE_HELP}",
    ),
    (
      ["--size=many"],
      2,
      "flag --size=many: invalid literal for int() with base 10:"
      f" 'many'.{_SEE_HELP}",
    ),
    (
      ["extra"],
      2,
      f"unexpected argument 'extra': every value needs a --flag.{_SEE_HELP}",
    ),
    ([], 2, f"--kind must be given.{_SEE_HELP}"),
  ],
)
def test_a_mistake_of_the_user_gives_one_line_and_a_status(
  arguments, status, line, tmp_path, monkeypatch
):
  monkeypatch.chdir(tmp_path)
  if arguments and not arguments[0].startswith("--kind"):
    arguments = ["--kind=none", *arguments]
  result = _run(*arguments)
  assert (result.returncode, result.stderr) == (status, f"Error: {line}\n")
  assert not [*tmp_path.iterdir()]


_RANGES = """
import importlib, sys
from absl import flags
from keras_bert_impl import options
from keras_bert_impl.command_line import program

def is_refused(config_class, flag, value):
  flag.value = value
  try:
    options.check_values(config_class, program._changed(config_class))
  except ValueError as error:
    return f"{flag.name} ({value}) must be in " in str(error)
  finally:
    flag.value = flag.default

program.define_flags(program.OutputConfig)
shared = set(flags.FLAGS)
numbers = set()
for script in sys.argv[1:]:
  importlib.import_module(f"official_tasks.{script}")
  for config_class in program._config_classes:
    for field in program._flag_fields(config_class):
      flag = flags.FLAGS[field.name]
      wrong = {
        "int": (-(10**20), 10**20),
        "float": (float("nan"), float("inf"), float("-inf")),
      }.get(flag.flag_type(), ())
      for value in wrong:
        assert is_refused(config_class, flag, value), (script, flag.name, value)
        numbers.add(flag.name)
  flags.FLAGS.remove_flag_values(set(flags.FLAGS) - shared)
  program._config_classes.clear()
print(len(numbers))
"""


def test_every_number_of_every_script_has_a_range_with_two_ends():
  result = _run(*SCRIPTS, code=_RANGES)
  assert result.returncode == 0, result.stderr
  assert int(result.stdout) > 60


def test_all_flags_that_are_missing_are_told_in_one_sentence():
  path = "path: str = dataclasses.field(metadata={'help': 'A file.'})"
  two = _SCRIPT.replace("  size: int", f"  {path}\n  size: int")
  result = _run(code=two)
  assert result.returncode == 2
  assert result.stderr == (
    "Error: --kind and --path must be given. See --help for the flags.\n"
  )


def test_a_number_without_a_range_is_no_flag():
  result = _run(code=_SCRIPT.replace('"interval": "[1, 1000]"', ""))
  assert "TypeError: Config.size needs an interval." in result.stderr


def test_debugging_shows_the_traceback():
  assert "Traceback" in _run("--kind=value", "--verbosity=1").stderr


def test_a_bug_shows_its_traceback():
  result = _run("--kind=bug")
  assert result.returncode == 1
  assert "Traceback" in result.stderr


def test_help_shows_the_flags_most_users_want_and_full_help_all():
  common, full = _run("--help"), _run("--helpfull")
  assert common.returncode == full.returncode == 0
  assert "--kind                      What happens. Required." in common.stdout
  assert "--size" not in common.stdout
  assert "--helpfull shows all 5 flags." in common.stdout
  assert "--size=3                    A number." in full.stdout
  assert "--verbosity" in full.stdout


def _without_tensorflow(folder):
  """Returns the environment of a process in which its import is an error."""
  for name in ("tensorflow", "tensorflow_text", "keras", "tqdm"):
    (folder / f"{name}.py").write_text("raise SystemError('imported')")
  return {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{scripts.ROOT}"}


SCRIPTS = [
  path.stem
  for path in sorted((scripts.ROOT / "official_tasks").glob("*.py"))
  if "program.run(main" in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("script", SCRIPTS)
def test_help_and_a_typo_are_answered_before_tensorflow_is_imported(
  script, tmp_path
):
  def run(**flags):
    return subprocess.run(
      scripts.command(script, **flags),
      capture_output=True,
      text=True,
      env=_without_tensorflow(tmp_path),
    )

  result = run(help=True)
  assert (result.returncode, result.stderr) == (0, "")
  assert f"official_tasks/{script}.py" in result.stdout
  assert result.stdout.count("\n") <= 85
  result = run(no_such_flag=1)
  assert (result.returncode, result.stdout) == (2, "")
  assert "no_such_flag" in result.stderr
  assert result.stderr.count("\n") == 1


def test_a_wrong_value_is_told_before_tensorflow_is_imported(tmp_path):
  result = subprocess.run(
    scripts.command("run_pretraining", train_batch_size=0),
    capture_output=True,
    text=True,
    env=_without_tensorflow(tmp_path),
  )
  assert result.returncode == 1
  assert result.stderr == (
    "Error: train_batch_size (0) must be in [1, 1000000].\n"
  )


@pytest.mark.parametrize(
  "script, words",
  [
    ("run_classifier", ("MRPC", "NSMC")),
    (
      "run_squad",
      (
        "--num_restarts=1            Number of runs from",
        "--[no]version_2_with_negative",
        "run_squad.py \\\n",
      ),
    ),
  ],
)
def test_help_has_what_scripts_share_and_the_names_of_data_sets(script, words):
  result = subprocess.run(
    scripts.command(script, help=True), capture_output=True, text=True
  )
  assert all(word in result.stdout for word in words)


_LOUD = """
import sys
from absl import logging
from keras_bert_impl.command_line import program

def use_tensorflow():
  assert {"keras", "tensorflow"} <= set(sys.modules)
  assert not {"matplotlib", "sklearn"} & set(sys.modules)
  import matplotlib.figure, sklearn.metrics
  import tensorflow as tf
  tf.print(tf.config.list_physical_devices("GPU"), output_stream=sys.stdout)

def main():
  if IMPORTS:
    use_tensorflow()
  logging.info("a remark")
  logging.warning("a warning")
  from keras_bert_impl import progress
  with progress.bar("Work", total=2) as bar:
    bar.update(2)
  print("result")

program.run(main, IMPORTS)
"""


@pytest.mark.parametrize("is_quiet", [False, True])
def test_stderr_holds_log_and_progress_and_no_remarks_of_tensorflow(
  is_quiet, monkeypatch
):
  """Nor does Keras import what scripts do not use of it."""
  monkeypatch.delenv("TF_CPP_MIN_LOG_LEVEL", raising=False)
  flags, imports = (["--quiet"], ()) if is_quiet else ([], ("keras",))
  result = _run(*flags, code=_LOUD.replace("IMPORTS", str(imports)))
  assert result.returncode == 0, result.stderr
  lines = result.stderr.splitlines()
  assert "result" in result.stdout
  assert "\r" not in result.stderr
  warning = [line for line in lines if "a warning" in line]
  if is_quiet:
    assert lines == warning != []
  else:
    log = re.compile(r"[IW]\d{4} [^]]*\] (.*)")
    kinds = [
      match[1] if (match := log.match(line)) else line.partition(":")[0]
      for line in lines
    ]
    assert list(dict.fromkeys(kinds)) == ["a remark", "a warning", "Work"]


_WAITING = """
import os, time
from keras_bert_impl.command_line import program

def main():
  try:
    print("working", flush=True)
    time.sleep(60)
  finally:
    print("cleared", flush=True)
    time.sleep(float(os.environ["SECONDS_TO_CLEAR"]))

program.run(main, imports=())
"""


def _start_waiting(seconds_to_clear):
  process = subprocess.Popen(
    [sys.executable, "-c", _WAITING],
    stdout=subprocess.PIPE,
    stderr=subprocess.PIPE,
    text=True,
    env={**os.environ, "SECONDS_TO_CLEAR": str(seconds_to_clear)},
    cwd=scripts.ROOT,
  )
  assert process.stdout.readline() == "working\n"
  return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_clears_up_and_ends_with_75_and_one_line(number):
  process = _start_waiting(seconds_to_clear=0)
  process.send_signal(number)
  out, err = process.communicate(timeout=60)
  assert (process.returncode, out) == (75, "cleared\n")
  assert err == f"Stopped: {number.name}; the same command continues.\n"


_INTERRUPTED_MODULE = """
import os, signal
os.kill(os.getpid(), signal.SIGINT)
print("whole")
"""

_IMPORTING = """
from keras_bert_impl.command_line import program

program.run(lambda: print("not reached"), imports=("tensorflow",))
"""


def test_a_signal_waits_for_the_import_of_tensorflow(tmp_path):
  tmp_path.joinpath("tensorflow.py").write_text(_INTERRUPTED_MODULE)
  path = f"{tmp_path}{os.pathsep}{scripts.ROOT}"
  done = _run(code=_IMPORTING, PYTHONPATH=path)
  assert (done.returncode, done.stdout) == (75, "whole\n")
  assert done.stderr == "Stopped: SIGINT; the same command continues.\n"


def test_a_second_signal_kills():
  process = _start_waiting(seconds_to_clear=60)
  process.send_signal(signal.SIGINT)
  assert process.stdout.readline() == "cleared\n"
  process.send_signal(signal.SIGINT)
  process.communicate(timeout=60)
  assert process.returncode == -signal.SIGINT
