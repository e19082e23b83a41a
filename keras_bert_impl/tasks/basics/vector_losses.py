"""Losses of text vectors, each of a whole batch.

A loss is a function of a `Batch` and its options. It returns the sum of the
losses of the examples. Axes: B examples of a batch, T texts of each, D.
"""

import dataclasses
from typing import NamedTuple

from etils import epy

# Keras, which takes seconds to import, is not for --help.
with epy.lazy_imports():
  from keras import ops

  from keras_bert_impl.tasks.basics import max_sim

MAX_SIM = "maxsim"
_LOWEST = -1e9


class Batch(NamedTuple):
  """What a loss reads.

  Attributes:
    vectors: list of T float32 [B, D], or of late interaction [B, L, D]: an
      anchor, its positive and, if there are any, its negatives; or two texts
      and the score of their likeness.
    text_ids: list of T int32 [B], equal for equal texts.
    scores: float32 [B], or None.
    weights: float32 [B], 1 for examples and 0 for the padding of a batch.
  """

  vectors: list
  text_ids: list
  scores: object
  weights: object


@dataclasses.dataclass(frozen=True)
class Loss:
  """A loss by its name.

  Attributes:
    function: callable (`Batch`, options) -> float32 scalar; the options are
      those of `embedding_task.EmbeddingTask`.
    texts: str, what texts an example has, for messages.
    num_texts: int, the least number of them.
    reads_scores: bool, whether an example has a score.
    most_texts: int, the greatest number, or None for any.
    compares_examples: bool, whether others of the batch are compared with one.
  """

  function: object
  texts: str
  num_texts: int = 2
  reads_scores: bool = False
  most_texts: int | None = None
  compares_examples: bool = False

  def least_examples(self, num_texts):
    """Returns how many examples of so many texts a batch must have, int."""
    return 2 if self.compares_examples and num_texts == 2 else 1


def in_batch(batch, options):
  """Softmax over the texts of a batch: the positive among all others.

  The candidates of an anchor are the positives and the negatives of all
  examples; texts equal to its positive, or to the anchor itself, are left out.
  `options.similarity` compares them: cosine, dot product or MaxSim.
  With `both_ways`, the mean with the loss of finding the anchor of a positive.

  Source: van den Oord et al. 2018; Henderson et al. 2017, section 4 (in-batch
  negatives); Radford et al. 2021 (both ways).
  """
  scores = _scores(batch.vectors, options.similarity) / options.temperature
  loss = _softmax_loss(
    scores, _is_left_out(batch, batch.text_ids[1:]), batch.weights
  )
  if not options.both_ways:
    return loss
  back = _softmax_loss(
    ops.transpose(scores[:, : ops.shape(scores)[0]]),
    _is_left_out(batch, batch.text_ids[:1])
    | _is_left_out(batch, batch.text_ids[1:2]),
    batch.weights,
  )
  return (loss + back) / 2


def in_batch_logits(batch, similarity, temperature):
  """Returns the logits [B, candidates] of the softmax of `in_batch`.

  Candidate i is the positive of anchor i.

  Args:
    batch: `Batch`.
    similarity: str, as of `in_batch`.
    temperature: float, the same.
  """
  scores = _scores(batch.vectors, similarity) / temperature
  return ops.where(_is_left_out(batch, batch.text_ids[1:]), _LOWEST, scores)


def triplet(batch, options):
  """Hinge: the positive is nearer than the negative by a margin.

  Distances are Euclidean or, of late interaction, MaxSim with the other sign.
  Source: Reimers and Gurevych 2019, section 3;
  Schroff et al. 2015.
  """
  anchor, *others = batch.vectors
  distance = _distance
  if options.similarity == MAX_SIM:
    distance = _max_sim_distance
  near, *far = (distance(anchor, other) for other in others)
  losses = [ops.relu(near - each + options.margin) for each in far]
  return ops.sum(batch.weights * sum(losses) / len(losses))


def cosine(batch, options):
  """Squared error of the cosine, whose target is the score.

  Source: Reimers and Gurevych 2019, section 3 (regression).
  """
  errors = _cosines(*batch.vectors) - batch.scores
  return ops.sum(batch.weights * errors**2)


def cosent(batch, options):
  """Pairs of higher scores have higher cosines: CoSENT.

  log(1 + sum of exp((cosine of j - cosine of i) / temperature)) over all i of a
  higher score than j; times the number of examples. Source: Su 2022, CoSENT.
  """
  return _ranking_loss(_cosines(*batch.vectors), batch, options.temperature)


