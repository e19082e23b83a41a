"""The model of a checkpoint that an estimator holds, opened when it is used."""

import functools
import zlib

import keras
import numpy as np

from keras_bert_impl.model_folders import trained_models, trained_servables


class OpenedModel:
  """The trained model of an estimator's checkpoint, with its tokenizer.

  Args:
    estimator: `answering.Answering`, whose checkpoint it is of.
  """

  def __init__(self, estimator):
    self._estimator = estimator
    self._sum_of_checkpoint = None

  @functools.cached_property
  def _parts(self):
    """As `trained_models.open_with_tokenizer` returns them."""
    one = self._estimator
    return trained_models.open_with_tokenizer(
      one._files, one.checkpoint, [one.kind], one.head, one.max_seq_length
    )

  @functools.cached_property
  def tokenizer(self):
    """The tokenizer, of `tokenizers.load`; there is no model needed for it."""
    if "_parts" in vars(self):
      return self._parts[1]
    one = self._estimator
    return trained_models.open_tokenizer(one._files, one.checkpoint)

  @property
  def model(self):
    """The `EncoderModel`."""
    return self._parts[0].model

  def given_model(self):
    """Returns the model to someone who may change its weights."""
    if self._sum_of_checkpoint is None:
      self._sum_of_checkpoint = _checksum(self.model)
    return self.model

  def changed_sum(self):
    """Returns the checksum of weights that are not the checkpoint's, or None.

    Only who has been given the model can have changed them.
    """
    if self._sum_of_checkpoint is None:
      return None
    found = _checksum(self.model)
    return None if found == self._sum_of_checkpoint else found

  def servable(self, values):
    """Returns the `Servable` with the weights as they are.

    Args:
      values: {option: value}, as of `trained_servables.of_trained`.
    """
    one = self._estimator
    return trained_servables.of_trained(
      *self._parts, [one.kind], one.max_seq_length, values
    )


def _checksum(model):
  """Returns a number that other weights of a model do not have."""
  found = 0
  for weight in model.weights:
    array = np.ascontiguousarray(keras.ops.convert_to_numpy(weight))
    found = zlib.crc32(array.view(np.uint8), found)
  return found
