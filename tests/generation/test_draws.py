"""Drawn tokens: their shares, and what they depend on."""

import json
import pathlib

import numpy as np
import pytest
import tensorflow as tf

import keras_bert_impl as kb
from keras_bert_impl.generation import (
  decoders,
  draws,
  rules,
  search,
  settings,
)

FOLDER = pathlib.Path(__file__).parents[1] / "data/decoders/gpt2"
NUM_DRAWS = 20_000
SEVERAL = 250  # Texts of a search.


@pytest.fixture(name="decoder", scope="module")
def fixture_decoder():
  return decoders.of_model(kb.from_checkpoint(FOLDER, heads=True))


def drawn(decoder, ids, **options):
  """Returns the ids int32 [B, S, T] that a search draws."""
  values = json.loads((FOLDER / "generation_config.json").read_text())
  tokens = settings.TokenIds(padding=values["pad_token_id"])
  find = search.Search(
    decoder, settings.SearchSettings(do_sample=True, **options), tokens
  )
  mask = np.ones_like(ids)
  return find(decoder.begin(ids, mask))["ids"].numpy()


def likely(logits, temperature=1.0, top_k=0, top_p=1.0):
  """Returns the probabilities of tokens, float64 [V], token by token."""
  shares = np.exp(logits.astype("float64") / temperature)
  shares /= shares.sum()
  order = np.argsort(-shares)
  kept, total = [], 0.0
  for rank, token in enumerate(order):
    if (top_k and rank >= top_k) or total >= top_p:
      break
    kept.append(token)
    total += shares[token]
  found = np.zeros_like(shares)
  found[kept] = shares[kept] / shares[kept].sum()
  return found


def chi_square_p(counts, shares):
  """Returns the p-value of counts [V] of draws from shares [V]."""
  expected = shares * counts.sum()
  assert counts[shares == 0].sum() == 0
  # Rare tokens are counted together.
  is_rare = expected < 5
  groups = [(counts[k], expected[k]) for k in np.flatnonzero(~is_rare)]
  groups.append((counts[is_rare].sum(), expected[is_rare].sum()))
  groups = [(count, mean) for count, mean in groups if mean]
  value = sum((count - mean) ** 2 / mean for count, mean in groups)
  return float(tf.math.igammac((len(groups) - 1) / 2, value / 2))


@pytest.mark.parametrize(
  "options",
  [{}, {"temperature": 0.6}, {"top_k": 7}, {"top_p": 0.8}],
  ids=str,
)
def test_tokens_are_drawn_by_their_probability(decoder, options):
  ids = np.array([[5, 9, 40, 7]], "int32")
  begun = decoder.begin(ids, np.ones_like(ids))
  chosen = settings.SearchSettings(do_sample=True, **options)
  bits = draws.row_bits(
    np.repeat(begun.keys, NUM_DRAWS), np.arange(NUM_DRAWS), 0, 11
  )
  logits = rules.to_draw_from(begun.logits, chosen)
  found = draws.draw(np.repeat(logits, NUM_DRAWS, axis=0), bits).numpy()
  counts = np.bincount(found, minlength=logits.shape[-1])
  [logits] = begun.logits.numpy()
  assert chi_square_p(counts, likely(logits, **options)) > 0.01
  # They are what the search draws.
  texts = drawn(
    decoder,
    ids,
    max_new_tokens=1,
    num_return_sequences=SEVERAL,
    random_seed=11,
    **options,
  )
  np.testing.assert_array_equal(np.ravel(texts), found[:SEVERAL])


def test_a_drawn_text_is_the_same_in_a_batch_of_32(decoder):
  rng = np.random.default_rng(0)
  ids = rng.integers(3, 100, (32, 6)).astype("int32")
  options = {"max_new_tokens": 6, "temperature": 1.3, "random_seed": 5}
  whole = drawn(decoder, ids, **options)
  for row in (0, 13, 31):
    alone = drawn(decoder, ids[row : row + 1], **options)
    np.testing.assert_array_equal(alone[0], whole[row])
  # The same prompt twice is the same text; other prompts and seeds are others.
  assert len({tuple(text) for [text] in whole.tolist()}) > 30
  assert (drawn(decoder, ids, **options | {"random_seed": 6}) != whole).any()
