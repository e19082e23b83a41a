"""What every script shares: how it starts and how it fails."""

import sys

from absl import app, flags, logging

EXIT_USER_ERROR = 1
EXIT_BAD_FLAGS = 2


def run(main):
  """Parses the flags and runs `main()`; ends the process.

  A user's mistake (ValueError, a missing file, a full disk) gives one line on
  stderr and exit status 1, an unknown or malformed flag 2. The traceback is
  shown with --verbosity=1 (debug).

  Args:
    main: callable without arguments; its return value is the exit status
      (None = 0).
  """

  def guarded(unused_argv):
    try:
      return main()
    except Exception as error:
      if not _is_user_error(error):
        raise
      logging.debug("Traceback of the error:", exc_info=True)
      sys.stderr.write(f"Error: {_one_line(error)}\n")
      return EXIT_USER_ERROR

  app.run(guarded, flags_parser=_parse_flags)


def _parse_flags(argv):
  try:
    rest = flags.FLAGS(argv)
    if len(rest) > 1:
      raise flags.Error(
        f"unexpected argument {rest[1]!r}: every value needs a --flag."
      )
    return rest
  except flags.Error as error:
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
      errors.NotFoundError,
      errors.PermissionDeniedError,
      errors.ResourceExhaustedError,
    ),
  )


def _one_line(error):
  return " ".join(str(error).split()) or type(error).__name__
