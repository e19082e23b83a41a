"""Bars of progress: what they show, and where."""

import fcntl
import functools
import io
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


class Cell(io.StringIO):
  """Stands in for the stderr of a notebook."""


Cell.__module__ = "ipykernel.iostream"


def test_a_notebook_shows_a_bar_that_moves_below_what_is_told(monkeypatch):
  monkeypatch.delenv("TQDM_DISABLE", raising=False)
  monkeypatch.setattr(sys, "stderr", Cell())
  with progress.bar("Work", total=4) as bar:
    bar.update(2)
    progress.tell("half")
  before, after = sys.stderr.getvalue().split("half\n")
  assert "Work:   0%|" in before and before.endswith("\r")
  assert "Work:  50%|" in after


@pytest.fixture
def lines(monkeypatch, capsys):
  monkeypatch.delenv("TQDM_DISABLE", raising=False)
  monkeypatch.setattr(progress, "_SECONDS_PER_LINE", 0)
  return lambda: capsys.readouterr().err.splitlines()


@pytest.mark.parametrize("is_shown", [True, False])
def test_what_is_told_is_a_line_where_bars_are_shown(
  lines, is_shown, monkeypatch
):
  bar = functools.partial(progress.bar, disable=not is_shown)
  monkeypatch.setattr(progress, "bar", bar)
  with progress.bar("Work", total=2):
    progress.tell("half")
  assert ("half" in lines()) == is_shown


def test_each_state_is_a_line_with_the_share_that_is_done(lines):
  with progress.bar("Texts", total=4) as bar:
    bar.update(1)
  assert lines()[1].startswith("Texts: 25 %, 1/4 [")


def test_no_share_is_told_of_an_unknown_total(lines):
  with progress.bar("Texts") as bar:
    bar.update(3)
    bar.set_postfix(loss=1.5)
  written = lines()
  assert written[1].startswith("Texts: 3 [")
  assert "loss=1.5" in written[-1]
  assert not any(" %" in line or "/?" in line for line in written)


def test_a_total_that_becomes_known_is_told(lines):
  with progress.bar("Text") as bar:
    progress.advance(bar, 10, 40)
    progress.advance(bar, 20, 40)
  written = lines()
  assert written[0].startswith("Text: 0 [")
  assert written[-1].startswith("Text: 50 %, 20/40 [")
