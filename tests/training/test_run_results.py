"""Results: read again, in tables and as curves."""

import json

import pytest

from keras_bert_impl.training import run_results


def test_a_file_that_is_no_json_is_named(tmp_path):
  path = tmp_path / "results.json"
  assert run_results.read_json(path) is None
  path.write_text("{not")
  with pytest.raises(ValueError, match="results.json is not JSON.*delete"):
    run_results.read_json(path)


@pytest.mark.parametrize(
  "content, message",
  [
    ({"eval": 3}, "eval in .*results.json must be an object, not 3"),
    ({"train": []}, "train in .*results.json must be an object"),
    ({"best": "run"}, "best in .*results.json must be an object or null"),
  ],
)
def test_results_of_other_types_are_refused(tmp_path, content, message):
  (tmp_path / "results.json").write_text(json.dumps(content))
  with pytest.raises(ValueError, match=message):
    run_results.read_results(tmp_path)


def test_scores_are_those_of_a_split():
  results = {"eval": {"dev": {"scores": {"f1": 0.5}}, "test": {}}}
  assert run_results.scores_of(results, "dev") == {"f1": 0.5}
  assert run_results.scores_of(results, "test") == {}
  assert run_results.scores_of({}, "dev") == {}
  with pytest.raises(ValueError, match="f1 in eval of dev in results.json"):
    run_results.scores_of({"eval": {"dev": {"scores": {"f1": "x"}}}}, "dev")


def test_the_table_aligns_its_columns():
  lines = run_results.table(
    [("accuracy", "9.5%"), ("steps", "12000")], ("", "value")
  ).splitlines()
  assert lines == [
    "          value",
    "--------  -----",
    "accuracy   9.5%",
    "steps     12000",
  ]


def test_curves_are_drawn_for_what_was_logged(tmp_path):
  path = tmp_path / "curves.png"
  entries = [{"step": s, "masked_lm_loss": 1 / s} for s in range(1, 9)]
  run_results.plot_curves(str(path), entries, {"masked_lm_loss": 0.2})
  assert path.read_bytes().startswith(b"\x89PNG")
  assert not list(tmp_path.glob("*.tmp"))
