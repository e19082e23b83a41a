"""Linear-chain conditional random field: tags of a sequence, chosen together.

The score of a path y of tags over n tokens is

  start[y_0] + sum of logits[t, y_t] + sum of transitions[y_t, y_t+1] + end[y_n]

and its probability the softmax of that over all paths. The three tables come as
one, `scores` [C + 2, C]: from each tag to the next; of the first; of the last.
Axes: T tokens, a prefix of which is real; C tags.

Source: Lafferty et al. 2001; Lample et al. 2016, section 2.2.
"""

from keras import ops

from keras_bert_impl.layers.basics import layer


class ConditionalRandomField(layer.Layer):
  """The scores of tags that follow one another: the weights of the field.

  They start at zero, where every token is tagged by itself.

  Args:
    **kwargs: of `keras.layers.Layer`.
  """

  def build(self, logits_shape):
    """Creates the weights."""
    size = logits_shape[-1]
    self.transitions = self._zeros("transitions", size, size)
    self.start = self._zeros("start", size)
    self.end = self._zeros("end", size)

  def call(self, logits):
    """Returns `scores` for each row of float [B, T, C]: [B, C + 2, C]."""
    scores = ops.concatenate(
      [self.transitions, self.start[None], self.end[None]], axis=0
    )
    return ops.broadcast_to(scores, (ops.shape(logits)[0], *scores.shape))


def to_front(is_token, *arrays):
  """Moves what belongs to real tokens to the front of the rows.

  Args:
    is_token: bool [B, L].
    *arrays: [B, L, ...], of any rank.

  Returns:
    int32 [B], how many are real, and the arrays in their new order.
  """
  length = ops.shape(is_token)[1]
  places = ops.arange(length)[None]
  order = ops.argsort(ops.where(is_token, places, places + length), axis=1)
  moved = [
    ops.take_along_axis(
      x, ops.reshape(order, (-1, length) + (1,) * (len(x.shape) - 2)), axis=1
    )
    for x in arrays
  ]
  return ops.sum(ops.cast(is_token, "int32"), axis=1), *moved


def negative_log_likelihood(logits, scores, labels, lengths):
  """Returns minus the logarithm of the probability of each path, float32 [B].

  Args:
    logits: float32 [B, T, C].
    scores: float32 [C + 2, C].
    labels: int [B, T], of the paths.
    lengths: int [B], real tokens of each row; 0 gives 0.
  """
  path = ops.one_hot(labels, ops.shape(logits)[-1], dtype=logits.dtype)
  return log_partition(logits, scores, lengths) - _score(
    logits, scores, *_counts_of_path(path, lengths)
  )


def log_partition(logits, scores, lengths):
  """Returns the logarithm of the sum over all paths, float32 [B].

  Its gradient, the expected counts of tags and of pairs, comes without
  differentiating the recursion.

  Args:
    logits: float32 [B, T, C].
    scores: float32 [C + 2, C].
    lengths: int [B], real tokens of each row; 0 gives 0.
  """
  fixed = ops.stop_gradient(logits), ops.stop_gradient(scores)
  forward = _forward(*fixed, ops.logsumexp)
  backward = _backward(*fixed, lengths)
  total, counts = _expected_counts(*fixed, lengths, forward, backward)
  # The value of `total`, with the gradient of the second line.
  return total + _score(logits, scores, *counts) - _score(*fixed, *counts)


def marginals(logits, scores, lengths):
  """Returns the probability of each tag, float32 [B, T, C]; 0 beyond the rows.

  Args:
    logits: float32 [B, T, C].
    scores: float32 [C + 2, C].
    lengths: int [B], real tokens of each row.
  """
  forward = _forward(logits, scores, ops.logsumexp)
  backward = _backward(logits, scores, lengths)
  _, (tags, _) = _expected_counts(logits, scores, lengths, forward, backward)
  return tags


def viterbi(logits, scores, lengths):
  """Returns the likeliest paths, int32 [B, T]; 0 beyond the rows.

  Args:
    logits: float32 [B, T, C].
    scores: float32 [C + 2, C].
    lengths: int [B], real tokens of each row.
  """
  steps, _, end = _tables(scores)

  def step(following, best, has_next):
    onwards = ops.take(ops.transpose(steps), following, axis=0)  # [B, C]
    tags = ops.argmax(best + ops.where(has_next, onwards, end), axis=-1)
    tags = ops.cast(tags, "int32")
    return tags, tags

  is_token, has_next = _tokens(logits, lengths)
  forward = _forward(logits, scores, ops.max)
  nothing = ops.zeros_like(lengths, dtype="int32")
  path = _scan(step, nothing, forward, has_next, reverse=True)
  return ops.where(is_token, path, 0)


