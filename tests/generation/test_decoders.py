"""Decoders and their searches against what transformers 5 computed."""

import json
import pathlib
import shutil

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras.ops import convert_to_numpy

import keras_bert_impl as kb
from keras_bert_impl.generation import decoders, search, settings

FOLDERS = sorted(
  (pathlib.Path(__file__).parents[1] / "data/decoders").iterdir()
)
CAUSAL = ("gpt2", "modernbert_decoder")
PAIRS = [folder for folder in FOLDERS if folder.name not in CAUSAL]
# Scores of T5 are not scaled, and these random ones are in the hundreds: what
# rounding does to the softmax, float64 shows of transformers' own arrays.
NOISE = {"t5": 4e-3, "t5_v1_1": 7e-3, "mt5": 7e-3, "umt5": 0.2}


def of_name(folder):
  return folder.name


def opened(folder):
  """Returns the model of a folder, its arrays and its settings."""
  model = kb.from_checkpoint(folder, heads=True)
  arrays = dict(np.load(folder / "expected.npz"))
  values = json.loads((folder / "generation_config.json").read_text())
  return model, arrays, values


def shifted(folder, labels, values):
  """Returns the labels after the token that begins them, for a decoder."""
  labels = np.where(labels < 0, values["pad_token_id"], labels)
  first = np.full((len(labels), 1), values["decoder_start_token_id"])
  if folder.name == "mbart":  # The language, which stands last.
    last = (labels != values["pad_token_id"]).sum(1) - 1
    first = labels[np.arange(len(labels)), last][:, None]
  return np.concatenate([first, labels[:, :-1]], axis=1).astype("int32")


@pytest.mark.parametrize("folder", FOLDERS, ids=of_name)
def test_logits_and_states_are_those_of_the_reference(folder):
  model, arrays, values = opened(folder)
  mask, labels = arrays["in.attention_mask"], arrays["in.labels"]
  inputs = {"input_ids": arrays["in.input_ids"], "input_mask": mask}
  seen = mask.astype(bool)
  if folder in PAIRS:
    inputs["decoder_ids"] = shifted(folder, labels, values)
    seen = labels >= 0
    states = kb.Model(model.input, model.decoder_states)(
      inputs | {"segment_ids": np.zeros_like(mask)}
    )
    for number, found in enumerate(states):
      expected = arrays[f"out.decoder_hidden_states.{number}"]
      scale = 1 + np.abs(expected[seen]).max()
      error = np.abs(convert_to_numpy(found) - expected)[seen].max() / scale
      assert error < max(1e-5, NOISE.get(folder.name, 0))
  logits = convert_to_numpy(model(inputs)["token_logits"])
  error = np.abs(logits - arrays["out.logits"])[seen].max()
  assert error < NOISE.get(folder.name, 1e-5)


@pytest.mark.parametrize("folder", FOLDERS, ids=of_name)
def test_what_is_cached_gives_the_states_of_the_whole(folder):
  model, arrays, values = opened(folder)
  ids, mask = arrays["in.input_ids"], arrays["in.attention_mask"]
  if folder in PAIRS:
    read = shifted(folder, arrays["in.labels"], values)
    inputs = {"input_ids": ids, "input_mask": mask, "decoder_ids": read}
    whole, memory = model(inputs)["token_logits"], model.memory(ids, mask)
    extend = lambda part, cache, _: model.extend(part, cache, memory)  # noqa: E731
    seen = np.ones(read.shape, bool)
  else:
    read, seen, extend = ids, mask.astype(bool), model.encoder.extend
    inputs = {"input_ids": ids, "input_mask": mask}
    whole = model.encoder(inputs)["sequence_output"]
  # Some at once, then one after the other.
  pieces, cache = [slice(0, 3)], {}
  pieces += [slice(n, n + 1) for n in range(3, read.shape[1])]
  found = []
  for piece in pieces:
    states, cache = extend(read[:, piece], cache, mask[:, piece])
    found.append(convert_to_numpy(states))
  found = np.concatenate(found, axis=1)[seen]
  whole = convert_to_numpy(whole)[seen]
  error = np.abs(found - whole).max()
  assert error < max(1e-5, NOISE.get(folder.name, 0))


def searched(model, values, ids, mask, **options):
  tokens = settings.TokenIds(
    end=(values["eos_token_id"],),
    padding=values["pad_token_id"],
    last=values.get("forced_eos_token_id"),
  )
  decoder = decoders.of_model(model, values.get("decoder_start_token_id"))
  find = search.Search(decoder, settings.SearchSettings(**options), tokens)
  run = lambda ids, mask: find(decoder.begin(ids, mask))  # noqa: E731
  if keras.backend.backend() == "tensorflow":
    run = tf.function(run)
  else:
    ids, mask = map(keras.ops.convert_to_tensor, (ids, mask))
  return {k: convert_to_numpy(v) for k, v in run(ids, mask).items()}


@pytest.mark.parametrize(
  "folder",
  [
    pytest.param(
      folder,
      marks=[]
      if folder.name in ("bart", "gpt2", "t5")
      else pytest.mark.integration,
    )
    for folder in FOLDERS
  ],
  ids=of_name,
)
def test_generated_tokens_are_those_of_the_reference(folder):
  model, arrays, values = opened(folder)
  ids, mask = arrays["in.input_ids"], arrays["in.attention_mask"]
  for case in json.loads((folder / "generated.json").read_text()):
    found = searched(model, values, ids, mask, **case["options"])
    rows = found["ids"].reshape(-1, found["ids"].shape[-1])
    for row, expected in zip(rows.tolist(), case["ids"], strict=True):
      longest = max(len(row), len(expected))
      padding = [values["pad_token_id"]] * longest
      assert (row + padding)[:longest] == (expected + padding)[:longest]


