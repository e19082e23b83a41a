"""Command line of all scripts: flags, start, end and errors."""

import dataclasses
import logging as standard_logging
import os
import re
import shutil
import signal
import sys
import textwrap
import typing

from absl import app, flags, logging

from keras_bert_impl import file_errors, options, tensorflow_log
from keras_bert_impl.command_line import startup
from keras_bert_impl.training import stopping

EXIT_USER_ERROR = 1
EXIT_BAD_FLAGS = 2

# oneDNN's kernels took 29 % off a training step of BERT-Base on a processor
# where TensorFlow leaves them off. It looks here when it is imported.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
# XLA takes half of the vectors of AVX-512 otherwise: 3 % of a training step.
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_prefer_vector_width=512")

_HELP = {"help", "h", "helpshort", "?"}
_FULL_HELP = {"helpfull"}
_SCRIPT = re.compile(r"(?:python )?official_tasks/(\w+)\.py")
_NAME_WIDTH = 30  # of the column of names in --help

# The dataclasses that flags were made of, and the fields that are no flags.
_config_classes = {}


@dataclasses.dataclass(frozen=True)
class OutputConfig:
  """Output of a script while it runs."""

  quiet: bool = options.common(
    False, "Whether to print only results and warnings."
  )


def run(main, imports=("keras",)):
  """Parses the flags and runs `main()`; ends the process.

  A user's mistake (ValueError, a missing file, a full disk) gives one line on
  stderr and exit status 1, an unknown or malformed flag 2, a run that was
  stopped, by SIGINT (Ctrl-C) or SIGTERM too, 75: the same command continues it.
  The traceback is shown with --verbosity=1 (debug).

  Flags are parsed, and their values checked, before TensorFlow is imported,
  if the script imports what needs it under `epy.lazy_imports()`.

  Args:
    main: callable without arguments; its return value is the exit status
      (None = 0).
    imports: modules to import in between; see `startup.import_quietly`.
  """
  if OutputConfig not in _config_classes:
    define_flags(OutputConfig)

  def guarded(unused_argv):
    try:
      _configure_output()
      _check_values()
      with stopping.interruptible():
        startup.import_quietly(*imports)
        return main()
    except Exception as error:
      # Only StoppedError and its subclasses have an exit status.
      stopped = getattr(error, "exit_status", None)
      explained = file_errors.explained(error)
      if not (stopped or explained or _is_user_error(error)):
        raise
      logging.debug("Traceback of the error:", exc_info=True)
      kind = "Stopped" if stopped else "Error"
      sys.stderr.write(f"{kind}: {explained or _one_line(error)}\n")
      return stopped or EXIT_USER_ERROR
    except KeyboardInterrupt as interrupt:
      name = str(interrupt) or signal.SIGINT.name
      sys.stderr.write(f"Stopped: {name}; the same command continues.\n")
      return stopping.StoppedError.exit_status

  app.run(guarded, flags_parser=_parse_flags)


def define_flags(config_class, leave_out=(), **defaults):
  """Defines one flag for each field of a dataclass.

  Args:
    config_class: dataclass whose fields have `metadata["help"]`, for an
      enumeration `metadata["choices"]`, and for a number `metadata["interval"]`
      (see `options.field`). A field without a default becomes a required flag.
      --help shows those that are required or have `metadata["is_common"]`,
      --helpfull all.
    leave_out: names of fields that become no flags; `from_flags` needs them as
      overrides.
    **defaults: {name: value}, defaults that replace those of the fields; they
      are allowed, even outside of an interval.

  Raises:
    TypeError: a number has no interval.
  """
  _config_classes[config_class] = tuple(leave_out)
  types = typing.get_type_hints(config_class)
  for field in _flag_fields(config_class):
    name, text = field.name, field.metadata["help"]
    is_required = _is_required(field)
    default = None if is_required else defaults.get(name, field.default)
    kind = _plain_type(types[name])
    if kind in (int, float) and not field.metadata.get("interval"):
      raise TypeError(f"{config_class.__name__}.{name} needs an interval.")
    if field.metadata.get("is_listed"):
      flags.DEFINE_string(name, default, text)
    elif field.metadata.get("choices"):
      flags.DEFINE_enum(name, default, field.metadata["choices"], text)
    else:
      _DEFINE[kind](name, default, text)


