"""The data and models of run_pretraining.py without data, by objective."""

import dataclasses
import glob
import itertools
import pathlib

import numpy as np
import pytest

from keras_bert_impl import choices, configs, families, heads
from keras_bert_impl.runs.pretraining import (
  default_models,
  default_pretraining,
  pretraining_config,
  pretraining_records,
)
from keras_bert_impl.runs.vocabulary_learning import methods
from keras_bert_impl.tasks import objectives
from keras_bert_impl.tasks.basics import pretraining
from keras_bert_impl.tokenizers.formats import vocabularies
from keras_bert_impl.training import training_config
from tests import slow
from tfrecords import manifest, masking_config
from tfrecords.text import python_documentation, sources

# The vocabularies that the papers' releases have.
KINDS = {
  "bert": "wordpiece",
  "roberta": "byte_bpe",
  "albert": "sentencepiece",
  "spanbert": "wordpiece",
  "electra": "wordpiece",
  "left_to_right": "wordpiece",
  "right_to_left": "wordpiece",
  "bidirectional_pair": "wordpiece",
  "elmo": "wordpiece",
  "xlnet": "sentencepiece",
  "modernbert": "byte_bpe",
  "deberta": "byte_bpe",
  "deberta_v3": "sentencepiece",
  "bart": "byte_bpe",
  "t5": "sentencepiece",
  "gpt": "byte_bpe",
  "next_sentence_words": "byte_bpe",
  "next_sentence_ranking": "wordpiece",
}
# Rows are cut of all text, without [CLS].
CUT = ("t5", "gpt")
QUICK = ("albert", "modernbert")  # The others differ in what these show.


def test_each_objective_is_here():
  assert KINDS.keys() == default_models.MODELS.keys()
  # A student needs a teacher, and records in its vocabulary.
  assert {*KINDS, "distil"} == objectives.OBJECTIVES.keys()


def test_each_recipe_has_defaults_or_is_the_papers():
  assert {"paper", *default_models.RECIPES} == {*pretraining_config.RECIPES}


@pytest.mark.parametrize("name", [*KINDS, "fast"])
def test_the_model_of_an_objective_is_small_and_can_learn_it(name):
  recipe = name if name in default_models.RECIPES else "paper"
  chosen = default_models.of_data(
    pretraining_config.DataConfig(
      recipe=recipe, objective="bert" if recipe == name else name
    )
  )
  name = chosen.flags.get("objective", name)
  config = default_models.encoder_config(chosen, 600, 24)
  assert config.max_sequence_length >= 24
  layers = 4 if recipe == "fast" else 2
  assert (config.num_hidden_layers, config.hidden_size) == (layers, 128)
  if chosen is default_models.MODELS[name]:
    assert methods.METHODS[chosen.tokenizer].kind == KINDS[name]
  # A known optimizer, and rates in their intervals.
  values = default_pretraining.FLAG_VALUES | chosen.flags
  fields = {f.name for f in dataclasses.fields(training_config.TrainingConfig)}
  training_config.TrainingConfig(
    **{name: value for name, value in values.items() if name in fields}
  )
  objective = objectives.OBJECTIVES[name]
  data = pretraining.PretrainingData(24, sentence_loss=objective.sentence_loss)
  model = objective.task(config, data).build_model()
  assert model.count_params() < 5e6


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
  """Folder of a few texts of the machine."""
  find = python_documentation.iter_modules
  with pytest.MonkeyPatch.context() as patch:
    patch.setattr(
      python_documentation, "iter_modules", lambda: itertools.islice(find(), 15)
    )
    # Sentences of another document are drawn in both parts.
    patch.setattr(default_pretraining, "HELD_OUT_SHARE", 0.4)
    folder = tmp_path_factory.mktemp("corpus")
    return default_pretraining.corpus(str(folder))


@pytest.fixture
def config(monkeypatch, corpus, tmp_path):
  """Callable: objective -> configuration of a run on these texts."""
  monkeypatch.setattr(default_pretraining, "corpus", lambda folder: corpus)
  monkeypatch.setattr(default_pretraining, "VOCAB_SIZE", 400)

  def make(objective, **data):
    return pretraining_config.PretrainingConfig(
      pretraining_config.DataConfig(
        objective=objective, max_seq_length=24, **data
      ),
      masking_config.MaskingConfig(),
      training_config.TrainingConfig(
        output_dir=str(tmp_path), train_batch_size=4
      ),
    )

  return make


