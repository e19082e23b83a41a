"""The page of a model with a decoder: two texts, and three kinds of heads."""

import keras
import numpy as np
import pytest

from keras_bert_impl import features, heads, models
from keras_bert_impl.visualization import states
from tests.visualization import toy

START = 2


@pytest.fixture(name="model", scope="module")
def fixture_model():
  keras.utils.set_random_seed(0)
  config = toy.config(num_decoder_layers=1, num_decoder_attention_heads=1)
  return models.EncoderDecoder(config)


def viewer(model, tmp_path, **options):
  path = tmp_path / "config.json"
  path.write_text(f'{{"decoder_start_token_id": {START}}}')
  recorded = {"folder": str(tmp_path)}
  return toy.viewer(model, heads.GENERATION, recorded=recorded, **options)


def test_heads_look_within_their_text_and_from_one_to_the_other(
  model, tmp_path
):
  made = viewer(model, tmp_path)
  row = made._row([toy.TEXT, "the dog"], 20)
  reader = states.DecoderReader(model)
  assert reader.groups == ["encoder 1", "encoder 2", "decoder 1", "cross 1"]
  [written] = row.inputs[features.DECODER_IDS].numpy()
  assert written[0] == START
  source = row.inputs[features.INPUT_IDS].shape[1]
  assert len(row.tokens) == source + len(written)
  assert [token.side for token in row.tokens[source:]] == [0, 2, 2]
  found = reader.read(row.inputs)
  assert found.hidden.shape[:2] == (3, len(row.tokens))
  expected = keras.Model(model.input, model.attention_probs)(row.inputs)
  for group, (rows, columns) in enumerate(
    (
      (slice(0, source), slice(0, source)),
      (slice(0, source), slice(0, source)),
      (slice(source, None), slice(source, None)),
      (slice(source, None), slice(0, source)),
    )
  ):
    name = reader.groups[group].split()[0]
    [probs, *_] = expected[name][group if name == "encoder" else 0]
    shown = found.attention[group]
    np.testing.assert_array_equal(shown[: len(probs), rows, columns], probs)
    np.testing.assert_allclose(shown.sum(), np.sum(probs), rtol=1e-5)


def test_a_page_shows_both_texts(model, tmp_path):
  made = viewer(model, tmp_path, layers=[1])
  view = made.view(toy.TEXT, "the dog")
  assert view.html.startswith("<!doctype html>") and not view.num_cut
  content = made._content(
    row := made._row([toy.TEXT, "the dog"], 20),
    states.DecoderReader(model, [1]).read(row.inputs),
  )
  assert content["groups"] == ["encoder 1", "decoder 1", "cross 1"]
  assert content["heads"] == model.config.num_attention_heads
  assert len(content["alike"]) == len(content["tokens"])
  assert view.num_tokens == len(content["tokens"])


def test_a_decoder_needs_a_text(model, tmp_path):
  with pytest.raises(ValueError, match=r"text_pair \(None\) must be the text"):
    viewer(model, tmp_path).view(toy.TEXT)