def test_a_row_does_not_depend_on_its_batch():
  model, arrays, values = opened(FOLDERS[0])
  ids, mask = arrays["in.input_ids"], arrays["in.attention_mask"]
  for options in (
    {"num_beams": 3, "num_return_sequences": 2, "early_stopping": True},
    {"do_sample": True, "top_k": 20, "num_return_sequences": 2},
  ):
    options["max_new_tokens"] = 8
    whole = searched(model, values, ids, mask, **options)
    for row in range(len(ids)):
      length = mask[row].sum()
      part = slice(row, row + 1), slice(0, length)
      alone = searched(model, values, ids[part], mask[part], **options)
      longest = alone["ids"].shape[-1]
      np.testing.assert_array_equal(
        alone["ids"][0], whole["ids"][row][:, :longest]
      )
      np.testing.assert_allclose(
        alone["scores"][0], whole["scores"][row], atol=1e-4
      )


@pytest.mark.parametrize("name", ["gpt2", "bart"])
def test_padding_may_stand_before_a_prompt(name):
  folder = next(each for each in FOLDERS if each.name == name)
  model, arrays, values = opened(folder)
  ids = arrays["in.input_ids"][:1, :5]
  options = {"max_new_tokens": 6, "no_repeat_ngram_size": 2}
  alone = searched(model, values, ids, np.ones_like(ids), **options)
  if name == "gpt2":
    padded = np.pad(ids, ((0, 0), (3, 0)))
    mask = np.pad(np.ones_like(ids), ((0, 0), (3, 0)))
    found = searched(model, values, padded, mask, **options)
    np.testing.assert_array_equal(found["ids"], alone["ids"])
  assert alone["num_tokens"].max() <= 6


def test_a_checkpoint_is_written_as_it_was(tmp_path):
  from keras_bert_impl.checkpoints.formats import safetensors_format
  from keras_bert_impl.model_folders import conversion

  for folder in FOLDERS:
    target = tmp_path / folder.name
    config = conversion.ConversionConfig(str(folder), str(target))
    conversion.convert(config)
    before = safetensors_format.read(folder / "model.safetensors")
    after = safetensors_format.read(target / "model.safetensors")
    assert set(before) == set(after)
    for name in before:
      np.testing.assert_array_equal(before[name], after[name])
    old, new = (
      json.loads((each / "config.json").read_text())
      for each in (folder, target)
    )
    assert {k: v for k, v in new.items() if k in old} == old
    old, new = (
      json.loads((each / "generation_config.json").read_text())
      for each in (folder, target)
    )
    assert {k: v for k, v in new.items() if k in old} == old


def test_a_causal_head_without_weights_is_found_in_a_keras_file(tmp_path):
  folder = next(each for each in FOLDERS if each.name == "gpt2")
  model = kb.from_checkpoint(folder, heads=True)
  model.save(tmp_path / "model.keras")
  again = kb.from_checkpoint(tmp_path / "model.keras", heads=True)
  assert type(again) is type(model)


def test_the_ids_of_generation_are_those_of_the_source(tmp_path):
  from keras_bert_impl.kinds.generation import token_ids
  from keras_bert_impl.model_folders import conversion

  source = tmp_path / "source"
  shutil.copytree(FOLDERS[0], source)
  (source / "generation_config.json").write_text(
    json.dumps({"eos_token_id": [5, 6], "forced_bos_token_id": 7, "top_k": 9})
  )
  config = json.loads((source / "config.json").read_text())
  config |= {"decoder_start_token_id": 8, "pad_token_id": 9}
  (source / "config.json").write_text(json.dumps(config))
  expected = token_ids.read(source)
  assert expected[1] == 8 and expected[0].padding == 9
  origin = source
  for name in ("safetensors", "keras"):  # Each from the one before.
    target = tmp_path / name
    conversion.convert(
      conversion.ConversionConfig(str(origin), str(target), format=name)
    )
    assert token_ids.read(target) == expected
    values = json.loads((target / "generation_config.json").read_text())
    assert values["top_k"] == 9
    origin = target
  encoder = pathlib.Path(__file__).parents[1] / "data/parity/umt5_encoder"
  config = conversion.ConversionConfig(str(encoder), str(tmp_path / "encoder"))
  conversion.convert(config)
  assert not (tmp_path / "encoder/generation_config.json").exists()


@pytest.mark.parametrize(
  "changes",
  [
    {"position_embedding_type": "rotary", "rotary_scaling": "dynamic"},
    {"use_causal_mask": False},
  ],
)
def test_what_cannot_be_read_on_is_refused(changes):
  changes = {"use_causal_mask": True} | changes
  config = kb.EncoderConfig.preset("bert_tiny", vocab_size=9, **changes)
  encoder = kb.TransformerEncoder(config, use_pooler=False)
  with pytest.raises(ValueError, match=r"\(('dynamic'|False)\) must be"):
    encoder.extend(np.ones((1, 2), "int32"), {})
