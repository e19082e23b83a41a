"""The recipes of docs/extending.md work as they stand there."""

import pathlib
import re

from keras_bert_impl.tasks import objectives
from keras_bert_impl.training import config as config_lib
from official_tasks.pretraining import config as pretraining_config
from official_tasks.pretraining import run as pretraining_run
from tests.official_tasks import scripts
from tfrecords import masking_config

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
    config_lib.TrainingConfig(
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
