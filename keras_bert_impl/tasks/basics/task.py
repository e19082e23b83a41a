"""Base class of training objectives and fine-tuning tasks."""

import abc

from keras_bert_impl import heads


class Task(abc.ABC):
  """A task: its model, losses and metrics.

  Losses are sums, not means: the training loop divides them by `denominators`
  summed over all replicas and micro-batches, so that the gradient does not
  depend on how a global batch was cut up.

  Attributes:
    head: str, the name of the head that a fine-tuning task trains.
    labels: tuple of str, the classes in the order of the logits; None without.
    has_named_labels: bool, whether these are names, which teachers may have in
      another order, and not numbers.
    has_pooler: bool, whether the head reads the encoder's pooler.
    has_frozen_encoder: bool, whether the encoder makes the same of a row at
      each step, untrained and without dropout, and the model is one in two
      parts, as `models.FeatureTagger`.
    read_outputs: tuple of str, the outputs of the model that losses and scores
      read; None for all.
    sparse_outputs: tuple of str, those that are 0 nearly everywhere.
    num_texts: int, texts of a row, each with inputs of its own, which have the
      names of `features.of_text`.
    compares_rows: bool, whether the loss reads all rows of a batch at once:
      then `outputs` are a list, {name: tensor} of each text, and batch and
      outputs are those of all replicas.
    chunk_size: int, rows at once of such a loss, which fit into memory; None
      for all.
    least_examples: int, examples of a batch without which there is no loss.
    taught_outputs: tuple of str, the outputs that a student can learn from a
      teacher by `soft_losses`; empty: it cannot be taught.
    required_prefixes: tuple of str, beginnings of the paths of the variables
      that training must take from a checkpoint; empty: it may start from
      nothing, and from a checkpoint the experiment says which.
    undescribed: tuple of str, fields that the same model does not depend on.
    config_values: {key: JSON value}, what config.json says besides the model,
      its head and its labels.
  """

  head = None
  labels = None
  has_named_labels = True
  has_pooler = False
  has_frozen_encoder = False
  read_outputs = None
  sparse_outputs = ()
  num_texts = 1
  compares_rows = False
  chunk_size = None
  least_examples = 1
  taught_outputs = ()
  required_prefixes = ()
  undescribed = ()
  config_values = {}

  @property
  def stored_head(self):
    """The head as checkpoints store it, str."""
    return self.head

  @property
  def has_standard_head(self):
    """Whether other programs have the head too: config.json names it then."""
    return self.stored_head in heads.HEADS

  @property
  def pads_left(self):
    """Whether padding comes before a row's tokens: its last place is read."""
    return self.has_pooler and self.config.pads_left

  def groups(self, rows):
    """Returns [(int array: rows, int: how many an epoch reads of them)].

    None where an epoch reads each of `rows`, a `Rows`, once.
    """
    return None

  @abc.abstractmethod
  def build_model(self):
    """Returns the `keras.Model`; its input names are keys of the batch."""

  def predictor(self, model):
    """Returns what answers the batches that are scored, in graphs.

    Args:
      model: that of `build_model`.

    Returns:
      Function of a batch {name: tensor} -> {output: tensor [B, ...]}; None for
      the outputs of the model.
    """
    return None

  def given_weights(self, tensors):
    """Returns the weights that a checkpoint gives the model to start from.

    Args:
      tensors: mapping of our names -> arrays, with `shapes`, of the checkpoint.
    """
    return tensors

  @abc.abstractmethod
  def denominators(self, batch):
    """Returns {loss name: float32 scalar}, from the labels alone."""

  def total_denominators(self, data):
    """Returns {loss name: float}, those of all rows of `data`, a `Rows`.

    For rows of which some count more than others: were a batch of short rows
    divided by its own number of tokens, each would count more than in a batch
    of long ones. {} where all rows count the same.
    """
    return {}

  @abc.abstractmethod
  def losses(self, batch, outputs):
    """Returns {loss name: float32 scalar}, each a sum over the examples."""

  def soft_losses(self, batch, outputs, taught, temperature):
    """Returns as `losses`, of what a teacher predicts in place of the labels.

    Args:
      batch: as `losses`.
      outputs: as `losses`.
      taught: {name of `taught_outputs`: tensor}, outputs of the teacher.
      temperature: float > 0, that logits are divided by.
    """
    raise NotImplementedError(type(self).__name__)

  @abc.abstractmethod
  def metrics(self, batch, outputs):
    """Returns {metric name: (sum, count)}, float32 scalars."""

  @classmethod
  def found_options(cls, configuration, scores, described):
    """Returns {option of the servable: value} that a run has found out.

    Args:
      configuration: {name: value}, that in the run's results.json.
      scores: {metric: float}, those of its dev set; {} without one.
      described: {name: value}, its task.json.

    Raises:
      ValueError: a value of the configuration is none.
    """
    return {}

  def describe_training(self):
    """Returns {option: JSON value} of its training alone, besides `describe`.

    A continued training must agree on them.
    """
    return {}

  def describe(self):
    """Returns {option: JSON value} to build the same model again: its fields.

    The configuration of the encoder stands elsewhere.
    """
    left_out = ("config", *self.undescribed)
    fields = {k: v for k, v in vars(self).items() if k not in left_out}
    return {"labels": self.labels} | fields
