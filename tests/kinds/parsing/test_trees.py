"""The decoder finds the best tree: that of all trees, for small ones."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl.kinds.parsing import trees

decode = tf.function(trees.decode, reduce_retracing=True)


def is_tree(heads):
  """Whether each word leads to the root, which is the head of one word."""
  for word in range(1, len(heads) + 1):
    seen = set()
    while word and word not in seen:
      seen.add(word)
      word = heads[word - 1]
    if word:
      return False
  return list(heads).count(0) == 1


def all_trees(number):
  """Returns all trees of some words, int [T, number]."""
  heads = itertools.product(range(number + 1), repeat=number)
  return np.array([each for each in heads if is_tree(each)])


def best(scores):
  """Returns the heads of the best tree {word: head}: a plain recursion.

  Args:
    scores: {word: {head: score}}, one root arc being allowed by the caller.
  """
  heads = {w: max(of, key=of.get) for w, of in scores.items()}
  cycle = next(filter(None, (cycle_of(w, heads) for w in heads)), None)
  if cycle is None:
    return heads
  # The cycle becomes one node, whose name no other has.
  node = ("cycle", *cycle)
  smaller, entered, left = {node: {}}, {}, {}
  for word, of in scores.items():
    for head, score in of.items():
      if word in cycle and head not in cycle:
        gain = score - scores[word][heads[word]]
        if gain > smaller[node].get(head, -np.inf):
          smaller[node][head], entered[head] = gain, word
      elif word not in cycle:
        to = node if head in cycle else head
        own = smaller.setdefault(word, {})
        if score > own.get(to, -np.inf):
          own[to] = score
          left[word, to] = head
  found = best(smaller)
  into = found.pop(node)
  result = {w: left.get((w, head), head) for w, head in found.items()}
  result |= {w: heads[w] for w in cycle}
  return result | {entered[into]: into}


def cycle_of(word, heads):
  path = []
  while word in heads and word not in path:
    path.append(word)
    word = heads[word]
  return path[path.index(word) :] if word in path else None


def best_score(scores):
  """Returns the score of the best tree of scores [N, N], one word at the root.

  Each word is tried there.
  """
  found = []
  words = range(1, len(scores))
  for root in words:
    of = {
      w: {
        h: float(scores[w, h])
        for h in range(len(scores))
        if h != w and (h > 0) == (w != root)
      }
      for w in words
    }
    # The root's word has no other head.
    of[root] = {0: float(scores[root, 0])}
    heads = best(of)
    found.append(sum(float(scores[w, h]) for w, h in heads.items()))
  return max(found)


def drawn(rng, *shape, has_ties):
  if has_ties:
    return rng.integers(0, 3, shape).astype(np.float32)
  return rng.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("has_ties", [False, True])
@pytest.mark.parametrize("number", [1, 2, 3, 4, 5])
def test_no_tree_is_better(number, has_ties):
  rng = np.random.default_rng(number)
  nodes = number + 3  # The last ones are padding.
  scores = drawn(rng, 600, nodes, nodes, has_ties=has_ties)
  scores[:300, :, 0] += 3  # Several words would like the root.
  is_node = np.broadcast_to(np.arange(nodes) <= number, (600, nodes))
  heads = decode(scores, is_node).numpy()
  assert not np.any(heads[:, 0]) and not np.any(heads[:, number + 1 :])
  heads = heads[:, 1 : number + 1]
  assert all(map(is_tree, heads.tolist()))
  words = np.arange(1, number + 1)
  totals = scores[:, words, all_trees(number)].sum(axis=-1)
  rows = np.arange(600)[:, None]
  found = scores[rows, words, heads].sum(axis=-1)
  np.testing.assert_allclose(found, totals.max(axis=1), atol=1e-5)


@pytest.mark.parametrize("has_ties", [False, True])
def test_long_sentences_are_as_good_as_by_a_plain_recursion(has_ties):
  rng = np.random.default_rng(7)
  scores = drawn(rng, 12, 16, 16, has_ties=has_ties)
  heads = decode(scores, np.ones((12, 16), bool)).numpy()
  for each, of in zip(heads, scores, strict=True):
    assert is_tree(each[1:].tolist())
    found = sum(of[word, each[word]] for word in range(1, 16))
    assert found == pytest.approx(best_score(of), abs=1e-4)


@pytest.mark.parametrize("has_ties", [False, True])
def test_a_sentence_has_the_same_tree_alone_and_in_any_batch(has_ties):
  rng = np.random.default_rng(3)
  scores = drawn(rng, 24, 12, 12, has_ties=has_ties)
  lengths = rng.integers(2, 13, 24)
  is_node = np.arange(12) < lengths[:, None]
  heads = decode(scores, is_node).numpy()
  for row, size in enumerate(lengths):
    of = scores[row : row + 1, :size, :size]
    alone = decode(of, np.ones((1, size), bool)).numpy()
    np.testing.assert_array_equal(alone[0], heads[row, :size])


@pytest.mark.xla
def test_xla_finds_the_same():
  rng = np.random.default_rng(5)
  scores = drawn(rng, 8, 10, 10, has_ties=True)
  is_node = np.arange(10) < rng.integers(2, 11, 8)[:, None]
  compiled = tf.function(trees.decode, jit_compile=True)
  np.testing.assert_array_equal(
    compiled(scores, is_node), decode(scores, is_node)
  )


def test_scores_that_are_no_numbers_end():
  scores = np.full((1, 6, 6), np.nan, np.float32)
  assert decode(scores, np.ones((1, 6), bool)).shape == (1, 6)
