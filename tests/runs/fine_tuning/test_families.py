"""Every family is a start: the encoder is taken over, the head is new."""

import dataclasses

import keras
import numpy as np
import pytest

from keras_bert_impl import configs, models
from keras_bert_impl.checkpoints import reading
from keras_bert_impl.kinds import opening
from keras_bert_impl.runs.fine_tuning import run_actions
from tests import architectures, slow
from tests.official_tasks import scripts
from tests.runs.fine_tuning import toy as toy_fine_tuning

PARITY = scripts.ROOT / "tests/data/parity"
NEW = {"classifier/output_weights", "classifier/output_bias"}
NEW_POOLER = {"bert/pooler/dense/kernel", "bert/pooler/dense/bias"}
# Checkpoints to start from, and what they lack.
NEW_WEIGHTS = {
  "bert_pretraining": NEW,
  "albert_pretraining": NEW,
  "roberta_masked_lm": NEW | NEW_POOLER,
  "electra_discriminator": NEW | NEW_POOLER,
  "roberta_classifier": NEW,  # of three classes
  "distilbert_masked_lm": NEW | NEW_POOLER,
  "xlm_roberta_masked_lm": NEW | NEW_POOLER,
  "camembert_masked_lm": NEW | NEW_POOLER,
  "mpnet_masked_lm": NEW | NEW_POOLER,
  "xlnet_language_model": NEW | NEW_POOLER,
  "deberta_masked_lm": NEW | NEW_POOLER,
  "deberta_v2_masked_lm": NEW | NEW_POOLER,
  # ModernBERT's heads begin with the dense layer of its language model.
  "modernbert_masked_lm": NEW,
  "modernbert_decoder_language_model": {"classifier/output_weights"},
  "nomic_bert_masked_lm": NEW | NEW_POOLER,
  "gte_masked_lm": NEW | NEW_POOLER,
  "eurobert_masked_lm": NEW | NEW_POOLER,
  "rembert_masked_lm": NEW | NEW_POOLER,
  "longformer_masked_lm": NEW | NEW_POOLER,
  "umt5_encoder": NEW | NEW_POOLER,
}


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory):
  folder = tmp_path_factory.mktemp("model")
  toy_fine_tuning.write_model(folder)
  return folder


@pytest.mark.integration
@pytest.mark.parametrize(
  "name", slow.all_but(("roberta_masked_lm",), NEW_WEIGHTS)
)
def test_a_family_is_fine_tuned(name, model_folder, tmp_path):
  new = NEW_WEIGHTS[name]
  checkpoint = reading.open_checkpoint(PARITY / name)
  setup = toy_fine_tuning.make_setup(
    model_folder,
    tmp_path,
    training={"init_checkpoint": str(PARITY / name)},
    config=checkpoint.described().config,
    num_train_epochs=1.0,
  )
  run = toy_fine_tuning.make_run(setup)
  before = toy_fine_tuning.weights(run)
  assert new <= before.keys()
  for path, value in before.items():
    if path not in new:
      np.testing.assert_array_equal(value, checkpoint.tensors[path], path)
  run_actions.train(run)
  after = toy_fine_tuning.weights(run)
  assert all(np.isfinite(value).all() for value in after.values())
  table = "bert/embeddings/word_embeddings"
  assert not np.array_equal(before[table], after[table])

  # The trained model is read again with its head.
  description = reading.open_checkpoint(tmp_path).described()
  assert (
    description.config.model_type == setup.fine_tuning.task.config.model_type
  )
  # Where transformers has no such class, task.json alone names them.
  labels = None if name == "umt5_encoder" else toy_fine_tuning.LABELS
  assert description.labels == labels


@pytest.mark.slow
def test_a_pair_is_fine_tuned_whose_embeddings_were_shared(
  model_folder, tmp_path
):
  config = dataclasses.replace(
    configs.EncoderConfig.from_json_file(model_folder / "bert_config.json"),
    **architectures.PAIR,
  )
  keras.utils.set_random_seed(1)
  source = models.BidirectionalLanguageModel(config, shares_embeddings=True)
  path = tmp_path / "model.keras"
  source.save(path)
  run = toy_fine_tuning.make_run(
    toy_fine_tuning.make_setup(
      model_folder,
      tmp_path / "out",
      config=config,
      training={"init_checkpoint": str(path)},
      num_train_epochs=8.0,
    )
  )
  start = toy_fine_tuning.weights(run)
  given = {weight.path: weight for weight in source.weights}
  table = "bert/embeddings/word_embeddings"
  for name in (table, f"right_to_left/{table}"):
    np.testing.assert_array_equal(start[name], given[table])
  run_actions.train(run)
  run_actions.evaluate(run, ["dev"])
  assert run.scores["accuracy"] > 0.9
  found = opening.load(tmp_path / "out")
  assert found.model.encoder.output["sequence_output"].shape[-1] == (
    2 * config.hidden_size
  )
