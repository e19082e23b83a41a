"""Every family is a start: the encoder is taken over, the head is new."""

import dataclasses
import shutil

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import configs, models, tokenizers
from keras_bert_impl.checkpoints import reading
from keras_bert_impl.kinds import opening
from keras_bert_impl.kinds.texts import text_servables
from keras_bert_impl.runs.fine_tuning import run_actions
from keras_bert_impl.serving import export
from tests import architectures, slow
from tests.official_tasks import scripts
from tests.runs.fine_tuning import toy as toy_fine_tuning
from tests.tokenizers import vocabularies

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
}
FAMILIES = ("distilbert", "xlm_roberta", "xlnet", "deberta_v2", "modernbert")


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
  assert description.labels == toy_fine_tuning.LABELS


def write_vocabulary(name, folder, model_folder):
  """Writes the vocabulary of a family beside its weights; returns its path."""
  if name in ("distilbert", "modernbert"):
    return shutil.copy(model_folder / "vocab.txt", folder)
  if name == "deberta_v2":
    return vocabularies.write_deberta_pieces(folder, vocab_size=110)
  symbols = ["<cls>", "<sep>", "<pad>", "<mask>", "<eod>", "<eop>"]
  path = vocabularies.write_sentencepiece(
    folder,
    vocab_size=110,
    pad_id=-1,
    unk_id=0,
    bos_id=1,
    eos_id=2,
    control_symbols=symbols if name == "xlnet" else [],
  )
  if name == "xlnet":
    return path
  # Released folders are so: config.json alone says how texts are framed.
  return shutil.move(path, folder / "sentencepiece.bpe.model")


@pytest.mark.slow  # One way of all is in tests/test_extending_a_task.py.
@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_is_served_as_it_was_trained(name, model_folder, tmp_path):
  head = "language_model" if name == "xlnet" else "masked_lm"
  source = shutil.copytree(PARITY / f"{name}_{head}", tmp_path / "source")
  vocab_file = write_vocabulary(name, source, model_folder)
  setup = toy_fine_tuning.make_setup(
    model_folder,
    tmp_path / "out",
    training={"init_checkpoint": str(source)},
    config=reading.open_checkpoint(source).described().config,
    vocab_file=str(vocab_file),
    splits={
      "train": toy_fine_tuning.make_examples(16, 1),
      "dev": toy_fine_tuning.make_examples(4, 2),
    },
    num_train_epochs=1.0,
  )
  run = toy_fine_tuning.make_run(setup)
  run_actions.train(run)
  assert run.results["train"]["steps"] == 2
  logits = run_actions.outputs(run, "dev")[0]["logits"]

  # From the folder of the run alone.
  found = opening.load(tmp_path / "out")
  servable = text_servables.ClassificationServable(
    found.model,
    tokenizers.load(tmp_path / "out"),
    found.recorded.get("max_seq_length", 16),
    found.recorded["labels"],
  )
  family = setup.fine_tuning.task.config.family
  assert servable.tokenizer.framing == family.framing
  version = export.export(servable, str(tmp_path / "saved"))
  serve = tf.saved_model.load(version).signatures["serving_default"]
  texts = [example.text for example in setup.data.examples("dev")]
  served = serve(text=tf.constant(texts))["probabilities"]
  np.testing.assert_allclose(served, tf.nn.softmax(logits), atol=1e-5)


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


@pytest.mark.slow
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
  run_actions.train(run)
  run_actions.evaluate(run, ["dev"])
  assert run.scores["accuracy"] > 0.9