def from_flags(config_class, **overrides):
  """Returns an instance of the dataclass with the values of its flags.

  Raises:
    ValueError: a value is out of range or not a number; the message names the
      flag.
  """
  names = [field.name for field in dataclasses.fields(config_class)]
  given = {
    name: flags.FLAGS[name].value for name in names if name not in overrides
  }
  given = options.parsed(config_class, given | overrides)
  options.check_values(config_class, given)
  return config_class(**given)


def values(config_class):
  """Returns {name: value} of the flags of a class, as they are given."""
  return {f.name: flags.FLAGS[f.name].value for f in _flag_fields(config_class)}


def changed(config_class):
  """Returns {name: value} of the flags of a class that are not the default."""
  known = [flags.FLAGS[field.name] for field in _flag_fields(config_class)]
  return {flag.name: flag.value for flag in known if flag.value != flag.default}


def split_names(value):
  """Splits a flag's comma-separated paths or patterns, list of str."""
  return options.split(value)


def split_numbers(value, name):
  """Splits a flag's comma-separated numbers, list of int.

  Raises:
    ValueError: there is no number, or something else; it names the flag.
  """
  try:
    numbers = [int(part) for part in split_names(value)]
  except ValueError:
    numbers = []
  if not numbers:
    raise ValueError(f"{name} ({value}) must be numbers, as in -1,-2.")
  return numbers


_DEFINE = {
  bool: flags.DEFINE_bool,
  int: flags.DEFINE_integer,
  float: flags.DEFINE_float,
  str: flags.DEFINE_string,
  tuple[str, ...]: flags.DEFINE_multi_string,
}


def _flag_fields(config_class):
  left_out = _config_classes[config_class]
  return [f for f in dataclasses.fields(config_class) if f.name not in left_out]


def _check_required():
  """Raises flags.Error that names the required flags that are not given."""
  missing = [
    f"--{field.name}"
    for config_class in _config_classes
    for field in _flag_fields(config_class)
    if _is_required(field) and flags.FLAGS[field.name].value is None
  ]
  if missing:
    *others, last = missing
    named = f"{', '.join(others)} and {last}" if others else last
    raise flags.Error(f"{named} must be given")


def _is_required(field):
  return field.default is dataclasses.MISSING


def _plain_type(annotation):
  """Returns T of `T | None`."""
  given = [t for t in typing.get_args(annotation) if t is not type(None)]
  is_union = type(None) in typing.get_args(annotation)
  return given[0] if is_union else annotation


def _parse_flags(argv):
  asked = {
    argument.lstrip("-").partition("=")[0]
    for argument in argv[1:]
    if argument.startswith("-")
  }
  if asked & (_HELP | _FULL_HELP):
    _print_whole(_help(is_full=bool(asked & _FULL_HELP)))
    sys.exit(0)
  try:
    rest = flags.FLAGS(argv)
    _check_required()
    if len(rest) > 1:
      raise flags.Error(
        f"unexpected argument {rest[1]!r}: every value needs a --flag."
      )
    return rest
  except (flags.Error, ValueError) as error:  # absl raises either
    text = _one_line(error).rstrip(".")
    sys.stderr.write(f"Error: {text}. See --help for the flags.\n")
    sys.exit(EXIT_BAD_FLAGS)


