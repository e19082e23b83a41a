"""Longformer: what models, files and servers make of its global tokens."""

import dataclasses
import json
import pathlib
import shutil

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_bert_impl as kb
from keras_bert_impl import configs, models
from keras_bert_impl.checkpoints import reading
from keras_bert_impl.checkpoints.descriptions import config_json
from keras_bert_impl.kinds.texts import text_servables
from keras_bert_impl.layers.attention import scores
from keras_bert_impl.model_folders import layer_choice
from keras_bert_impl.models.pretraining import electra
from keras_bert_impl.serving import export
from tests import architectures
from tests.serving import toy

PARITY = pathlib.Path(__file__).parents[1] / "data/parity"
IDS = architectures.IDS[:, :7]
MARKED = architectures.MASK * np.int32(1 + (np.arange(7) % 3 == 1))

CONFIG = architectures.small(
  **architectures.LONGFORMER, max_position_embeddings=32
)


def outputs(model, mask):
  return model({"input_ids": IDS, "input_mask": mask})


@pytest.mark.parametrize(
  ("changes", "message"),
  [
    ({"attention_window": 5}, "attention_window .5. must be an even number"),
    ({"attention_window": 0}, "attention_window .0. must be an even number"),
    ({"global_attention_every": 2}, "global_attention_every .2. must be 1"),
    (
      {"position_embedding_type": "rotary", "position_offset": 0},
      "position_embedding_type .'rotary'. of those that are added",
    ),
    ({"num_key_value_heads": 1}, "num_key_value_heads .1. must be None with"),
    ({"use_causal_mask": True}, "use_causal_mask .True. must be False with"),
    ({"num_hidden_groups": 1}, "num_hidden_groups .1. must be None"),
  ],
)
def test_what_does_not_go_together_is_refused(changes, message):
  with pytest.raises(ValueError, match=message):
    architectures.small(**architectures.LONGFORMER | changes)


@pytest.mark.parametrize(
  ("window", "message"),
  [
    (
      [4, 8, 8, 8],
      r"attention_window .*4, 8, 8, 8.* for each of num_hidden_la",
    ),
    ([4, 5], r"attention_window .*4, 5.* must be an even number"),
    ([4, 8, "a"], r"attention_window .'a'. must be an integer"),
    ([5, 5], "attention_window .5. must be an even number"),
    (5, "attention_window .5. must be an even number"),
  ],
)
def test_files_with_other_windows_are_refused(window, message):
  values = json.loads((PARITY / "longformer_encoder/config.json").read_text())
  values["attention_window"] = window
  with pytest.raises(ValueError, match=message):
    config_json.from_dict(values, "there/config.json")


def test_each_layer_may_have_a_window_of_its_own(tmp_path):
  folder = PARITY / "longformer_windows_encoder"
  config = models.from_checkpoint(folder).config
  assert config.attention_window == (4, 12, 8) == tuple(config.windows)
  config.to_json_file(tmp_path / "bert_config.json")
  read = configs.EncoderConfig.from_json_file(tmp_path / "bert_config.json")
  assert read == config and hash(read) == hash(config)
  assert config.of_layers([0, 2]).windows == [4, 8]
  assert electra.electra_generator_config(config, 0.5, 0.67).windows == [4, 12]
  opened = reading.open_checkpoint(folder)
  student = layer_choice.choose(opened, "1,2").description.config
  assert student.windows == [12, 8] and student.num_hidden_layers == 2
  described = config_json.to_dict(opened.description)
  assert described["attention_window"] == [4, 12, 8]
  encoder = models.TransformerEncoder(student)
  encoder.save(tmp_path / "encoder.keras")
  assert keras.models.load_model(tmp_path / "encoder.keras").config == student
  with pytest.raises(ValueError, match="one number for all layers without use"):
    architectures.small(attention_window=(4, 8), num_hidden_layers=2)


def test_the_first_token_is_global_where_texts_are_classified():
  model = models.SequenceClassifier(CONFIG, 2)
  first = architectures.MASK.copy()
  first[:, 0] = 2
  found = [
    outputs(model, x)["logits"] for x in (architectures.MASK, first, MARKED)
  ]
  np.testing.assert_array_equal(found[0], found[1])
  assert not np.allclose(found[0], found[2], atol=1e-4)


def test_no_token_is_global_in_an_encoder_unless_marked():
  encoder = models.TransformerEncoder(CONFIG)
  plain, marked = (
    outputs(encoder, mask)["sequence_output"]
    for mask in (architectures.MASK, MARKED)
  )
  assert not np.allclose(plain, marked, atol=1e-4)


def test_a_mask_of_other_values_is_refused():
  encoder = models.TransformerEncoder(CONFIG)
  inputs = {"input_ids": IDS, "input_mask": 3 * architectures.MASK}
  for call in (encoder, encoder.predict):
    with pytest.raises(ValueError, match="input_mask .3. must be from 0 to 2"):
      call(inputs)


