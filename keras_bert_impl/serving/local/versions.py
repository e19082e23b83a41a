"""Chooses the version of a model to serve: the highest that loads."""

import gc
import pathlib
import threading

from absl import logging

from keras_bert_impl.serving.local import loading

AVAILABLE = "AVAILABLE"
END = "END"


class Versions:
  """Serves the highest version of a directory and takes up new ones.

  A version that is being replaced lives on until the requests that hold it
  are answered. One that does not load is passed over until its files change,
  which also covers a directory that is still being copied.

  Args:
    model_dir: str, directory of the versions.
    open_file: as of `loading.load`.

  Attributes:
    current: the `signatures.LoadedModel` for new requests.
    states: {version: (state, error message or "")}, the highest first.

  Raises:
    FileNotFoundError: if there is no such directory.
    ValueError: if it holds no version, or none that loads.
  """

  def __init__(self, model_dir, open_file=None):
    self._dir = pathlib.Path(model_dir)
    self._open_file = open_file
    self._broken = {}  # path: (what its files were like, why it is broken)
    self.states = {}
    self._stopped = threading.Event()
    self.current = None
    self._check()
    self.refresh()
    if self.current is None:
      # The highest version is what the user wants to hear of.
      raise ValueError(next(iter(self._broken.values()))[1])

  @property
  def folder(self):
    """The folder of the current version, Path."""
    return dict(self._paths())[self.current.version]

  def refresh(self):
    """Loads the highest version that can be, if it is not the current one."""
    for version, path in self._paths():
      if self.current is not None and version == self.current.version:
        return
      files = _files(path)
      if self._broken.get(path, (None,))[0] == files:
        continue
      try:
        model = loading.load(path, version, self._open_file)
      except ValueError as error:
        logging.error("%s", error)
        self._broken[path] = (files, str(error))
        self._note({version: (END, str(error))})
        continue
      self._replace(model)
      return

  def watch(self, seconds):
    """Looks for new versions every so many seconds, in a thread."""
    threading.Thread(
      target=self._watch, args=(seconds,), name="versions", daemon=True
    ).start()

  def stop(self):
    """Ends `watch`."""
    self._stopped.set()

  def _check(self):
    if not self._dir.is_dir():
      raise FileNotFoundError(
        f"{self._dir} is not a directory; give the one that holds the versions "
        "of a model, as official_tasks/export_saved_model.py writes it."
      )
    if (self._dir / "saved_model.pb").exists():
      raise ValueError(
        f"{self._dir} is itself one version of a model; give the directory "
        f"above it, {self._dir.resolve().parent}."
      )
    if not self._paths():
      raise ValueError(
        f"{self._dir} holds no version of a model: a directory whose name is a "
        "number, as official_tasks/export_saved_model.py writes it."
      )

  def _paths(self):
    """Returns (version, path) of every version, the highest first."""
    return sorted(
      (
        (int(path.name), path)
        for path in self._dir.iterdir()
        if path.name.isascii() and path.name.isdecimal() and path.is_dir()
      ),
      reverse=True,
    )

  def _replace(self, model):
    states = {model.version: (AVAILABLE, "")}
    if self.current is not None:
      states[self.current.version] = (END, "")
    self._note(states)
    self.current = model
    gc.collect()  # The graphs of what was served refer to each other.
    logging.info("Version %d of %s is served.", model.version, self._dir)

  def _note(self, states):
    # A new dict, because other threads may be reading the old one.
    self.states = dict(sorted((self.states | states).items(), reverse=True))

  def _watch(self, seconds):
    while not self._stopped.wait(seconds):
      try:
        self.refresh()
      except OSError as error:  # the directory is away for a while
        logging.error("Cannot look for new versions: %s", error)


def _files(path):
  """Returns a value that changes when a file of the directory does."""
  found = []
  for file in sorted(path.rglob("*")):
    try:
      stat = file.stat()
      found.append((str(file), stat.st_size, stat.st_mtime_ns))
    except OSError:  # A link that leads nowhere, or a file that has just gone.
      found.append((str(file),))
  return found