def read(config):
  """Writes the data of a run; returns (encoder, vocabulary, task, a batch)."""
  values = default_pretraining.write(config) | {"do_train": True}
  given = {"bert_config_file": config.data.bert_config_file}
  values |= {name: value for name, value in given.items() if value}
  config = dataclasses.replace(
    config, data=dataclasses.replace(config.data, **values)
  )
  encoder = configs.EncoderConfig.from_json_file(values["bert_config_file"])
  vocabulary = vocabularies.Vocabulary.load(values["vocab_file"])
  records = pretraining_records.PretrainingRecords(config, encoder, vocabulary)
  task = config.objective.task(encoder, records.for_task(), config.options)
  [batch] = records.train_batches(task.prepare, 0)(0, 1).take(1)
  if heads.FILL_MASK in config.objective.servables:
    for text in values["example_text"]:
      assert vocabulary.mask_token in text
  return encoder, vocabulary, task, batch


@pytest.mark.parametrize("name", slow.all_but(QUICK, KINDS))
def test_the_records_of_an_objective_are_read_by_its_model(name, config):
  encoder, vocabulary, task, batch = read(config(name))
  assert vocabulary.kind == KINDS[name]
  assert encoder.vocab_size == vocabulary.size
  family = families.FAMILIES[encoder.model_type]
  ids = batch["input_ids"].numpy()
  places = ids == vocabulary.cls_id
  np.testing.assert_array_equal(places.sum(axis=1), int(name not in CUT))
  if not family.framing.cls_at_end and name not in CUT:
    assert places[:, 0].all()
  share = config(name).masking.completed(name)["masked_lm_prob"]
  if config(name).objective.masking_policy in choices.MASKING_POLICIES:
    weights = batch["masked_lm_weights"].numpy()
    assert 0 < weights.sum() <= np.ceil(share * 24) * len(ids)
  for name, outputs in task.build_model()(batch).items():
    assert np.isfinite(outputs).all(), name


def test_a_vocabulary_and_a_model_that_are_given_are_used(config, tmp_path):
  given = tmp_path / "given"
  given.mkdir()
  vocabulary = given / "vocab.txt"
  letters = "abcdefghijklmnopqrstuvwxyz"
  vocabulary.write_text(
    "\n".join(
      [*vocabularies.SPECIAL_TOKENS, *letters, *map("##".__add__, letters)]
    )
  )
  model = given / "model.json"
  configs.EncoderConfig.preset("bert_tiny", vocab_size=100).to_json_file(model)
  encoder, found, _, _ = read(
    config("roberta", vocab_file=str(vocabulary), bert_config_file=str(model))
  )
  assert (found.size, encoder.vocab_size) == (57, 100)
  assert not (tmp_path / "vocab.json").exists()
  assert not (tmp_path / "bert_config.json").exists()


def test_a_second_run_keeps_what_is_there(config, corpus, tmp_path):
  given = config("spanbert")
  files = default_pretraining.write(given)
  model = tmp_path / "bert_config.json"
  model.write_text(model.read_text().replace("0.05", "0.04"))  # By a user.
  before = {path: path.read_bytes() for path in tmp_path.rglob("*.*")}
  assert default_pretraining.write(given) == files
  assert {path: path.read_bytes() for path in before} == before


def test_what_is_held_out_is_not_trained_on(config, corpus):
  files = default_pretraining.write(config("spanbert"))
  train, held_out = corpus
  assert not {*train} & {*held_out}
  for records, text in (("input_file", train), ("eval_input_file", held_out)):
    shards = map(manifest.read, glob.glob(files[records]))
    number = sum(shard["num_documents"] for shard in shards if shard)
    assert number == len([*sources.iter_documents(text)])


def test_the_text_is_gathered_once(corpus, monkeypatch):
  folder = pathlib.Path(corpus[0][0]).parent
  monkeypatch.setattr(python_documentation, "write_corpus", None)
  assert default_pretraining.corpus(str(folder)) == corpus
