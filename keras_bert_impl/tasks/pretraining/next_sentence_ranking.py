"""Ranking: a sentence finds the next one among those of the batch."""

import dataclasses

from etils import epy

from keras_bert_impl import choices, features, options
from keras_bert_impl.tasks.basics import cross_entropy, pretraining

with epy.lazy_imports():
  import tensorflow as tf
  from keras import ops

  from keras_bert_impl import models
  from keras_bert_impl.tasks.basics import vector_losses

_EMBEDDINGS = "embeddings"
_NUM_TEXTS = 2


@dataclasses.dataclass(frozen=True)
class RankingOptions:
  """Options of --objective=next_sentence_ranking."""

  ranking_temperature: float = options.field(
    0.05,
    "Number that the cosines of next_sentence_ranking are divided by.",
    interval="(0, 1000]",
  )


class NextSentenceRankingTask(pretraining.PretrainingTask):
  """Vectors of sentences, each of which finds that of the next sentence.

  A softmax over the cosines with all second sentences of the batch; those that
  equal either of the two are left out.

  Args:
    config: `EncoderConfig`.
    data: as `PretrainingTask`.
    options: `RankingOptions`.

  Raises:
    ValueError: batches are to be cut by length.

  Source: Logeswaran and Lee 2018 (quick thoughts), section 3. Differs from it:
  one encoder, and cosines in place of products.
  """

  has_target = True
  options_class = RankingOptions
  token_loss = None
  short_names = {"next_sentence_ranking": "next sentence"}
  num_texts = _NUM_TEXTS
  compares_rows = True
  least_examples = 2
  read_outputs = (_EMBEDDINGS,)

  def __init__(self, config, data=None, options=None):
    super().__init__(config, data, options)
    if self.data.by_length:
      raise ValueError(
        "bucket_by_length must be left out with next_sentence_ranking, which"
        " puts texts of similar length together within a batch."
      )

  def prepare(self, batch, seed):
    """Pads both sentences; see `PretrainingTask`."""
    del seed
    prepared, length = {}, self.data.max_seq_length
    for number, name in enumerate((features.INPUT_IDS, features.TARGET_IDS)):
      text = batch[name]
      shape = [batch[features.INPUT_IDS].shape[0], length]
      ids = text.to_tensor(self.data.pad_id, shape=shape)
      mask = tf.sequence_mask(text.row_lengths(), length, tf.int32)
      words = tf.strings.reduce_join(
        tf.strings.as_string(ids), 1, separator=" "
      )
      columns = {
        features.INPUT_IDS: tf.cast(ids, tf.int32),
        features.INPUT_MASK: tf.ensure_shape(mask, shape),
        features.SEGMENT_IDS: tf.zeros(shape, tf.int32),
        features.TEXT_IDS: tf.cast(
          tf.strings.to_hash_bucket_fast(words, tf.int32.max), tf.int32
        ),
      }
      prepared |= {features.of_text(k, number): x for k, x in columns.items()}
    return prepared

  def hide(self, ids, is_hidden, mask_id):
    """Returns None: it predicts no tokens."""
    return None

  def build_model(self):
    """Returns an `EmbeddingModel` with fresh weights."""
    encoder = models.make_encoder(self.config, use_pooler=False)
    return models.EmbeddingModel(encoder)

  def weights(self, batch):
    """Returns 1 for examples, [B]."""
    return {"next_sentence_ranking": cross_entropy.row_weights(batch)}

  def predictions(self, batch, outputs):
    """Returns the place of the next sentence among the second ones, [B]."""
    numbers = range(_NUM_TEXTS)
    vectors = vector_losses.Batch(
      [text[_EMBEDDINGS] for text in outputs],
      [batch[features.of_text(features.TEXT_IDS, k)] for k in numbers],
      None,
      cross_entropy.row_weights(batch),
    )
    logits = vector_losses.in_batch_logits(
      vectors, "cosine", self.options.ranking_temperature
    )
    places = ops.arange(logits.shape[0])
    return {"next_sentence_ranking": cross_entropy.Prediction(logits, places)}

  def guesses(self, evaluation):
    """Returns {}: chance depends on how many there are to choose from."""
    return {}


NEXT_SENTENCE_RANKING = pretraining.Objective(
  NextSentenceRankingTask,
  packing=choices.FOLLOWING_SENTENCES,
  masking_policy=None,
  servables=("encoder",),
)
