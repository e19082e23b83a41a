"""Muon: updates of matrices with orthogonal directions."""

import re

import keras
import tensorflow as tf

from keras_bert_impl.optimizers import adamw

# Of any encoder: a generator and the other direction of a pair have their own.
_MATRIX = re.compile(r"encoder/(layer|group)_\d+/.*kernel$")
_MOMENTUM = 0.95
# Five steps with these numbers bring singular values near 1, between 0.7 and
# 1.2; numbers that converge to 1 need twice as many.
_STEPS = 5
_QUINTIC = (3.4445, -4.7750, 2.0315)
# The root mean square of AdamW's updates, so that its learning rates fit.
_RMS = 0.2


@keras.saving.register_keras_serializable("keras_bert_impl")
class Muon(adamw.AdamW):
  """Muon for the matrices of transformer blocks, AdamW for everything else.

  The update of a matrix is its momentum with all singular values brought near
  1: directions that gradients rarely have count as much as frequent ones. It is
  scaled to the size of AdamW's updates, so that learning rate and weight decay
  are those of AdamW. Embeddings, heads, norms and biases are updated by AdamW;
  so are the weights of XLNet's attention, which are no matrices [m, n].

  The momentum of a matrix is 0.95, whatever `beta_1`, and its second moment has
  no effect.

  Args:
    See `moments.MomentOptimizer`; the bias of AdamW's moments is corrected by
    default.

  Source: Jordan et al. 2024, "Muon: an optimizer for hidden layers in neural
  networks"; Liu et al. 2025, "Muon is scalable for LLM training", section 2.2.
  """

  NAME, LEARNING_RATE, USE_BIAS_CORRECTION = "muon", 1e-3, True

  @staticmethod
  def step_of(weights, gradient, m, v, rates):
    """Returns how far weights move, see `moments.MomentOptimizer`."""
    if not rates.is_matrix:
      return adamw.AdamW.step_of(weights, gradient, m, v, rates)
    # Nesterov's momentum: the gradient counts once more than in m.
    ahead = rates.beta_1 * m + (1.0 - rates.beta_1) * gradient
    scale = _RMS * max(weights.shape) ** 0.5
    update = scale * orthogonalize(ahead) + rates.weight_decay * weights
    return rates.learning_rate * update

  def _rates(self, path, learning_rate, dtype):
    """Returns the `Rates` of the variable of this path."""
    rates = super()._rates(path, learning_rate, dtype)
    if not _MATRIX.search(path):
      return rates
    return rates._replace(beta_1=_MOMENTUM, is_matrix=True)


def orthogonalize(matrix):
  """Returns a matrix with the singular vectors of `matrix`, values near 1.

  Args:
    matrix: float tensor [m, n].
  """
  is_tall = matrix.shape[0] > matrix.shape[1]
  x = tf.transpose(matrix) if is_tall else matrix
  x = tf.math.divide_no_nan(x, tf.norm(x))
  a, b, c = _QUINTIC
  for _ in range(_STEPS):
    gram = tf.matmul(x, x, transpose_b=True)
    x = a * x + tf.matmul(b * gram + c * tf.matmul(gram, gram), x)
  return tf.transpose(x) if is_tall else x
