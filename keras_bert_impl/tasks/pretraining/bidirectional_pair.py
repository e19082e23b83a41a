"""Language models of both directions, trained side by side."""

import dataclasses

from etils import epy

from keras_bert_impl import features, options
from keras_bert_impl.tasks.basics import cross_entropy, pretraining
from keras_bert_impl.tasks.pretraining import causal_lm

with epy.lazy_imports():
  from keras import ops

  from keras_bert_impl.models.pretraining import bidirectional_lm


@dataclasses.dataclass(frozen=True)
class BidirectionalPairOptions:
  """Options of --objective=bidirectional_pair."""

  share_pair_embeddings: bool = options.field(
    False,
    "Whether both encoders of bidirectional_pair learn one layer of"
    " embeddings; after pre-training each has its own.",
  )


class BidirectionalPairTask(causal_lm.LeftToRightTask):
  """A left-to-right and a right-to-left language model.

  The loss is the sum of both: of the next token, from those before it, and of
  the previous token, from those after it.

  Args:
    config: `EncoderConfig` of either encoder, with causal_direction "both".
    max_seq_length: int, L.
    pad_id: int, of the padding.
    is_packed: as `LeftToRightTask`.
    share_pair_embeddings: bool, as `BidirectionalPairOptions`.

  Raises:
    ValueError: as `LeftToRightTask`.

  Source: Devlin et al. 2019, section 5.1; Peters et al. 2018 (ELMo), section
  3.1, for the sum.
  """

  objective = "bidirectional_pair"
  direction = "both"
  short_names = {
    "language_model": "LM",
    "backward_language_model": "backward LM",
  }

  def __init__(
    self,
    config,
    max_seq_length,
    pad_id=0,
    is_packed=False,
    share_pair_embeddings=False,
  ):
    super().__init__(config, max_seq_length, pad_id, is_packed)
    self.share_pair_embeddings = share_pair_embeddings

  @classmethod
  def make(cls, config, data, options):
    """Returns the task for some records; see `PretrainingTask.make`."""
    return cls(
      config,
      data.max_seq_length,
      data.pad_id,
      data.is_packed,
      **vars(options),
    )

  def build_model(self):
    """Returns a `BidirectionalLanguageModel` with fresh weights."""
    return bidirectional_lm.BidirectionalLanguageModel(
      self.config,
      use_sequence_ids=self.is_packed,
      shares_embeddings=self.share_pair_embeddings,
    )

  def weights(self, batch):
    """Returns 1 where a token has a neighbour to predict, [B, L] both."""
    length = ops.shape(batch[features.INPUT_IDS])[1]
    # Of a token and the next one; without some of the padding, or all of it.
    weights = batch[features.MASKED_LM_WEIGHTS]
    return {
      name: ops.pad(weights, [[0, 0], [place, length]])[:, :length]
      for place, name in enumerate(self.short_names)
    }

  def predictions(self, batch, outputs):
    """Returns the next and the previous tokens, [B, L]."""
    ids = batch[features.INPUT_IDS]
    return {
      "language_model": cross_entropy.Prediction(
        outputs["token_logits"], ops.roll(ids, -1, axis=1)
      ),
      "backward_language_model": cross_entropy.Prediction(
        outputs["backward_token_logits"], ops.roll(ids, 1, axis=1)
      ),
    }


BIDIRECTIONAL_PAIR = pretraining.Objective(
  BidirectionalPairTask,
  packing="doc_sentences",
  masking_policy=None,
  options=BidirectionalPairOptions,
  servables=("encoder",),
)
