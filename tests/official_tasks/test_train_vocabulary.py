import json
import os
import random

import pytest

from keras_bert_impl import tokenizers
from keras_bert_impl.tokenizers.formats import tokenizer_options
from keras_bert_impl.tokenizers.formats import vocabularies as vocabulary
from tests.official_tasks import scripts

pytestmark = pytest.mark.integration

DATA = os.environ.get("KERAS_BERT_DATA")


def _run(**flags):
  status, out, err = scripts.run("train_vocabulary", **flags)
  assert status == 0, err
  return out


def test_it_writes_a_vocabulary_its_options_and_its_results(tmp_path):
  (tmp_path / "a.txt").write_text(
    "러스트는 빠른 언어입니다.\n러스트는 안전한 언어입니다.\n\n함수입니다.\n"
  )
  (tmp_path / "b.txt").write_text("Rust 언어.\nRust 함수.")
  vocab_file = tmp_path / "model" / "vocab.txt"
  out = _run(
    input_file=f"{tmp_path}/a.txt,{tmp_path}/b*.txt",
    vocab_file=vocab_file,
    input_format="sentences",
    vocab_size=58,
    min_frequency=1,
  )
  learned = vocabulary.Vocabulary.load(vocab_file)
  assert learned.size == 58
  assert {"러", "rust"} <= set(learned.tokens)
  assert tokenizer_options.resolve(vocab_file).compose_hangul
  results = json.loads((tmp_path / "model/vocab.txt.results.json").read_text())
  assert results["data"]["num_documents"] == 3
  assert results["data"]["num_sentences"] == 5
  assert results["vocabulary"]["fingerprint"] == learned.fingerprint
  assert results["vocabulary"]["unknown_share"] == 0
  assert str(vocab_file) in out


def test_hangul_stays_whole_unless_told_otherwise(tmp_path):
  (tmp_path / "text.txt").write_text("러스트는 빠른 언어입니다.\n" * 20)
  usual = {"input_file": tmp_path / "text.txt", "input_format": "sentences"}
  usual["vocab_size"] = 40
  told = {"whole": {}, "apart": {"compose_hangul": False}}
  outcomes = scripts.run_all(
    "train_vocabulary",
    {
      name: usual | flags | {"vocab_file": tmp_path / name / "vocab.txt"}
      for name, flags in told.items()
    },
  )
  for name, (status, _, err) in outcomes.items():
    assert status == 0, err
    is_whole = name == "whole"
    assert ("Give --compose_hangul=False" in err) == is_whole
    made = tokenizers.load(tmp_path / name)
    assert made.options.compose_hangul == is_whole
    letters = {*"".join(made.vocabulary.tokens)}
    assert ("러" in letters, "\u1105" in letters) == (is_whole, not is_whole)


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
  _run(
    input_file=tmp_path / "text.txt",
    vocab_file=vocab_file,
    tokenizer=name,
    input_format="sentences",
    vocab_size=300 if name == "byte_bpe" else 90,
  )
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


def test_a_mistake_is_told_in_one_line_and_writes_nothing(tmp_path):
  (tmp_path / "text.txt").write_text("a b\n")
  (tmp_path / "empty.txt").write_text("\n\n")
  (tmp_path / "model").mkdir()
  kept = ("first.json", "merges.txt", "model/vocab.txt", "model/tf_model.h5")
  for name in kept:
    (tmp_path / name).write_text("kept")
  before = {path: path.read_text() for path in tmp_path.rglob("*.*")}
  bpe = {"tokenizer": "byte_bpe", "vocab_file": "v.json"}
  scripts.check_mistakes(
    "train_vocabulary",
    [
      (bpe | {"vocab_file": "v.txt"}, "v.txt) must be named like vocab.json f"),
      ({"vocab_file": "x.model"}, "must be named like vocab.txt for"),
      (
        bpe | {"do_lower_case": True},
        "do_lower_case (True) must be left out for --tokenizer=byte_bpe",
      ),
      (
        {"add_prefix_space": False},
        "add_prefix_space (False) must be left out for --tokenizer=wordpiece",
      ),
      (
        bpe | {"runner": "DirectRunner"},
        "runner (DirectRunner) must be left out for --tokenizer=byte_bpe",
      ),
      (
        {"vocab_file": f"{__file__}/model/vocab.txt"},
        "vocab.txt cannot be written: Not a directory",
      ),
      (
        bpe | {"vocab_file": tmp_path / "second.json"},
        "merges.txt, which is of another vocabulary",
      ),
      (
        {"vocab_file": tmp_path / "model/vocab.txt"},
        "vocab.txt) is the vocabulary of the model beside it",
      ),
      ({"input_file": tmp_path / "empty.txt"}, "The text has no words"),
    ],
    lambda **flags: {
      "input_file": tmp_path / "text.txt",
      "vocab_file": tmp_path / "vocab.txt",
      **flags,
    },
  )
  assert before == {path: path.read_text() for path in tmp_path.rglob("*.*")}


@pytest.mark.acceptance
@pytest.mark.skipif(not DATA, reason="KERAS_BERT_DATA is not set")
def test_books_give_the_same_16000_tokens_every_time(tmp_path):
  vocabularies = []
  for name in ("first", "second"):
    vocab_file = tmp_path / name / "vocab.txt"
    _run(
      input_file=f"{DATA}/text/gutenberg/*.txt",
      vocab_file=vocab_file,
      vocab_size=16000,
    )
    vocabularies.append(vocabulary.Vocabulary.load(vocab_file))
  assert vocabularies[0].size == 16000
  assert vocabularies[0].tokens == vocabularies[1].tokens
