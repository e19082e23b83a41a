"""Finds the best dependency trees: Chu-Liu/Edmonds, for batches and in graphs.

The only decoder: training's evaluation, SavedModels and Python call it, as a
part of the model. Each round every component, at first a word, takes the best
arc that enters it from outside; components that form a cycle become one. When
there is no cycle, the arcs form a tree. Axes: B sentences, N nodes of the
longest; node 0 is the root, which is no word.

Source: Chu and Liu 1965; Edmonds 1967. Differs from it: all cycles of a round
are joined at once; and of a component with several ways to enter it, the heads
inside for each way are held in a table, instead of unfolding cycles at the end.
"""

import functools

from keras import ops

# Doublings of a path of 1 arc that pass all nodes of a row; `options.LONGEST`.
_DOUBLINGS = 15
_LOWEST = -3e38  # Of float32, and no infinity: infinities have no differences.


def decode(scores, is_node):
  """Returns the heads of the best trees in which one word has the root as head.

  Of equal trees it finds the same in each call. Scores that are no numbers give
  heads that mean nothing.

  Args:
    scores: float [B, N, N]: of each word (second axis), its possible heads.
      Those of arcs to a node itself, from padding or into the root are ignored.
    is_node: bool [B, N]: the root, and the words, which follow it.

  Returns:
    int32 [B, N]; 0 for the root and padding.
  """
  scores = ops.cast(scores, "float32")
  trees = _best_trees(scores, is_node, 0)
  is_root_arc = _all(trees == 0, is_node)
  # The root node counts as one too.
  has_several = ops.sum(ops.cast(is_root_arc, "int32"), axis=1) > 2

  def with_one():
    found = _best_trees(scores, is_node, 1)
    return ops.where(ops.expand_dims(has_several, 1), found, trees)

  # Nearly all best trees have one word at the root, however many they may have.
  return ops.cond(ops.any(has_several), with_one, lambda: trees)


def _best_trees(scores, is_node, root_cost):
  """Returns `decode`'s heads, of the best trees among the cheapest.

  Costs are integers that count before all scores: exact, as a large penalty
  among the scores would not be.

  Args:
    scores: float32 [B, N, N].
    is_node: bool [B, N].
    root_cost: int, of each word whose head is the root.
  """
  nodes = ops.arange(ops.shape(is_node)[1], dtype="int32")  # [N]
  component = ops.broadcast_to(nodes, ops.shape(is_node))
  state = (
    ops.shape(is_node)[1],  # Rounds left: scores that are no numbers may cycle.
    True,
    component,
    ops.zeros_like(component),
    ops.zeros_like(scores, dtype="int32"),
    scores,
    _costs(is_node, nodes, root_cost),
  )
  return ops.while_loop(_has_cycle, _join_cycles, state)[3]


def _costs(is_node, nodes, root_cost):
  """Returns the costs of arcs, int32 [B, N, N]; padding goes to the root."""
  is_from_root = nodes == 0
  cost = root_cost * ops.cast(
    _all(ops.expand_dims(is_node, 2), is_from_root), "int32"
  )
  is_word = _all(is_node, nodes > 0)
  is_arc = _all(
    ops.expand_dims(is_word, 2),
    ops.expand_dims(is_word, 1),
    ops.expand_dims(nodes, 1) != nodes,
  )
  # A tree of allowed arcs always costs less than one forbidden arc.
  forbidden = ops.shape(is_node)[1] + 1
  return ops.where(ops.logical_or(is_arc, is_from_root), cost, forbidden)


def _has_cycle(rounds, has_cycle, *_):
  return _all(has_cycle, rounds > 0)


def _join_cycles(rounds, _, component, heads, inside, scores, costs):
  """Takes the best arc into each component, and joins those in cycles.

  Args:
    rounds: int32 [], how many are left.
    component: int32 [B, N], that of each node: the number of one of its nodes.
    heads: int32 [B, N], of the last round.
    inside: int32 [B, N, N]: if the component is entered at the first node, the
      head of the second.
    scores: float32 [B, N, N], what a component gains if it is entered by an
      arc, with the heads inside that follow.
    costs: int32 [B, N, N], the same of costs.

  Returns:
    The same, of the next round.
  """
  nodes = ops.arange(ops.shape(component)[1], dtype="int32")
  # Whether two nodes are of one component, [B, N, N].
  is_same = ops.expand_dims(component, 2) == ops.expand_dims(component, 1)
  # The best arc into each node; then that of its component, for each of them.
  cost, score, head = _best(costs, scores, ops.logical_not(is_same))
  cost, score, entry = _best(
    ops.expand_dims(cost, 1), ops.expand_dims(score, 1), is_same
  )
  there = ops.take_along_axis(inside, ops.expand_dims(entry, 1), axis=1)
  there = ops.squeeze(there, 1)
  heads = ops.where(_all(entry == nodes, nodes > 0), head, there)
  inside = ops.where(is_same, inside, ops.expand_dims(heads, 1))
  lowest, is_in_cycle = _cycles(heads, nodes)
  # Components with a node in a cycle are in it as a whole.
  is_joined = _all(is_same, ops.expand_dims(is_in_cycle, 1))
  joined = ops.max(ops.where(is_joined, ops.expand_dims(lowest, 1), -1), axis=2)
  return (
    rounds - 1,
    ops.any(is_in_cycle),
    ops.where(joined >= 0, joined, component),
    heads,
    inside,
    scores - ops.expand_dims(score, 2),
    costs - ops.expand_dims(cost, 2),
  )


def _best(costs, scores, is_allowed):
  """Returns the best of the last axis: its cost, its score and its place."""
  size = ops.shape(is_allowed)[-1]
  costs = ops.where(is_allowed, costs, 2**30)
  cost = ops.min(costs, axis=-1)
  scores = ops.where(costs == ops.expand_dims(cost, -1), scores, _LOWEST)
  score = ops.max(scores, axis=-1)
  # The first of equals. Not argmax, which Keras makes of ops that ONNX lacks.
  places = ops.arange(size, dtype="int32")
  places = ops.where(scores == ops.expand_dims(score, -1), places, size - 1)
  return cost, score, ops.min(places, axis=-1)


def _cycles(heads, nodes):
  """Returns the lowest node on the way from each, and which are in cycles.

  Args:
    heads: int32 [B, N].
    nodes: int32 [N].

  Returns:
    int32 [B, N] and bool [B, N].
  """
  far, lowest = heads, ops.broadcast_to(nodes, ops.shape(heads))
  for _ in range(_DOUBLINGS):
    there = ops.take_along_axis(lowest, far, axis=1)
    lowest = ops.minimum(lowest, there)
    far = ops.take_along_axis(far, far, axis=1)
  # So far along, only the root and nodes in cycles are left.
  is_reached = ops.any(ops.expand_dims(far, 2) == nodes, axis=1)
  return lowest, _all(is_reached, nodes > 0)


def _all(first, *others):
  """Returns whether all are true; `&` is an op of integers in LiteRT."""
  return functools.reduce(ops.logical_and, others, first)