def _forward(logits, scores, join):
  """Returns [B, T, C]: all paths up to each token and tag, joined.

  `join` is `ops.logsumexp`, or `ops.max` for the best one alone. What is beyond
  the real tokens of a row has no meaning.
  """
  steps, start, _ = _tables(scores)

  def step(before, logits, is_first):
    reached = join(before[:, :, None] + steps, axis=1)
    here = ops.where(is_first, start, reached) + logits
    return here, here

  is_first = ops.arange(ops.shape(logits)[1])[None] == 0
  return _scan(step, ops.zeros_like(logits[:, 0]), logits, is_first)


def _backward(logits, scores, lengths):
  """Returns [B, T, C]: the sum of all paths after each token and tag."""
  steps, _, end = _tables(scores)

  def step(after, logits, has_next):
    onwards = ops.logsumexp(steps + after[:, None, :], axis=2)
    here = ops.where(has_next, onwards, end)
    return here + logits, here

  _, has_next = _tokens(logits, lengths)
  nothing = ops.zeros_like(logits[:, 0])
  return _scan(step, nothing, logits, has_next, reverse=True)


def _scan(step, initial, values, flags, reverse=False):
  """Returns the results of `step` at each token, [B, T, ...].

  Args:
    step: callable of the last carry, of values [B, C] and of flags [B, 1];
      returns the next carry and what it finds.
    initial: [B, ...], the first carry.
    values: float [B, T, C].
    flags: bool [B or 1, T].
    reverse: bool, whether it begins with the last token.
  """
  # In one tensor, because Keras takes several only where T is known.
  flags = ops.broadcast_to(flags, ops.shape(values)[:2])
  flags = ops.cast(flags, values.dtype)[:, :, None]
  joined = ops.concatenate([values, flags], axis=-1)

  def unpack(carry, inputs):
    return step(carry, inputs[:, :-1], inputs[:, -1:] > 0)

  by_time = ops.swapaxes(joined, 0, 1)
  _, found = ops.scan(unpack, initial, by_time, reverse=reverse)
  return ops.swapaxes(found, 0, 1)


def _expected_counts(logits, scores, lengths, forward, backward):
  """Returns the log-partition [B], and expected counts as `_score` takes them.

  `forward` and `backward` are what the functions of these names return.
  """
  is_token, has_next = _tokens(logits, lengths)
  total = ops.logsumexp(forward[:, 0] + backward[:, 0], axis=-1)  # [B]
  tags = _probabilities(
    forward + backward - total[:, None, None], is_token[:, :, None]
  )
  steps, *_ = _tables(scores)
  after = (logits + backward - total[:, None, None])[:, 1:, None, :]
  pairs = _probabilities(
    forward[:, :-1, :, None] + steps + after, has_next[:, :-1, None, None]
  )
  counts = _all_counts(tags, ops.sum(pairs, axis=1), has_next, is_token)
  return ops.where(lengths > 0, total, 0.0), (tags, counts)


def _probabilities(logarithms, are_there):
  # Where nothing is, anything may stand: even what has no exponential.
  return ops.where(are_there, ops.exp(ops.where(are_there, logarithms, 0.0)), 0)


def _counts_of_path(path, lengths):
  """Returns the counts, as `_score` takes them, of one-hot paths [B, T, C]."""
  is_token, has_next = _tokens(path, lengths)
  tags = path * ops.cast(is_token, path.dtype)[:, :, None]
  pairs = ops.einsum("bti,btj->bij", tags[:, :-1], tags[:, 1:])
  return tags, _all_counts(tags, pairs, has_next, is_token)


def _all_counts(tags, pairs, has_next, is_token):
  """Returns how often each of the scores counts, [B, C + 2, C]."""
  is_last = ops.logical_and(is_token, ops.logical_not(has_next))
  last = ops.sum(tags * ops.cast(is_last, tags.dtype)[:, :, None], axis=1)
  return ops.concatenate([pairs, tags[:, :1], last[:, None]], axis=1)


def _score(logits, scores, tags, counts):
  """Returns [B], the sum of logits and scores times how often they count."""
  return ops.sum(tags * logits, axis=(1, 2)) + ops.sum(
    counts * scores, axis=(1, 2)
  )


def _tables(scores):
  """Returns transitions [C, C], start and end [C]."""
  return scores[:-2], scores[-2], scores[-1]


def _tokens(logits, lengths):
  """Returns bool [B, T]: whether there is a token, and one after it."""
  places = ops.arange(ops.shape(logits)[1])[None]
  return places < lengths[:, None], places + 1 < lengths[:, None]
