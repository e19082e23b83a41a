import json
import os
import random
import subprocess

import pytest

from keras_bert_impl import tokenizers
from keras_bert_impl.tokenizers.formats import tokenizer_options
from keras_bert_impl.tokenizers.formats import vocabularies as vocabulary
from tests.official_tasks import forked, scripts

DATA = os.environ.get("KERAS_BERT_DATA")


def _run(*arguments):
  script = scripts.ROOT / "official_tasks/train_vocabulary.py"
  process = forked.Process([str(script), *arguments])
  out, err = process.communicate(timeout=600)
  return subprocess.CompletedProcess(arguments, process.returncode, out, err)


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
  assert tokenizer_options.resolve(vocab_file).compose_hangul
  results = json.loads((tmp_path / "model/vocab.txt.results.json").read_text())
  assert results["data"]["num_documents"] == 3
  assert results["data"]["num_sentences"] == 5
  assert results["vocabulary"]["fingerprint"] == learned.fingerprint
  assert results["vocabulary"]["unknown_share"] == 0
  assert str(vocab_file) in result.stdout


@pytest.mark.parametrize(
  "name, file_name, others, options",
  [
    (
      "byte_bpe",
      "vocab.json",
      ["merges.txt"],
      tokenizer_options.BytePairOptions(add_prefix_space=True),
    ),
    (
      "sentencepiece_unigram",
      "spiece.model",
      [],
      tokenizer_options.SentencePieceOptions(True, False, True),
    ),
    (
      "sentencepiece_bpe",
      "spiece.model",
      [],
      tokenizer_options.SentencePieceOptions(True, False, True),
    ),
  ],
)
def test_each_tokenizer_has_its_own_files(
  tmp_path, name, file_name, others, options
):
  rng = random.Random(0)
  letters = [a + b for a in "bdfgklm" for b in "aeiou"]
  lines = [
    " ".join("".join(rng.choices(letters, k=3)) for _ in range(9))
    for _ in range(60)
  ]
  (tmp_path / "text.txt").write_text("\n".join(lines))
  vocab_file = tmp_path / "model" / file_name
  result = _run(
    f"--input_file={tmp_path}/text.txt",
    f"--vocab_file={vocab_file}",
    f"--tokenizer={name}",
    "--input_format=sentences",
    "--vocab_size=300" if name == "byte_bpe" else "--vocab_size=90",
  )
  assert result.returncode == 0, result.stderr
  assert sorted(os.listdir(tmp_path / "model")) == sorted(
    [file_name, f"{file_name}.results.json", "tokenizer_config.json", *others]
  )
  tokenizer = tokenizers.load(tmp_path / "model")
  assert tokenizer.options == options
  texts = tokenizer.detokenize(tokenizer.tokenize(lines)).numpy().tolist()
  assert texts == [line.encode() for line in lines]
  path = tmp_path / "model" / f"{file_name}.results.json"
  results = json.loads(path.read_text())
  assert results["vocabulary"]["size"] == tokenizer.vocabulary.size
  assert results["vocabulary"]["unknown_share"] == 0


@pytest.mark.parametrize(
  "flags, message",
  [
    (
      ["--tokenizer=byte_bpe", "--vocab_file=vocab.txt"],
      "vocab_file (vocab.txt) must be named like vocab.json for",
    ),
    (["--vocab_file=x.model"], "must be named like vocab.txt for"),
    (
      ["--tokenizer=byte_bpe", "--vocab_file=v.json", "--do_lower_case"],
      "do_lower_case (True) must be left out for --tokenizer=byte_bpe",
    ),
    (
      ["--vocab_file=vocab.txt", "--noadd_prefix_space"],
      "add_prefix_space (False) must be left out for --tokenizer=wordpiece",
    ),
    (
      ["--tokenizer=byte_bpe", "--vocab_file=v.json", "--runner=DirectRunner"],
      "runner (DirectRunner) must be left out for --tokenizer=byte_bpe",
    ),
    (
      [f"--vocab_file={__file__}/model/vocab.txt"],
      "vocab.txt cannot be written: Not a directory",
    ),
  ],
)
def test_flags_that_do_not_fit_are_told_in_one_line(tmp_path, flags, message):
  result = _run("--input_file=nowhere.txt", *flags)
  assert result.returncode == 1
  [line] = [x for x in result.stderr.splitlines() if x.startswith("Error: ")]
  assert message in line
  assert "Traceback" not in result.stderr


def test_merges_of_another_vocabulary_are_not_replaced(tmp_path):
  (tmp_path / "text.txt").write_text("a b\n")
  for name in ("first.json", "merges.txt"):
    (tmp_path / name).write_text("kept")
  result = _run(
    f"--input_file={tmp_path}/text.txt",
    f"--vocab_file={tmp_path}/second.json",
    "--tokenizer=byte_bpe",
  )
  assert result.returncode == 1
  [line] = [x for x in result.stderr.splitlines() if x.startswith("Error: ")]
  assert "merges.txt, which is of another vocabulary" in line
  assert "NAME-vocab.json" in line
  assert (tmp_path / "merges.txt").read_text() == "kept"


def test_a_text_without_words_gives_one_line_and_writes_nothing(tmp_path):
  (tmp_path / "empty.txt").write_text("\n\n")
  vocab_file = tmp_path / "vocab.txt"
  result = _run(
    f"--input_file={tmp_path}/empty.txt", f"--vocab_file={vocab_file}"
  )
  assert result.returncode == 1
  assert "Error: The text has no words" in result.stderr
  assert "Traceback" not in result.stderr
  assert os.listdir(tmp_path) == ["empty.txt"]


@pytest.mark.acceptance
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
