"""Exports are scored as their checkpoints are, and weighed and timed."""

import json

import pytest

import keras_bert_impl as kb
from keras_bert_impl.kinds import comparison, opening
from keras_bert_impl.model_folders import model_files
from keras_bert_impl.serving.small import export as small

SHORT = {"epochs": 1, "batch_size": 4, "learning_rate": 1e-3}


def make(kind, folder):
  """Returns an estimator, its data, and the path of a file of them."""
  if kind == "tags":
    sentences, tags = [["cat", "sat"], ["the", "a"]] * 4, [["B-X", "O"]] * 8
    text = "\n\n".join(
      "\n".join(map(" ".join, zip(*pair))) for pair in zip(sentences, tags)
    )
    path = folder / "dev.txt"
    path.write_text(text + "\n")
    return kb.TokenTagger, (sentences, tags), path
  if kind == "answers":
    answers = [{"text": "the cat", "answer_start": 0}]
    asked = [
      {"id": str(n), "question": "who sat", "answers": answers}
      for n in range(8)
    ]
    paragraph = {"context": "the cat sat", "qas": asked}
    path = folder / "dev.json"
    path.write_text(json.dumps({"data": [{"paragraphs": [paragraph]}]}))
    return kb.QuestionAnswerer, (path,), path
  if kind == "choices":
    rows = [
      {"text": "it sat", "choices": ["the cat", "x"], "label": n % 2}
      for n in range(8)
    ]
  elif kind == "vectors":
    rows = [
      {"a": "the cat", "b": "a cat " * n, "score": n} for n in range(1, 9)
    ]
  else:
    rows = [{"words": "cat " * n, "class": "ab"[n % 2]} for n in range(1, 9)]
  path = folder / "dev.jsonl"
  path.write_text("".join(json.dumps(row) + "\n" for row in rows))
  if kind == "vectors":
    return None, None, path
  if kind == "choices":
    return kb.ChoiceAnswerer, (rows,), path
  data = [row["words"] for row in rows], [row["class"] for row in rows]
  return kb.TextClassifier, data, path


def compare(checkpoint, path, folder, file_format, columns=(), **form):
  """Returns the `Comparison` of a checkpoint and its export."""
  files = model_files.ModelFilesConfig()
  head = "encoder" if columns[2:] else None
  servable, _ = opening.make_servable(files, checkpoint, head, 16)
  compared = comparison.Comparison(
    servable, checkpoint, str(path), file_format, columns
  )
  version_dir = small.export_as(
    servable, str(folder / "served"), format=file_format, **form
  )
  compared.add(version_dir, form.get("weights_dtype"))
  return compared


@pytest.mark.parametrize(
  ("kind", "file_format", "columns"),
  [
    pytest.param(
      *("texts", "litert", ["words", "class"]), marks=pytest.mark.integration
    ),
    *(
      pytest.param(*values, marks=pytest.mark.slow)
      for values in (
        ("texts", "saved_model", ["words", "class"]),
        ("tags", "onnx", ()),
        ("answers", "onnx", ()),
        ("choices", "onnx", ()),
      )
    ),
  ],
)
def test_an_export_in_float32_has_the_scores_of_its_estimator(
  checkpoint, tmp_path, kind, file_format, columns
):
  if file_format != "saved_model":
    pytest.importorskip("ai_edge_litert")
    pytest.importorskip("tf2onnx")
  estimator, data, path = make(kind, tmp_path)
  model = estimator.from_checkpoint(checkpoint, max_seq_length=16)
  known = {"max_query_length": 4} if kind == "answers" else {}
  model.fit(*data, output_dir=tmp_path / "run", **SHORT, **known)
  names = ("text_column", "label_column") if columns else ()
  expected = model.evaluate(str(path), **dict(zip(names, columns)))
  run = str(tmp_path / "run")
  compared = compare(run, path, tmp_path, file_format, columns)
  found = compared.results
  for name in ("checkpoint", "export"):
    assert found[name]["scores"] == pytest.approx(expected, abs=1e-4)
    assert 0 < found[name]["ms"]["p50"] <= found[name]["ms"]["p99"]
  # The graph, the tokenizer and a small model's other files are beside it.
  assert found["export"]["bytes"] > 0.9 * found["checkpoint"]["bytes"]
  lines = compared.table().splitlines()
  assert lines[0].split() == ["checkpoint", "export"]
  assert [line.split("  ")[0] for line in lines[2:6]] == [
    "weights",
    "MB",
    "ms a row, p50",
    "ms a row, p99",
  ]
  assert {line.split()[0] for line in lines[6:]} == expected.keys()


@pytest.mark.integration
def test_vectors_in_int8_are_scored_by_their_own_numbers(checkpoint, tmp_path):
  pytest.importorskip("tf2onnx")
  path = make("vectors", tmp_path)[2]
  columns, form = ["a", "b", "score"], {"weights_dtype": "int8"}
  found = compare(checkpoint, path, tmp_path, "onnx", columns, **form).results
  before, after = (found[name]["scores"] for name in ("checkpoint", "export"))
  assert before.keys() == after.keys() == {"spearman", "pearson"}
  assert before["pearson"] != after["pearson"]
  assert before["pearson"] == pytest.approx(after["pearson"], abs=0.1)


@pytest.mark.parametrize(
  ("head", "columns", "message"),
  [
    ("fill_mask", (), "--compare_with .* needs a head that is scored"),
    ("token_classification", ("a", "b"), r"--compare_columns \(a,b\)"),
    ("regression", ("a",), r"--compare_columns \(a\) must be one or two"),
  ],
)
def test_what_cannot_be_compared_is_refused(
  checkpoint, tmp_path, head, columns, message
):
  model = kb.from_checkpoint(checkpoint)
  path = tmp_path / "dev.tsv"

  class Servable:
    max_seq_length = 16
    model_weights = model.weights

  Servable.head = head
  with pytest.raises(ValueError, match=message):
    comparison.Comparison(
      Servable, checkpoint, str(path), "saved_model", columns
    )
