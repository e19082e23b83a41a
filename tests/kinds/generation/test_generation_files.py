"""LiteRT and ONNX files that write, with the loop of the client."""

import importlib
import json
import pathlib

import pytest
import tensorflow as tf

import keras_bert_impl as kb
from keras_bert_impl.kinds import file_servables
from tests import slow
from tests.kinds.generation import small_models

pytestmark = pytest.mark.integration
EXAMPLES = pathlib.Path(__file__).parents[3] / "examples"
FORMATS = ("onnx", "litert")
CASES = [(name, form) for name in ("kogpt", "kobart", "t5") for form in FORMATS]


@pytest.mark.parametrize(
  "case",
  slow.all_but([("kogpt", "litert"), ("kobart", "onnx")], CASES),
  ids="-".join,
)
def test_the_client_writes_what_python_does(
  case, folder_of, tmp_path, monkeypatch, capsys
):
  name, form = case
  monkeypatch.syspath_prepend(str(EXAMPLES))
  generate = importlib.import_module("generate")
  generator = kb.TextGenerator.from_checkpoint(folder_of(name))
  folder = generator.export(tmp_path, format=form, max_new_tokens=12)
  loaded = generate.load(tmp_path)
  prompts = [text for text in small_models.prompts(21) if text]
  servable = generator._make_servable(max_new_tokens=12)
  for prompt in prompts:
    ids, mask, _ = servable.prompts(tf.constant([prompt]))
    expected = servable.answer_ids(ids, mask)
    length = int(expected["num_tokens"][0, 0])
    found = generate.generate(*loaded, prompt)
    assert found == expected["ids"][0, 0, :length].numpy().tolist()
  monkeypatch.setattr("sys.argv", ["generate.py", folder, prompts[0], "3"])
  generate.main()
  [python] = generator.generate(prompts[0], max_new_tokens=3)
  assert capsys.readouterr().out.strip() == python["text"].strip()
  with pytest.raises(ValueError, match="which only clients read"):
    file_servables.load(folder)


def test_files_say_what_they_take(folder_of, tmp_path):
  generator = kb.TextGenerator.from_checkpoint(folder_of("t5"))
  folder = generator.export(tmp_path / "made", format="onnx")
  about = json.loads(pathlib.Path(folder, "model.json").read_text("utf-8"))
  assert about["file"] == "model.onnx"
  assert about["encoder"]["file"] == "encoder.onnx"
  assert [(x["name"], x["shape"]) for x in about["inputs"]] == [
    ("input_ids", ["batch", "length"]),
    ("past", [4, "batch", 4, "past", 8]),
    ("memory", [4, "batch", 4, "memory", 8]),
  ]
  assert about["tokens"]["end"] == [1] and about["tokens"]["start"] == 0
  with pytest.raises(ValueError, match=r"fixed_length \(8\) must be left out"):
    generator.export(tmp_path / "none", format="onnx", fixed_length=8)
  assert not (tmp_path / "none").exists()
