"""Notices files of records that are exchanged while they are read."""

import concurrent.futures

import tensorflow as tf

from tfrecords import manifest


class Watch:
  """Files of records, as they are when it is made.

  Args:
    manifests: {path: what `manifest.read` returns for it}.
  """

  def __init__(self, manifests):
    self._manifests = manifests
    self._stamps = _stamps(manifests)

  def check(self):
    """Checks that the files are still the same ones.

    One that is gone is left to who reads it, and so is one that has another
    time only, if its manifest tells that its content is the same.

    Raises:
      ValueError: a file has changed; names it.
    """
    now = _stamps(self._manifests)
    for file, stamp in now.items():
      if stamp in (None, self._stamps[file]):
        continue
      content = self._manifests[file]
      if content is None or not manifest.is_intact(file, content):
        raise ValueError(
          f"the TFRecord file {file} has been exchanged or written to while it"
          " was read: bring it back, and the same command continues; for the"
          " new one choose another --output_dir."
        )
      self._stamps[file] = stamp


def _stamps(files):
  """Returns {path: (size, time of the last change)}, None of what is gone."""
  # In an object store, each takes some hundredths of a second.
  with concurrent.futures.ThreadPoolExecutor() as pool:
    return dict(zip(files, pool.map(_stamp, files), strict=True))


def _stamp(file):
  try:
    status = tf.io.gfile.stat(file)
  except tf.errors.NotFoundError:
    return None
  return status.length, status.mtime_nsec
