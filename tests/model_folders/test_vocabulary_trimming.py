"""Checkpoints whose vocabulary is trimmed to the tokens of a corpus."""

import dataclasses
import json
import pathlib
import shutil

import numpy as np
import pytest
import safetensors.numpy

from keras_bert_impl import models, tokenizers
from keras_bert_impl.checkpoints import reading
from keras_bert_impl.model_folders import conversion
from tests import slow
from tests.tokenizers import vocabularies

PARITY = pathlib.Path(__file__).parents[1] / "data/parity"
CORPUS = "Hello world, the cat sat: 한국어가 playing 1987.\n\nThe cat again.\n"
# {kind of vocabulary: (model, its table and what else has a row per token)}
MODELS = {
  "wordpiece": (
    "bert_pretraining",
    ("bert.embeddings.word_embeddings.weight", "cls.predictions.bias"),
  ),
  "byte_bpe": (
    "roberta_masked_lm",
    ("roberta.embeddings.word_embeddings.weight", "lm_head.bias"),
  ),
  "sentencepiece": (
    "albert_pretraining",
    ("albert.embeddings.word_embeddings.weight", "predictions.bias"),
  ),
}


def write_checkpoint(folder, kind):
  """Writes a model with a table of the size of its vocabulary."""
  name, tables = MODELS[kind]
  for file in ("config.json", "model.safetensors"):
    shutil.copy(PARITY / name / file, folder)
  size = tokenizers.load(vocabularies.WRITERS[kind](folder)).vocabulary.size
  arrays = safetensors.numpy.load_file(folder / "model.safetensors")
  for table in tables:
    shape = (size, *arrays[table].shape[1:])
    drawn = np.random.default_rng(0).normal(0, 0.1, shape)
    arrays[table] = drawn.astype(np.float32)
  safetensors.numpy.save_file(arrays, folder / "model.safetensors")
  config = json.loads((folder / "config.json").read_text())
  (folder / "config.json").write_text(json.dumps(config | {"vocab_size": size}))


@pytest.mark.parametrize(
  "kind", slow.all_but(["wordpiece"], MODELS, mark=pytest.mark.integration)
)
def test_texts_of_the_corpus_keep_tokens_and_outputs(kind, tmp_path):
  source, out, corpus = (tmp_path / x for x in ("in", "out", "corpus.txt"))
  source.mkdir()
  write_checkpoint(source, kind)
  corpus.write_text(CORPUS, encoding="utf-8")
  given = conversion.ConversionConfig(
    str(source), str(out), trim_vocab=str(corpus)
  )
  results = conversion.convert(given)
  old, new = map(tokenizers.load, (source, out))
  left_out = old.vocabulary.size - new.vocabulary.size
  assert left_out == results["model"]["num_trimmed_tokens"] > 0
  texts = [CORPUS.split("\n", maxsplit=1)[0], "The cat again."]
  rows = [
    [tokenizer.vocabulary.tokens[i] for i in row]
    for tokenizer in (old, new)
    for row in tokenizer(texts)["input_ids"].numpy().tolist()
  ]
  assert rows[:2] == rows[2:]
  before, after = (
    models.from_checkpoint(folder)(tokenizer(texts))
    for folder, tokenizer in ((source, old), (out, new))
  )
  kept = [old.vocabulary.ids[token] for token in new.vocabulary.tokens]
  np.testing.assert_allclose(
    after["sequence_output"], before["sequence_output"], atol=1e-6
  )
  bias, trimmed = (
    reading.open_checkpoint(folder).tensors["cls/predictions/output_bias"]
    for folder in (source, out)
  )
  np.testing.assert_array_equal(trimmed, bias[kept])


def test_what_cannot_be_trimmed_is_refused_and_nothing_written(tmp_path):
  source, out = tmp_path / "in", tmp_path / "out"
  source.mkdir()
  write_checkpoint(source, "wordpiece")
  given = conversion.ConversionConfig(
    str(source), str(out), trim_vocab=str(tmp_path / "no.txt")
  )
  with pytest.raises(FileNotFoundError, match="no.txt"):
    conversion.convert(given)
  (tmp_path / "empty.txt").write_text("\n\n")
  given = dataclasses.replace(given, trim_vocab=str(tmp_path / "empty.txt"))
  with pytest.raises(ValueError, match="empty.txt.* has no text to keep"):
    conversion.convert(given)
  assert not out.exists()
  with pytest.raises(ValueError, match="trim_vocab.*left out with"):
    conversion.ConversionConfig("in", "out", extend_vocab="w", trim_vocab="c")
