"""ELMo's objective: LSTM language models of both directions."""

from etils import epy

from keras_bert_impl.tasks.basics import pretraining
from keras_bert_impl.tasks.pretraining import bidirectional_pair

with epy.lazy_imports():
  from keras_bert_impl.models.pretraining import bidirectional_lm


class ElmoTask(bidirectional_pair.BidirectionalPairTask):
  """Predicts the next and the previous token, by LSTMs and one softmax.

  Args:
    config: `EncoderConfig`, as of `models.ElmoEncoder`.
    max_seq_length: int, L.
    pad_id: int, of the padding.

  Raises:
    ValueError: the configuration is of another encoder.

  Source: Peters et al. 2018, section 3.1. Differs from it: the state begins
  anew in each row.
  """

  objective = "elmo"

  def __init__(self, config, max_seq_length, pad_id=0):
    if config.position_embedding_type != "recurrent":
      raise ValueError(
        f"position_embedding_type ({config.position_embedding_type!r}) must be"
        " 'recurrent' in the encoder configuration for the objective elmo."
      )
    super().__init__(config, max_seq_length, pad_id)

  @classmethod
  def make(cls, config, data, options):
    """Returns the task for some records; see `PretrainingTask.make`."""
    del options  # It has none.
    return cls(config, data.max_seq_length, data.pad_id)

  def build_model(self):
    """Returns an `ElmoLanguageModel` with fresh weights."""
    return bidirectional_lm.ElmoLanguageModel(self.config)


ELMO = pretraining.Objective(
  ElmoTask,
  packing="doc_sentences",
  masking_policy=None,
  servables=("encoder",),
)
