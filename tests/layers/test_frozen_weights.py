"""Weights that products take for frozen cannot be trained."""

import pytest

from keras_bert_impl.layers.basics import kernels

NAME = "TF_ONEDNN_ASSUME_FROZEN_WEIGHTS"


@pytest.mark.parametrize("value", ["1", "true"])
def test_nothing_trains_with_them(monkeypatch, value):
  monkeypatch.setenv(NAME, value)
  with pytest.raises(ValueError, match=f"{NAME} is '{value}' .* Unset it"):
    kernels.check_trainable()


@pytest.mark.parametrize("value", ["0", "false", None])
def test_without_them_everything_does(monkeypatch, value):
  monkeypatch.delenv(NAME, raising=False)
  if value is not None:
    monkeypatch.setenv(NAME, value)
  kernels.check_trainable()


def test_what_the_environment_says_comes_first(monkeypatch):
  monkeypatch.setenv(NAME, "0")
  kernels.assume_frozen_weights()
  kernels.check_trainable()
