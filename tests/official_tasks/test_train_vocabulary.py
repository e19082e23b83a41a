import json
import os
import pathlib
import subprocess
import sys

import pytest

from keras_bert_impl.tokenizers import vocabulary

ROOT = pathlib.Path(__file__).parents[2]
DATA = os.environ.get("KERAS_BERT_DATA")


def _run(*arguments):
  return subprocess.run(
    [sys.executable, "official_tasks/train_vocabulary.py", *arguments],
    cwd=ROOT,
    capture_output=True,
    text=True,
    # What is tested is the script's own output.
    env=os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"},
  )


def test_it_writes_a_vocabulary_its_options_and_its_results(tmp_path):
  (tmp_path / "a.txt").write_text(
    "러스트는 빠른 언어입니다.\n러스트는 안전한 언어입니다.\n\n함수입니다.\n"
  )
  (tmp_path / "b.txt").write_text("Rust 언어.\nRust 함수.")
  vocab_file = tmp_path / "model" / "vocab.txt"
  result = _run(
    f"--input_file={tmp_path}/a.txt,{tmp_path}/b*.txt",
    f"--vocab_file={vocab_file}",
    "--input_format=sentences",
    "--vocab_size=58",
    "--min_frequency=1",
    "--compose_hangul",
  )
  assert result.returncode == 0, result.stderr
  learned = vocabulary.Vocabulary.load(vocab_file)
  assert learned.size == 58
  assert {"러", "rust"} <= set(learned.tokens)
  assert vocabulary.load_options(vocab_file).compose_hangul
  results = json.loads((tmp_path / "model/vocab.txt.results.json").read_text())
  assert results["data"]["num_documents"] == 3
  assert results["data"]["num_sentences"] == 5
  assert results["vocabulary"]["fingerprint"] == learned.fingerprint
  assert results["vocabulary"]["unknown_share"] == 0
  assert str(vocab_file) in result.stdout


def test_a_text_without_words_gives_one_line_and_writes_nothing(tmp_path):
  (tmp_path / "empty.txt").write_text("\n\n")
  vocab_file = tmp_path / "vocab.txt"
  result = _run(
    f"--input_file={tmp_path}/empty.txt", f"--vocab_file={vocab_file}"
  )
  assert result.returncode == 1
  assert "Error: The text holds no words" in result.stderr
  assert "Traceback" not in result.stderr
  assert os.listdir(tmp_path) == ["empty.txt"]


@pytest.mark.slow
@pytest.mark.skipif(not DATA, reason="KERAS_BERT_DATA is not set")
def test_books_give_the_same_16000_tokens_every_time(tmp_path):
  vocabularies = []
  for name in ("first", "second"):
    vocab_file = tmp_path / name / "vocab.txt"
    result = _run(
      f"--input_file={DATA}/text/gutenberg/*.txt",
      f"--vocab_file={vocab_file}",
      "--vocab_size=16000",
    )
    assert result.returncode == 0, result.stderr
    vocabularies.append(vocabulary.Vocabulary.load(vocab_file))
  assert vocabularies[0].size == 16000
  assert vocabularies[0].tokens == vocabularies[1].tokens
