"""What a bar of progress shows, and where."""

import fcntl
import os
import struct
import sys
import termios

import pytest

from keras_bert_impl import progress


@pytest.mark.parametrize("rows, columns", [(0, 0), (24, 0), (24, 60)])
def test_a_terminal_shows_a_bar_whatever_size_it_says(
  monkeypatch, rows, columns
):
  screen, terminal = os.openpty()
  size = struct.pack("HHHH", rows, columns, 0, 0)
  fcntl.ioctl(terminal, termios.TIOCSWINSZ, size)
  with os.fdopen(terminal, "w") as stderr, monkeypatch.context() as patch:
    patch.setattr(sys, "stderr", stderr)
    with progress.bar("Work", total=4) as bar:
      bar.update(1)
  shown = os.read(screen, 10_000).decode()
  os.close(screen)
  assert "Work" in shown and "|" in shown
