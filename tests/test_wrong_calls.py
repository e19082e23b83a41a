"""Every wrong call ends in one sentence that names what is wrong."""

import pytest

from tests import wrong_calls
from tests.estimators.conftest import fixture_checkpoint  # noqa: F401


@pytest.mark.parametrize(
  "share",
  [
    pytest.param(5, marks=pytest.mark.acceptance),
    pytest.param(100, marks=pytest.mark.slow),
  ],
)
def test_wrong_calls_are_told(checkpoint, share, tmp_path, monkeypatch):
  monkeypatch.chdir(tmp_path)
  with wrong_calls.without_work(monkeypatch):
    found = [
      verdict
      for subject in wrong_calls.subjects(checkpoint)
      for verdict in wrong_calls.verdicts(subject, share)
    ]
  print(f"{len(found)} calls")
  assert not [*filter(None, found)]


def test_some_wrong_calls_are_told(checkpoint, tmp_path, monkeypatch):
  monkeypatch.chdir(tmp_path)
  with wrong_calls.without_work(monkeypatch):
    for subject in wrong_calls.functions(checkpoint):
      if subject.name in ("from_checkpoint", "lora", "TrainingConfig"):
        assert not [*filter(None, wrong_calls.verdicts(subject, 40))]
