"""Every family is a start: the encoder is taken over, the head is new."""

import dataclasses

import numpy as np
import pytest

from keras_bert_impl import configs
from keras_bert_impl.checkpoints import reading
from tests.official_tasks import scripts
from tests.official_tasks.fine_tuning import toy as toy_fine_tuning

PARITY = scripts.ROOT / "tests/data/parity"
NEW = {"classifier/output_weights", "classifier/output_bias"}
NEW_POOLER = {"bert/pooler/dense/kernel", "bert/pooler/dense/bias"}


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory):
  folder = tmp_path_factory.mktemp("model")
  toy_fine_tuning.write_model(folder)
  return folder


@pytest.mark.parametrize(
  ("name", "new"),
  [
    ("bert_pretraining", NEW),
    ("albert_pretraining", NEW),
    ("roberta_masked_lm", NEW | NEW_POOLER),
    ("electra_discriminator", NEW | NEW_POOLER),
    ("roberta_classifier", NEW),  # of three classes
  ],
)
def test_a_family_is_fine_tuned(name, new, model_folder, tmp_path):
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
  run.train()
  after = toy_fine_tuning.weights(run)
  assert all(np.isfinite(value).all() for value in after.values())
  table = "bert/embeddings/word_embeddings"
  assert not np.array_equal(before[table], after[table])

  # What was trained is read again with its head.
  description = reading.open_checkpoint(tmp_path).described()
  assert description.config.model_type == setup.encoder_config.model_type
  assert description.labels == toy_fine_tuning.LABELS


def test_a_left_to_right_encoder_classifies_what_it_has_read(
  model_folder, tmp_path
):
  config = configs.EncoderConfig.from_json_file(
    model_folder / "bert_config.json"
  )
  setup = toy_fine_tuning.make_setup(
    model_folder,
    tmp_path,
    config=dataclasses.replace(config, use_causal_mask=True),
    num_train_epochs=8.0,
  )
  run = toy_fine_tuning.make_run(setup)
  run.train()
  run.evaluate(["dev"])
  assert run.scores["accuracy"] > 0.9
