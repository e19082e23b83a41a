"""Progress of long work: a bar on a terminal and in Jupyter, else few lines.

The environment variable TQDM_DISABLE=1 turns it off.
"""

import contextlib
import contextvars
import io
import os
import sys

import tqdm

_SECONDS_PER_LINE = 30.0
_NEVER = 1e9  # Seconds.
_USUAL_SIZE = {"ncols": 79, "nrows": 24}
_LINE = (
  "{desc}: {percentage:.0f} %, {n_fmt}/{total_fmt} [{elapsed}<{remaining},"
  " {rate_fmt}{postfix}]"
)
# The format where the total is not known.
_OPEN_LINE = "{desc}: {n_fmt} [{elapsed}, {rate_fmt}{postfix}]"

_IS_SHOWN = contextvars.ContextVar("is_shown", default=True)


@contextlib.contextmanager
def shown(is_shown):
  """Shows bars that are made inside, or not."""
  token = _IS_SHOWN.set(is_shown)
  try:
    yield
  finally:
    _IS_SHOWN.reset(token)


def bar(description, **options):
  """Returns a `tqdm.tqdm` on stderr.

  Args:
    description: str, what is going on.
    **options: of `tqdm.tqdm`.
  """
  if not _IS_SHOWN.get():
    options["disable"] = True
  # Jupyter's is no terminal, but can go back to the beginning of a line.
  is_cell = type(sys.stderr).__module__.startswith("ipykernel")
  if is_cell or sys.stderr.isatty():
    # Some terminals say no size, for which tqdm would draw nothing.
    has_size = not is_cell and all(os.get_terminal_size(sys.stderr.fileno()))
    size = {"dynamic_ncols": True} if has_size else _USUAL_SIZE
    return tqdm.tqdm(desc=description, mininterval=1.0, **size, **options)
  return _LineBar(
    desc=description,
    file=_Lines(sys.stderr),
    mininterval=_SECONDS_PER_LINE,
    miniters=1,
    **options,
  )


def tell(line):
  """Writes a line on stderr above the bars, if bars are shown."""
  with bar("", delay=_NEVER) as unseen:
    is_shown = not unseen.disable
  if is_shown:
    tqdm.tqdm.write(line, file=sys.stderr)


def advance(bar, done, total):
  """Moves a bar to `done` of `total`, which may not have been known before."""
  bar.total = total
  bar.update(done - bar.n)


class _LineBar(tqdm.tqdm):
  """A bar in words, whose total may become known later."""

  @property
  def format_dict(self):
    """{name: value} of what a line shows, and its format."""
    line = _LINE if self.total else _OPEN_LINE
    return super().format_dict | {"bar_format": line}


class _Lines(io.TextIOBase):
  """Writes each state of a bar as a line of its own."""

  def __init__(self, file):
    self._file = file

  def write(self, text):
    """Writes the visible part of `text`, if there is any."""
    line = text.strip("\r\n ")
    if line:
      self._file.write(line + "\n")
    return len(text)

  def flush(self):
    """Flushes the file."""
    self._file.flush()
