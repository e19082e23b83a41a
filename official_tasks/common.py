"""What every script shares: its flags, how it starts and how it fails."""

import dataclasses
import sys
import typing

from absl import app, flags, logging

EXIT_USER_ERROR = 1
EXIT_BAD_FLAGS = 2

flags.disclaim_key_flags()  # They are the script's: --help lists them.


def run(main):
  """Parses the flags and runs `main()`; ends the process.

  A user's mistake (ValueError, a missing file, a full disk) gives one line on
  stderr and exit status 1, an unknown or malformed flag 2, a run that was
  stopped and can be continued 75. The traceback is shown with --verbosity=1
  (debug).

  Args:
    main: callable without arguments; its return value is the exit status
      (None = 0).
  """

  def guarded(unused_argv):
    try:
      return main()
    except Exception as error:
      # `StoppedError` has one; its module would bring TensorFlow along.
      stopped = getattr(error, "exit_status", None)
      if not stopped and not _is_user_error(error):
        raise
      logging.debug("Traceback of the error:", exc_info=True)
      kind = "Stopped" if stopped else "Error"
      sys.stderr.write(f"{kind}: {_one_line(error)}\n")
      return stopped or EXIT_USER_ERROR

  app.run(guarded, flags_parser=_parse_flags)


def define_flags(config_class, leave_out=(), **defaults):
  """Defines one flag for each field of a dataclass.

  Args:
    config_class: dataclass whose fields have `metadata["help"]` and, for an
      enumeration, `metadata["choices"]`. A field without a default becomes a
      required flag.
    leave_out: names of fields that become no flags; `from_flags` needs them as
      overrides.
    **defaults: by name, other defaults than the fields'.
  """
  types = typing.get_type_hints(config_class)
  for field in dataclasses.fields(config_class):
    if field.name in leave_out:
      continue
    name, text = field.name, field.metadata["help"]
    is_required = field.default is dataclasses.MISSING
    default = None if is_required else defaults.get(name, field.default)
    if field.metadata.get("choices"):
      flags.DEFINE_enum(name, default, field.metadata["choices"], text)
    else:
      _DEFINE[_plain_type(types[name])](name, default, text)
    if is_required:
      flags.mark_flag_as_required(name)


def from_flags(config_class, **overrides):
  """Returns an instance of the dataclass with the values of its flags."""
  names = [field.name for field in dataclasses.fields(config_class)]
  values = {
    name: flags.FLAGS[name].value for name in names if name not in overrides
  }
  return config_class(**values | overrides)


def split_names(value):
  """Returns the paths or patterns of a flag that holds several, list of str."""
  return [name.strip() for name in value.split(",") if name.strip()]


_DEFINE = {
  bool: flags.DEFINE_bool,
  int: flags.DEFINE_integer,
  float: flags.DEFINE_float,
  str: flags.DEFINE_string,
}


def _plain_type(annotation):
  """Returns T of `T | None`."""
  options = [t for t in typing.get_args(annotation) if t is not type(None)]
  return options[0] if options else annotation


def _parse_flags(argv):
  try:
    rest = flags.FLAGS(argv)
    if len(rest) > 1:
      raise flags.Error(
        f"unexpected argument {rest[1]!r}: every value needs a --flag."
      )
    return rest
  except (flags.Error, ValueError) as error:  # absl raises either
    sys.stderr.write(f"Error: {_one_line(error)} See --help for the flags.\n")
    sys.exit(EXIT_BAD_FLAGS)


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
  return " ".join(str(error).split()) or type(error).__name__
