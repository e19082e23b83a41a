"""The Python code of serving in the documents runs."""

import pathlib
import re

import pytest

pytest.importorskip(
  "tensorflow_serving.apis", reason="needs tensorflow-serving-api"
)

from tests.serving import prediction_service  # noqa: E402

ROOT = pathlib.Path(__file__).parents[2]
SNIPPETS = [
  snippet
  for page in ("README.md", "docs/serving.md")
  for snippet in re.findall(
    r"```python\n(.*?)```", (ROOT / page).read_text("utf-8"), re.S
  )
  if "served/" in snippet or "localhost:8500" in snippet
]


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
  exec(code, {})
  assert capsys.readouterr().out