def test_the_mask_of_transformers_is_told():
  inputs = {"input_ids": IDS, "global_attention_mask": architectures.MASK}
  with pytest.raises(ValueError, match="must be in 'input_mask': 2 for"):
    models.TransformerEncoder(CONFIG)(inputs)


@pytest.mark.integration
def test_ids_with_global_tokens_are_served(tmp_path):
  toy.write_vocabulary(tmp_path / "vocab.txt")
  tokenizer = toy.tokenizer(tmp_path / "vocab.txt")
  model = models.SequenceClassifier(CONFIG, 2)
  servable = text_servables.ClassificationServable(
    model, tokenizer, 16, ("no", "yes")
  )
  saved = tf.saved_model.load(export.export(servable, str(tmp_path / "made")))
  call = saved.signatures["token_ids"]
  ids = tf.constant(IDS % len(toy.TOKENS))
  segments = tf.zeros_like(ids)
  for mask in (architectures.MASK, MARKED):
    inputs = {"input_ids": ids, "input_mask": tf.constant(mask)}
    found = call(**inputs, segment_ids=segments)["logits"]
    np.testing.assert_allclose(found, model(inputs)["logits"], atol=1e-6)
  wrong = tf.constant(3 * architectures.MASK)
  with pytest.raises(tf.errors.InvalidArgumentError, match="from 0 to 2"):
    call(input_ids=ids, input_mask=wrong, segment_ids=segments)


@pytest.fixture(name="folder")
def fixture_folder(tmp_path):
  """A small Longformer with a vocabulary of words."""
  folder = tmp_path / "longformer"
  shutil.copytree(PARITY / "longformer_masked_lm", folder)
  words = (
    "[CLS] [PAD] [SEP] [UNK] [MASK] the cat dog sat ran is where on mat hat"
  )
  tokens = words.split()
  tokens += [f"[unused{n}]" for n in range(60 - len(tokens))]
  (folder / "vocab.txt").write_text("\n".join(tokens) + "\n")
  return str(folder)


@pytest.mark.integration
def test_texts_are_classified_after_fine_tuning(folder, tmp_path):
  texts = [f"the {x} {y}" for x in ("cat", "dog") for y in ("sat", "ran")] * 8
  labels = ["cat" if "cat" in text else "dog" for text in texts]
  classifier = kb.TextClassifier.from_checkpoint(folder, max_seq_length=16)
  classifier.fit(
    texts,
    labels,
    epochs=15,
    learning_rate=3e-3,
    batch_size=8,
    output_dir=str(tmp_path / "run"),
  )
  found = [answer["label"] for answer in classifier.predict(texts)]
  assert found == labels


@pytest.mark.integration
def test_questions_are_answered_after_fine_tuning(folder, tmp_path):
  rows = [
    {
      "question": f"where is the {x}",
      "context": f"the {x} sat on the {y}",
      "answers": {"text": [y], "answer_start": [15]},
    }
    for x in ("cat", "dog")
    for y in ("mat", "hat")
  ] * 8
  answerer = kb.QuestionAnswerer.from_checkpoint(folder, max_seq_length=24)
  answerer.fit(
    rows,
    max_query_length=8,
    doc_stride=8,
    epochs=15,
    learning_rate=3e-3,
    batch_size=8,
    output_dir=str(tmp_path / "run"),
  )
  found = answerer.predict(
    [{k: row[k] for k in ("question", "context")} for row in rows[:4]]
  )
  assert [span["answer"] for span in found] == ["mat", "hat"] * 2


@pytest.mark.integration
def test_a_folder_gives_vectors(folder):
  encoder = kb.SentenceEncoder.from_checkpoint(folder)
  vectors = encoder.encode(["the cat sat on the mat", "the dog ran"])
  assert vectors.shape == (2, 16)
  assert np.isfinite(vectors).all()


def test_rows_of_thousands_of_tokens_are_trained_on(monkeypatch):
  monkeypatch.setattr(scores, "FEW_SCORES", 0)  # As if there were more.
  monkeypatch.setattr(scores, "CHUNK_SIZE", 16)
  config = dataclasses.replace(CONFIG, max_position_embeddings=4000)
  encoder = kb.TransformerEncoder(config, global_tokens="first")
  ids = tf.ones((1, 300), tf.int32)

  @tf.function
  def gradients():
    with tf.GradientTape() as tape:
      inputs = {"input_ids": ids, "input_mask": ids, "segment_ids": 0 * ids}
      found = encoder(inputs, training=True)["sequence_output"]
    weights = [x.value for x in encoder.trainable_weights]
    return tape.gradient(found, weights)

  found = [x for x in gradients() if x is not None]
  assert len(found) > 40
  assert all(np.isfinite(tf.convert_to_tensor(x)).all() for x in found)
