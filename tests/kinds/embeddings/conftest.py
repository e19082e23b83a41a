"""Vectors are served by the small models of `tests.serving`."""

from tests.serving.conftest import fixture_tokenizer  # noqa: F401
