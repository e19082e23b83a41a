"""Command line of scripts: flags, help, mistakes, output and signals."""

import dataclasses
import os
import re
import signal
import subprocess
import sys

import pytest

from keras_bert_impl import __main__ as command_line
from keras_bert_impl.command_line import program
from tests.command_line import all_scripts
from tests.official_tasks import scripts

_SAMPLE = "tests.command_line.sample"


def _run(*arguments, **environment):
  """Runs Python with arguments; returns its `CompletedProcess`."""
  return subprocess.run(
    [sys.executable, *arguments],
    capture_output=True,
    text=True,
    env=os.environ | {"PYTHONPATH": str(scripts.ROOT)} | environment,
  )


@pytest.mark.parametrize("flags", ["", "--xla_cpu_prefer_vector_width=256"])
def test_the_flags_of_xla_are_the_users_or_ours(flags):
  environment = {"XLA_FLAGS": flags} if flags else {}
  ran = _run(
    "-c",
    "import os\nfrom keras_bert_impl.command_line import program\n"
    "print(os.environ['XLA_FLAGS'])",
    **environment,
  )
  ours = "--xla_cpu_prefer_vector_width=512"
  assert ran.stdout == f"{flags or ours}\n"


_SEE_HELP = " See --help for the flags."
# {arguments: exit status and error}; with --path=out.txt.
_MISTAKES = {
  ("--kind=value",): (1, "size (3) must be even."),
  ("--kind=file",): (
    1,
    "absent.txt cannot be found (No such file or directory): check the path.",
  ),
  ("--kind=full",): (
    1,
    "out.txt cannot be written (No space left on device): make room there, or"
    " choose another place.",
  ),
  ("--kind=\udcff",): (
    1,
    "kind ('\\udcff') is not UTF-8: give a file or folder such a name, or"
    " type a text in it.",
  ),
  ("--kind=a", "--share=2"): (1, "share (2.0) must be in [0, 1]."),
  ("--kind=a", "--share=nan"): (1, "share (nan) must be in [0, 1]."),
  ("--kind=a", "--limit=nan"): (1, "limit (nan) must be in (-inf, inf)."),
  ("--kind=a", "--limit=-inf"): (1, "limit (-inf) must be in (-inf, inf)."),
  ("--kind=a", f"--size={10**20}"): (
    1,
    f"size ({10**20}) must be in [1, 1000].",
  ),
  ("--kind=a", "--sise=5"): (
    2,
    f"Unknown command line flag 'sise'. Did you mean: size ?.{_SEE_HELP}",
  ),
  ("--kind=a", "--size=many"): (
    2,
    "flag --size=many: invalid literal for int() with base 10:"
    f" 'many'.{_SEE_HELP}",
  ),
  ("--kind=a", "extra"): (
    2,
    f"unexpected argument 'extra': every value needs a --flag.{_SEE_HELP}",
  ),
  (): (2, f"--kind must be given.{_SEE_HELP}"),
}
_OTHERS = {
  "none": [],
  "size": ["--kind=none", "--path=out.txt", "--size=5"],
  "debug": ["--kind=value", "--path=out.txt", "--verbosity=1"],
  "help": ["--help"],
  "full help": ["--helpfull"],
}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
  """{arguments, or a name of others: (exit status, stdout, stderr)}."""
  lists = {x: ["--path=out.txt", *x] for x in _MISTAKES} | _OTHERS
  folder = tmp_path_factory.mktemp("sample")
  with pytest.MonkeyPatch.context() as patch:
    patch.chdir(folder)
    found = scripts.run_lists(_SAMPLE, lists)
  assert not [*folder.iterdir()]
  return found


@pytest.mark.parametrize("arguments", _MISTAKES, ids=repr)
def test_a_mistake_of_the_user_gives_one_line_and_a_status(outcomes, arguments):
  status, line = _MISTAKES[arguments]
  assert outcomes[arguments] == (status, "", f"Error: {line}\n")


def test_flags_come_from_the_fields(outcomes):
  assert outcomes["size"][:2] == (0, "5\n")


def test_all_flags_that_are_missing_are_told_in_one_sentence(outcomes):
  line = f"Error: --kind and --path must be given.{_SEE_HELP}\n"
  assert outcomes["none"] == (2, "", line)


def test_a_number_without_a_range_is_no_flag(monkeypatch):
  monkeypatch.setattr(program, "_config_classes", {})
  field = dataclasses.field(default=1, metadata={"help": "A number."})
  config_class = dataclasses.make_dataclass("Bare", [("size", int, field)])
  with pytest.raises(TypeError, match="Bare.size needs an interval."):
    program.define_flags(config_class)