def angle(batch, options):
  """As `cosent`, with the angle of vectors of complex numbers: AnglE.

  The first half of a vector are the real parts, the second the imaginary ones.
  A vector of zeros has no angle; its pairs count 0.
  Source: Li and Li 2023, section 3.3.
  """
  a, b, c, d = (half for v in batch.vectors for half in ops.split(v, 2, axis=1))
  # The least sizes, of which roots and quotients have gradients.
  size = ops.maximum(ops.sum(c**2 + d**2, axis=1, keepdims=True), 1e-12)
  real, imaginary = (a * c + b * d) / size, (b * c - a * d) / size
  ratio = ops.sqrt(
    ops.maximum(ops.sum(a**2 + b**2, axis=1, keepdims=True) / size, 1e-24)
  )
  parts = ops.concatenate([real, imaginary], axis=1) / ratio
  likeness = ops.abs(ops.sum(parts, axis=1))
  return _ranking_loss(likeness, batch, options.temperature)


LOSSES = {
  "in_batch": Loss(
    in_batch,
    "an anchor, a positive, and any negatives",
    compares_examples=True,
  ),
  "triplet": Loss(triplet, "an anchor, a positive and negatives", 3),
  "cosine": Loss(cosine, "two texts and a score", 2, True, 2),
  "cosent": Loss(cosent, "two texts and a score", 2, True, 2, True),
  "angle": Loss(angle, "two texts and a score", 2, True, 2, True),
}


def flops(vectors, weights):
  """Returns the FLOPS regulariser [] of sparse vectors.

  The sum, over the vocabulary, of the squared mean of a token's weights: the
  multiplications that a search takes, on average.

  Args:
    vectors: float32 [N, V], none below 0.
    weights: float32 [N], 1 for texts and 0 for the padding of a batch.

  Source: Paria et al. 2020, equation 4; Formal et al. 2021, "SPLADE", 3.2.
  """
  total = ops.sum(ops.expand_dims(weights, 1) * vectors, axis=0)  # [V]
  return ops.sum((total / ops.maximum(ops.sum(weights), 1.0)) ** 2)


def of_widths(loss, batch, options):
  """Returns a loss, summed over vectors cut to each of `options.widths`.

  Source: Kusupati et al. 2022, Matryoshka representation learning, equation 1.
  """
  if not options.widths:
    return loss.function(batch, options)
  return sum(
    loss.function(
      batch._replace(vectors=[v[:, :width] for v in batch.vectors]), options
    )
    for width in options.widths
  )


def _scores(vectors, similarity):
  """Returns the similarities [B, candidates] of anchors and other texts."""
  if similarity == MAX_SIM:
    anchors, *others = vectors
    return ops.concatenate(
      [max_sim.matrix(anchors, other) for other in others], axis=1
    )
  if similarity == "cosine":
    vectors = map(ops.normalize, vectors)
  anchors, *others = vectors
  return ops.matmul(anchors, ops.transpose(ops.concatenate(others)))


def _softmax_loss(scores, is_left_out, weights):
  """Returns the summed cross-entropies [] of anchor i and candidate i.

  Args:
    scores: float32 [B, candidates].
    is_left_out: bool [B, candidates].
    weights: float32 [B].
  """
  logits = ops.where(is_left_out, _LOWEST, scores)
  right = ops.diagonal(logits[:, : logits.shape[0]])
  return ops.sum(weights * (ops.logsumexp(logits, axis=1) - right))


def _is_left_out(batch, candidate_ids):
  """Returns bool [B, candidates]: no negative of example i.

  It is padding, or equals the anchor or the positive of i.
  """
  ids = ops.concatenate(candidate_ids)  # [candidates]
  is_equal = False
  for own in batch.text_ids[:2]:
    is_equal |= ops.expand_dims(own, 1) == ids
  num_parts = ids.shape[0] // batch.weights.shape[0]
  is_padding = ops.tile(batch.weights, [num_parts]) == 0
  is_own = ops.eye(batch.weights.shape[0], ids.shape[0], dtype="bool")
  return (is_equal | is_padding) & ~is_own


def _ranking_loss(values, batch, temperature):
  differences = (values - ops.expand_dims(values, 1)) / temperature  # [i, j]
  is_pair = ops.expand_dims(batch.scores, 1) > batch.scores
  is_pair &= ops.expand_dims(batch.weights, 1) * batch.weights > 0
  differences = ops.where(is_pair, differences, _LOWEST)
  # log(1 + exp(x)) of the logarithm of the sum.
  loss = ops.softplus(ops.logsumexp(differences))
  return loss * ops.sum(batch.weights)


def _cosines(a, b):
  return ops.sum(ops.normalize(a) * ops.normalize(b), axis=1)


def _max_sim_distance(a, b):
  return -max_sim.pairs(a, b)


def _distance(a, b):
  """Returns the Euclidean distances [B]; their gradient at 0 is 0."""
  return ops.sqrt(ops.sum((a - b) ** 2, axis=1) + 1e-12)
