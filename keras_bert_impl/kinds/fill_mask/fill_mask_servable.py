"""Servable of the masked language model: fills [MASK] in texts.

Axes, besides those of `servables`: M most masks of a text in the batch, K
candidates per mask.
"""

import tensorflow as tf

from keras_bert_impl import features, models
from keras_bert_impl import options as options_lib
from keras_bert_impl.kinds.fill_mask import fill_mask_options
from keras_bert_impl.serving import row_batches, servables, text_row, tokens


class FillMaskServable(servables.Servable):
  """Fills masks: the likeliest tokens for each [MASK] of a text.

  The literal [MASK], or <mask> if the vocabulary has that name for it, is the
  mask token, which is a word of its own everywhere.

  Args:
    model: any that has a masked-LM head on its encoder, such as
      `PretrainingModel` or `MaskedLanguageModel`.
    tokenizer: as `Servable`.
    max_seq_length: as `Servable`.
    top_k: int, K.

  Raises:
    ValueError: as `Servable`; and if top_k is not between 1 and the size of the
      vocabulary.
  """

  head = "fill_mask"
  options = options_lib.names(fill_mask_options.FillMaskServing)

  finds_special_tokens = True
  unpredicted = "the text has no mask to fill"

  @classmethod
  def reader(cls, recorded):
    """Returns how texts are read: masks in them are the mask token."""
    return text_row.read_around_masks

  @staticmethod
  def predictions(outputs, row, labels):
    """Returns the likeliest token of each mask; see `Servable`."""
    found = []
    for place, token in enumerate(row.tokens):
      if token.is_mask:
        # A table may have more rows than there are tokens.
        logits = outputs["token_logits"][place, : len(labels)]
        best, share = text_row.likeliest(logits)
        label = f"{labels[best].strip()} ({share:.1%})"
        index = (place, best)
        found.append(text_row.Prediction(label, "token_logits", index, place))
    return found

  def __init__(self, model, tokenizer, max_seq_length, top_k=5):
    super().__init__(model, tokenizer, max_seq_length)
    size = tokenizer.vocabulary.size
    options_lib.check_numbers(f"[1, {size}]", top_k=top_k)
    self.top_k = top_k
    mask = tokenizer.vocabulary.mask_token
    self.example = {servables.TEXT: [f"The cat sat on the {mask}."]}

  def answer(self, text):
    """Returns the likeliest tokens for every [MASK] of every text.

    Args:
      text: string [B], UTF-8, with any number of [MASK], or the vocabulary's
        name of it.

    Returns:
      num_masks int32 [B]: the masks of the text that were answered. A mask
        beyond the max_seq_length of the model has been cut off with the text
        around it and does not count.
      tokens string [B, M, K]: the masks in the order of the text, the likeliest
        token first, as the tokenizer's `token_texts` shows it: "cat" or "##s"
        of WordPiece, " cat" or "s" of the other kinds. Wherever a text has
        fewer masks than M: "".
      scores float32 [B, M, K]: their probabilities among the whole vocabulary;
        0 where tokens is "".
      is_cut bool [B]: whether a text has more tokens than max_seq_length has
        room for.
    """
    vocabulary = self.tokenizer.vocabulary
    rows, is_cut = self.assemble(self.tokenizer.tokenize_around_masks(text))
    ids = rows[features.INPUT_IDS]
    masks = tf.ragged.boolean_mask(_places(ids), ids == vocabulary.mask_id)
    num_masks = tf.cast(masks.row_lengths(), tf.int32)
    rows[features.MASKED_LM_POSITIONS] = masks.to_tensor()
    model = self.load_model()

    def run(rows):
      rows = self._with_queries(rows)
      # Logits are as wide as the rows, and no row has more masks than that.
      logits = model(rows)["token_logits"][..., : vocabulary.size]
      return tuple(tf.math.top_k(tf.nn.softmax(logits), self.top_k))

    is_mask = tf.sequence_mask(num_masks)[:, :, tf.newaxis]  # [B, M, 1]
    shape = [None, self.top_k]
    scores, best = (
      values[:, : tf.shape(is_mask)[1]]  # [B, M, K]
      for values in row_batches.map_rows(
        run,
        rows,
        (tf.TensorSpec(shape, tf.float32), tf.TensorSpec(shape, tf.int32)),
      )
    )
    return {
      "num_masks": num_masks,
      "tokens": tf.where(is_mask, tokens.texts_of(self.tokenizer, best), ""),
      "scores": tf.where(is_mask, scores, 0.0),
      servables.IS_CUT: is_cut,
    }

  @property
  def row_inputs(self):
    """Inputs of `answer_rows`; masks are filled at given positions."""
    return super().row_inputs | {
      features.MASKED_LM_POSITIONS: ("batch", "masks")
    }

  def answer_rows(self, rows):
    """Returns token_logits float32 [B, P, V]; see `Servable`."""
    return super().answer_rows(self._with_queries(rows))

  def answer_ids(self, input_ids, input_mask, segment_ids):
    """Returns token_logits float32 [B, L, V] for every position."""
    rows = {
      features.INPUT_IDS: input_ids,
      features.INPUT_MASK: input_mask,
      features.SEGMENT_IDS: segment_ids,
      features.MASKED_LM_POSITIONS: _places(input_ids),
    }
    outputs = self.load_model()(self._with_queries(rows))
    return {"token_logits": outputs["token_logits"]}

  def describe(self):
    """Returns {name: JSON value} that describes it; see `Servable`."""
    mask = self.tokenizer.vocabulary.mask_token
    return super().describe() | {"mask_token": mask}

  def _with_queries(self, rows):
    """Returns rows with the inputs of a model with two streams, if it is one.

    No token sees a mask; and the query of another place not the token there.
    """
    if features.TARGET_MAPPING not in self._model().input:
      return rows
    ids, rows = rows[features.INPUT_IDS], dict(rows)
    places = rows.pop(features.MASKED_LM_POSITIONS)
    length = tf.shape(ids)[1]
    is_mask = ids == self.tokenizer.vocabulary.mask_id
    places_of_all = tf.range(length)
    is_own = places_of_all[:, tf.newaxis] == places_of_all  # [L, L]
    hidden = is_mask[:, tf.newaxis] | is_own
    queries = tf.one_hot(places, length)
    # Places are filled up with 0, and no two queries stand at one place.
    is_first = tf.cumsum(queries, axis=1, exclusive=True) == 0
    return rows | {
      features.PERM_MASK: tf.cast(hidden, tf.float32),
      features.TARGET_MAPPING: queries * tf.cast(is_first, tf.float32),
    }

  def _build_model(self, model, dtype):
    if model.config.is_transformer_xl:
      return models.PermutationLanguageModel(model.config, dtype)
    return models.PretrainingModel(
      model.config,
      use_sentence_head=False,
      dtype=dtype,
      use_mask_decoder=getattr(model, "use_mask_decoder", False),
    )


def _places(ids):
  """Returns the position of each of ids, int32 [B, L]."""
  return tf.broadcast_to(tf.range(tf.shape(ids)[1]), tf.shape(ids))