def test_bugs_and_debugging_show_the_traceback(outcomes):
  assert "Traceback" in outcomes["debug"][2]
  bug = _run("-m", _SAMPLE, "--kind=bug", "--path=a")
  assert bug.returncode == 1
  assert "Traceback" in bug.stderr and "KeyError: 'bug'" in bug.stderr


def test_help_shows_the_flags_most_users_want_and_full_help_all(outcomes):
  common, full = outcomes["help"], outcomes["full help"]
  assert common[0] == full[0] == 0
  assert "--kind                      What happens. Required." in common[1]
  assert "--size" not in common[1]
  assert "--helpfull shows all 6 flags." in common[1]
  assert "--size=3                    A number." in full[1]
  assert "--verbosity" in full[1]


@pytest.mark.parametrize("script", command_line.SCRIPTS)
def test_help_and_a_typo_are_answered_before_anything_heavy_is_imported(script):
  told = all_scripts.told()[script]
  status, out, err = told["--help"]
  assert (status, err) == (0, "")
  assert f"   keras-bert-impl {script}" in out and "official_tasks/" not in out
  assert "--helpfull shows all" in out
  assert out.count("\n") <= 85
  status, out, err = told["--no_such_flag=1"]
  assert (status, out) == (2, "")
  assert "no_such_flag" in err and err.count("\n") == 1


def test_lines_of_the_help_end_between_choices():
  said = " ".join(all_scripts.told()["run_pretraining"]["--help"][1].split())
  assert "<bert, roberta, albert, spanbert, electra, left_to_right," in said


def test_help_ends_quietly_where_nobody_reads_on():
  reader, writer = os.pipe()
  os.close(reader)
  done = subprocess.run(
    scripts.command("run_pretraining", help=True),
    stdout=writer,
    stderr=subprocess.PIPE,
  )
  os.close(writer)
  assert (done.returncode, done.stderr) == (0, b"")


def test_every_number_of_every_script_has_a_range_with_two_ends():
  assert all_scripts.told()[""] > 60


def test_help_has_what_scripts_share_and_the_names_of_data_sets():
  classifier, squad = (
    all_scripts.told()[name]["--help"][1]
    for name in ("run_classifier", "run_squad")
  )
  assert "MRPC" in classifier and "NSMC" in classifier
  assert "--num_restarts=1            Number of runs from" in squad
  assert "--[no]version_2_with_negative" in squad


def test_a_script_by_its_path_tells_before_tensorflow_is_imported(tmp_path):
  for name in ("tensorflow", "tensorflow_text", "keras", "tqdm"):
    (tmp_path / f"{name}.py").write_text("raise SystemError('imported')")
  path = f"{tmp_path}{os.pathsep}{scripts.ROOT}"

  def run(script, **flags):
    return _run(*scripts.command(script, **flags)[1:], PYTHONPATH=path)

  result = run("run_squad", help=True)
  assert (result.returncode, result.stderr) == (0, "")
  assert "official_tasks/run_squad.py \\\n" in result.stdout
  result = run("run_pretraining", train_batch_size=0)
  assert result.returncode == 1
  assert result.stderr == (
    "Error: train_batch_size (0) must be in [1, 1000000].\n"
  )


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


@pytest.mark.integration
@pytest.mark.parametrize("is_quiet", [False, True])
def test_stderr_holds_log_and_progress_and_no_remarks_of_tensorflow(
  is_quiet, monkeypatch
):
  """Nor does Keras import what scripts do not use of it."""
  monkeypatch.delenv("TF_CPP_MIN_LOG_LEVEL", raising=False)
  flags, imports = (["--quiet"], ()) if is_quiet else ([], ("keras",))
  result = _run("-c", _LOUD.replace("IMPORTS", str(imports)), *flags)
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
  done = _run("-c", _IMPORTING, PYTHONPATH=path)
  assert (done.returncode, done.stdout) == (75, "whole\n")
  assert done.stderr == "Stopped: SIGINT; the same command continues.\n"


def test_a_second_signal_kills():
  process = _start_waiting(seconds_to_clear=60)
  process.send_signal(signal.SIGINT)
  assert process.stdout.readline() == "cleared\n"
  process.send_signal(signal.SIGINT)
  process.communicate(timeout=60)
  assert process.returncode == -signal.SIGINT
