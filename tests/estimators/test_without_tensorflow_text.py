"""Where tensorflow-text and fcntl are missing, as on Windows."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

import keras_bert_impl as kb
from tests.tokenizers import vocabularies

TEXTS = ["the cat sat", "A [MASK] film, so good!", "", "고양이가 앉았다 x"]


@pytest.mark.integration
def test_ids_are_the_same_and_models_are_trained(checkpoint, tmp_path):
  paths = [vocabularies.write(tmp_path)]
  for name in ("byte_bpe", "sentencepiece"):
    folder = tmp_path / name
    folder.mkdir()
    paths.append(str(getattr(vocabularies, f"write_{name}")(folder)))
  arguments = map(json.dumps, (paths, TEXTS, checkpoint))
  script = pathlib.Path(__file__).with_name("without_tensorflow_text.py")
  found = subprocess.run(
    [sys.executable, script, *arguments],
    capture_output=True,
    text=True,
    env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    timeout=300,
  )
  assert found.returncode == 0, found.stderr
  result = json.loads(found.stdout.splitlines()[-1])
  for path in paths:
    tokenizer = kb.load_tokenizer(path)
    ids, rows = result["ids"][path]
    assert ids == tokenizer.tokenize(TEXTS).to_list()
    expected = tokenizer(TEXTS, max_seq_length=8)["input_ids"].numpy()
    for row, reference in zip(rows, expected.tolist()):
      assert row == reference[: len(row)]
      pad = tokenizer.vocabulary.pad_id
      assert set(reference[len(row) :]) <= {pad}
  assert result["answer"]["label"] in ("p", "n")
  assert "pip install tensorflow-text" in result["error"]
  assert "text is tokenized by the tokenizers library" in found.stderr
