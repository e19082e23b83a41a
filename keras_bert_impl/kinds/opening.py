"""Opens trained models of any kind, and makes their servables."""

from keras_bert_impl import kinds
from keras_bert_impl.model_folders import trained_models, trained_servables


def load(path, head=None):
  """Returns the `TrainedModel` of a path; as `trained_models.load`."""
  return trained_models.load(path, kinds.all_kinds(), head)


def make_servable(config, path, head=None, max_seq_length=None, chosen=None):
  """Returns as `trained_servables.make`."""
  return trained_servables.make(
    config, path, kinds.all_kinds(), head, max_seq_length, chosen
  )
