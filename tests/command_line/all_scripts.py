"""What all scripts say of their flags, told by one process that imports them.

Run as a process, prints {script: {argument: (status, stdout, stderr)}}, and
under "" the number of flags of numbers, each with a range of two ends. Nothing
heavy is imported.
"""

import contextlib
import functools
import io
import json
import subprocess
import sys

from absl import flags

from keras_bert_impl import __main__ as command_line
from keras_bert_impl import options
from keras_bert_impl.command_line import program

ARGUMENTS = ("--help", "--helpfull", "--no_such_flag=1")
_WRONG = {
  "int": (-(10**20), 10**20),
  "float": (float("nan"), float("inf"), float("-inf")),
}


@functools.cache
def told():
  """Returns what the process prints."""
  command = [sys.executable, "-m", __name__]
  return json.loads(subprocess.run(command, stdout=-1, check=True).stdout)


def _run(name, argument):
  """Returns what `keras-bert-impl NAME ARGUMENT` does; leaves its flags."""
  flags.FLAGS.remove_flag_values(set(flags.FLAGS) - _SHARED)
  program._config_classes.clear()
  sys.argv = ["keras-bert-impl", name, argument]
  out, err = io.StringIO(), io.StringIO()
  with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
    try:
      command_line.main()
    except SystemExit as stop:
      return stop.code or 0, out.getvalue(), err.getvalue()


def _numbers():
  """Yields the flags of numbers that a script has left."""
  for config_class in program._config_classes:
    for field in program._flag_fields(config_class):
      flag = flags.FLAGS[field.name]
      for value in _WRONG.get(flag.flag_type(), ()):
        flag.value = value
        try:
          options.check_values(config_class, program.changed(config_class))
        except ValueError as error:
          assert f"{flag.name} ({value}) must be in " in str(error)
        else:
          raise AssertionError(flag.name)
        flag.value = flag.default
        yield flag.name


_SHARED = set(flags.FLAGS)

if __name__ == "__main__":
  found, numbers = {}, set()
  for script in command_line.SCRIPTS:
    found[script] = {x: _run(script, x) for x in ARGUMENTS}
    numbers.update(_numbers())
  assert not {"keras", "tensorflow", "tqdm", "jax"} & set(sys.modules)
  print(json.dumps(found | {"": len(numbers)}))