def _print_whole(text):
  """Prints a text, to a reader that may leave before its end."""
  try:
    print(text, flush=True)
  except BrokenPipeError:  # As `head` does; Python would print once more.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _configure_output():
  """Silences unrequested output, in this process and its workers."""
  if flags.FLAGS.quiet:
    logging.set_verbosity(logging.WARNING)
    os.environ["TQDM_DISABLE"] = "1"
  # huggingface_hub's libraries log each request.
  for library in ("httpx", "httpx2"):
    standard_logging.getLogger(library).setLevel("WARNING")
  # TensorFlow's errors come as exceptions too.
  is_debug = logging.get_verbosity() >= logging.DEBUG
  os.environ.setdefault(tensorflow_log.LEVEL, "0" if is_debug else "3")


def _check_values():
  """Raises ValueError on a wrong value, before anything is loaded."""
  for config_class, left_out in _config_classes.items():
    for field in _flag_fields(config_class):
      _check_characters(field.name, flags.FLAGS[field.name].value)
    if left_out:
      given = options.parsed(config_class, changed(config_class))
      options.check_values(config_class, given)
    else:
      from_flags(config_class)


def _check_characters(name, value):
  """Raises ValueError if the value of a flag is not UTF-8."""
  for text in value if isinstance(value, (list, tuple)) else [value]:
    try:
      str(text).encode("utf-8")
    except UnicodeEncodeError:
      raise ValueError(
        f"{name} ({text!r}) is not UTF-8: give a file or folder such a name,"
        " or type a text in it."
      ) from None


def _help(is_full):
  """Returns the text of --help or --helpfull."""
  width = min(shutil.get_terminal_size().columns, 100)
  lines = [_as_called((sys.modules["__main__"].__doc__ or "").strip())]
  number = 0
  for config_class in _config_classes:
    fields = _flag_fields(config_class)
    number += len(fields)
    shown = [
      field
      for field in fields
      if is_full or _is_required(field) or field.metadata.get("is_common")
    ]
    if shown:
      lines += ["", (config_class.__doc__ or "").partition("\n")[0]]
      lines += [_help_of_flag(field, width) for field in shown]
  if is_full:
    lines.append(flags.FLAGS.module_help(logging))
  else:
    lines += ["", f"--helpfull shows all {number} flags."]
  return "\n".join(lines)


def _help_of_flag(field, width):
  """Returns the help of a flag: name, default, purpose."""
  flag = flags.FLAGS[field.name]
  name, text = f"  --{field.name}", flag.help
  if flag.flag_type() == "string enum":
    text = text.replace("|", ", ")  # Lines are to end between two choices.
  if flag.flag_type() == "bool":
    name = f"  --[no]{field.name}"
  elif flag.default not in (None, [], ""):
    name += f"={flag.default}"
  if _is_required(field):
    text += " Required."
  lines = textwrap.wrap(text, width - _NAME_WIDTH)
  if len(name) < _NAME_WIDTH:
    lines[0] = name.ljust(_NAME_WIDTH) + lines[0]
    name, *lines = lines
  return "\n".join([name, *(" " * _NAME_WIDTH + line for line in lines)])


def _is_user_error(error):
  if isinstance(error, (ValueError, OSError)):
    return True
  # tf.io.gfile has exceptions of its own; nothing can have raised them
  # before TensorFlow was imported.
  errors = getattr(sys.modules.get("tensorflow"), "errors", None)
  return errors is not None and isinstance(
    error,
    (
      errors.FailedPreconditionError,  # "... is not a directory"
      errors.NotFoundError,
      errors.PermissionDeniedError,
      errors.ResourceExhaustedError,
    ),
  )


def _one_line(error):
  return _as_called(" ".join(str(error).split())) or type(error).__name__


def _as_called(text):
  """Returns a text whose scripts are named as this one was called."""
  if sys.modules["__main__"].__spec__ is None:
    return text
  # By `keras-bert-impl`; there may be no folder official_tasks.
  return _SCRIPT.sub(r"keras-bert-impl \1", text)
