"""The Python code of docs/serving.md."""

import pathlib
import re

import pytest

pytest.importorskip(
  "tensorflow_serving.apis", reason="needs tensorflow-serving-api"
)

from tests.serving import prediction_service  # noqa: E402

PAGE = pathlib.Path(__file__).parents[2] / "docs/serving.md"
SNIPPETS = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.S)


@pytest.fixture(scope="module")
def places(exports):
  """{what the page says: what is there in this test}."""
  version_dir = exports["classification_of_pairs"].version_dir
  with prediction_service.serve({"qnli": version_dir}) as address:
    yield {"localhost:8500": address, "served/qnli/1": str(version_dir)}


@pytest.mark.parametrize("number", range(len(SNIPPETS)))
def test_the_code_of_the_page_runs(places, number, capsys):
  code = SNIPPETS[number]
  for written, meant in places.items():
    code = code.replace(written, meant)
  assert code != SNIPPETS[number], "The code asks no model."
  exec(compile(code, str(PAGE), "exec"), {})
  assert capsys.readouterr().out
