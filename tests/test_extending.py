"""The recipes of docs/extending.md work as they stand there."""

import dataclasses
import json
import pathlib
import re

import numpy as np
import pytest
import safetensors.numpy

from keras_bert_impl import configs, families, heads, models, tokenizers
from keras_bert_impl.checkpoints import writing
from keras_bert_impl.checkpoints.descriptions import description
from keras_bert_impl.checkpoints.naming import mappings
from keras_bert_impl.runs.pretraining import pretraining_config, pretraining_run
from keras_bert_impl.tasks import objectives
from keras_bert_impl.training import training_config
from tests.official_tasks import scripts
from tests.tokenizers import vocabularies
from tfrecords import masking_config

pytestmark = pytest.mark.integration

RECIPES = pathlib.Path(__file__).parents[1] / "docs/extending.md"


def code_of(heading):
  """Returns the longest block of code under a heading of the recipes."""
  sections = re.split(r"^## ", RECIPES.read_text(), flags=re.MULTILINE)
  [section] = [text for text in sections if text.startswith(heading)]
  return max(re.findall(r"```python\n(.*?)```", section, re.DOTALL), key=len)


def test_an_objective_is_one_file_and_one_line(tmp_path, monkeypatch):
  module = {}
  exec(code_of("A pre-training objective"), module)
  monkeypatch.setitem(objectives.OBJECTIVES, "halves", module["HALVES"])
  scripts.write_model_files(tmp_path)
  input_file = scripts.write_records(tmp_path, packing="doc_sentences")
  config = pretraining_config.PretrainingConfig(
    pretraining_config.DataConfig(
      input_file=input_file,
      bert_config_file=str(tmp_path / "bert_config.json"),
      objective="halves",
      max_seq_length=scripts.LENGTH,
      do_train=True,
    ),
    masking_config.MaskingConfig(max_predictions_per_seq=5),
    training_config.TrainingConfig(
      output_dir=str(tmp_path / "out"),
      train_batch_size=8,
      eval_batch_size=8,
      num_train_steps=2,
      num_warmup_steps=1,
    ),
    module["HalvesOptions"](half_weight=0.5),
  )
  run = pretraining_run.PretrainingRun(config)
  run.train()
  run.evaluate()
  run.report()
  results = scripts.results(tmp_path / "out")
  assert results["train"]["steps"] == 2
  assert {"masked_lm_loss", "half_loss"} <= results["eval"].keys()
  assert results["configuration"]["half_weight"] == 0.5
  assert results["configuration"]["masking_policy"] == "whole_word"


@pytest.fixture(name="family")
def toy_family(monkeypatch):
  module = {}
  exec(code_of("A family"), module)
  family = module["FAMILY"]
  monkeypatch.setitem(families.FAMILIES, family.name, family)
  return family


def write(folder, family, head=heads.ENCODER):
  """Writes a small model of a family as `transformers` would; returns it."""
  config = configs.EncoderConfig(
    **family.presets["toy_base"]
    | {"hidden_size": 16, "intermediate_size": 32, "vocab_size": 300},
    model_type=family.name,
  )
  described = description.Description(config, head)
  model = models.TransformerEncoder(config)
  tensors = mappings.Arrays({w.path: w for w in model.weights})
  assert writing.write_safetensors(folder, tensors, described, 10**9) == []
  return model


def test_a_family_of_one_file_reads_and_writes_checkpoints(family, tmp_path):
  model = write(tmp_path, family)
  values = json.loads((tmp_path / "config.json").read_text())
  assert values["model_type"] == "toy"
  assert values["architectures"] == ["ToyModel"]
  assert (values["width"], values["depth"]) == (16, 2)
  assert "hidden_size" not in values and "type_vocab_size" not in values
  stored = safetensors.numpy.load_file(tmp_path / "model.safetensors")
  assert {name for name in stored if ".1." in name} == {
    f"blocks.1.{module}.{leaf}"
    for module in (
      *(f"attention.{m}" for m in ("query", "key", "value", "out", "norm")),
      *("up", "down", "norm"),
    )
    for leaf in ("weight", "bias")
  }
  again = models.from_checkpoint(tmp_path)
  assert dataclasses.replace(again.config, embedding_size=None) == model.config
  for ours, theirs in zip(again.weights, model.weights, strict=True):
    np.testing.assert_array_equal(ours, theirs)


def test_its_texts_are_framed_as_its_file_says(family, tmp_path):
  write(tmp_path, family)
  vocabularies.write(tmp_path, ["the", "cat", "sat"])
  tokenizer = tokenizers.load(tmp_path)
  inputs = tokenizer(["the cat"], ["sat"])
  tokens = [
    tokenizer.vocabulary.tokens[i] for i in inputs["input_ids"].numpy()[0]
  ]
  assert " ".join(tokens) == "[CLS] the cat [SEP] [SEP] sat [SEP]"
  assert not np.any(inputs["segment_ids"])
