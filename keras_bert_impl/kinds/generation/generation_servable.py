"""Servable that generates text: strings in, strings out.

Axes, besides those of `servables`: S texts of each prompt, T tokens of the
longest of them.
"""

import dataclasses

import keras
import tensorflow as tf

from keras_bert_impl import features, options
from keras_bert_impl.generation import decoders, search, settings
from keras_bert_impl.kinds.generation import (
  cached_steps,
  candidates,
  search_defaults,
)
from keras_bert_impl.kinds.generation import token_ids as token_ids_lib
from keras_bert_impl.serving import input_checks, servables

GENERATE = "generate"
SCORE = "score"
CANDIDATE = "candidate"


class GenerationServable(servables.Servable):
  """Writes the text that follows a prompt, or the one that a decoder makes.

  Args:
    model: `models.EncoderDecoder`, or `models.MaskedLanguageModel` of a causal
      encoder.
    tokenizer: as `Servable`.
    max_seq_length: int, most tokens of a prompt; less where prompt and text
      would not fit into the model's positions together.
    tokens: `settings.TokenIds`; without an end, that is [SEP], if there is one.
    start: int, the id with which every text of a decoder begins; of a model
      without one, the prompt in place of an empty one, if there is one.
    prefix: str, what stands before each prompt.
    **values: fields of `settings.SearchSettings`.

  Raises:
    ValueError: as `Servable` and `settings.SearchSettings`; or the model has no
      positions for max_new_tokens, fewer tokens than beams, or a decoder
      and no start.
  """

  head = "generation"
  options = options.names(settings.SearchSettings)
  recorded = ("prefix",)
  id_names = (features.INPUT_IDS, features.INPUT_MASK)
  float_inputs = (cached_steps.PAST, cached_steps.MEMORY)
  text_pairs = False

  def __init__(
    self,
    model,
    tokenizer,
    max_seq_length,
    tokens=None,
    start=None,
    prefix="",
    **values,
  ):
    tokens, start = token_ids_lib.completed(
      tokens or settings.TokenIds(), start, tokenizer.vocabulary, model.config
    )
    if model.config.num_decoder_layers and start is None:
      raise ValueError(
        "The decoder has no token to begin with: config.json must have"
        " decoder_start_token_id."
      )
    self.search_settings = settings.SearchSettings(**values)
    room = _room(model, self.search_settings, max_seq_length)
    super().__init__(model, tokenizer, room)
    for name, value in vars(self.search_settings).items():
      setattr(self, name, value)
    self.token_ids, self.start, self.prefix = tokens, start, prefix

  @classmethod
  def of_training(cls, recorded):
    """Returns what the files of a checkpoint say; see `Servable`."""
    folder = recorded["folder"]
    tokens, start = token_ids_lib.read(folder)
    searched = search_defaults.read(folder, recorded)
    return {"tokens": tokens, "start": start} | searched

  def answer(self, text):
    """Returns the texts that are generated.

    Args:
      text: string [B], UTF-8, the prompts.

    Returns:
      text string [B]: the best of the texts.
      texts string [B, S]: num_return_sequences of them, the best first.
      scores float32 [B, S]: the logarithm of the probability of each, divided
        by the power length_penalty of its number of tokens.
      num_tokens int32 [B, S]: tokens of each, that of its end included.
      is_cut bool [B]: whether a prompt has more tokens than max_seq_length.
    """
    ids, mask, is_cut = self.prompts(text)
    found = self.answer_ids(ids, mask)
    texts = self._texts(found)
    return {
      "text": texts[:, 0],
      "texts": texts,
      "scores": found["scores"],
      "num_tokens": found["num_tokens"],
      servables.IS_CUT: is_cut,
    }

  def answer_ids(self, input_ids, input_mask):
    """Returns the tokens that are generated.

    Args:
      input_ids: int32 [B, L], the prompts; of a model from left to right
        without the special tokens that end a text.
      input_mask: int32 [B, L], 1 for a token, 0 for padding.

    Returns:
      ids int32 [B, S, T], padded after the end of each text; scores and
      num_tokens as of `answer`.
    """
    rows = {features.INPUT_IDS: input_ids, features.INPUT_MASK: input_mask}
    ids, mask = self._begun(*servables.as_inputs(rows).values())
    with keras.StatelessScope(self.held_weights()):
      decoder = _Checked(decoders.of_model(self._model(), self.start))
      find = search.Search(decoder, self.search_settings, self.token_ids)
      return find(decoder.begin(ids, mask))

  def score(self, text, candidate):
    """Returns how likely a text is after a prompt.

    Args:
      text: string [B], the prompts.
      candidate: string [B], the texts.

    Returns:
      score float32 [B]: the logarithm of the probability of its tokens; of a
        decoder with those that begin and end what it writes.
      num_tokens int32 [B]: their number.
      is_cut bool [B]: whether a text has more tokens than there is room for.
    """
    return candidates.score(self, text, candidate)

  def definitions(self):
    """Returns {name: `Signature`} of all signatures; see `Servable`."""
    inputs = self.inputs | {
      CANDIDATE: tf.TensorSpec([None], tf.string, CANDIDATE)
    }
    example = {
      name: tf.constant(values) for name, values in self.example.items()
    }
    example[CANDIDATE] = tf.constant(["It slept."])
    example = {name: values.numpy() for name, values in example.items()}
    common = super().definitions()
    return common | {
      GENERATE: common[servables.SERVING_DEFAULT],
      SCORE: servables.make_signature(self.score, inputs, example),
    }

  def describe(self):
    """Returns {name: JSON value}; see `Servable`. Ids, as texts have them."""
    tokens = {"start": self.start} | dataclasses.asdict(self.token_ids)
    return super().describe() | {"tokens": tokens}

  @property
  def row_inputs(self):
    """Inputs of a step of a file for clients; see `Servable`."""
    return cached_steps.inputs(self.config)

  def answer_rows(self, rows):
    """Returns what `cached_steps.step` does; see `Servable`."""
    with keras.StatelessScope(self.held_weights()):
      return cached_steps.step(self._model(), rows)

  @property
  def parts(self):
    """What a client asks before all steps; see `Servable`."""
    if not self.config.num_decoder_layers:
      return {}

    def read(rows):
      with keras.StatelessScope(self.held_weights()):
        return cached_steps.read(self._model(), rows)

    return {"encoder": (read, {features.INPUT_IDS: ("batch", "memory")})}

  @property
  def longest_row(self):
    """The most ids of a prompt, int; see `Servable`."""
    return self.max_seq_length

  def prompts(self, text):
    """Returns ids and mask int32 [B, L] of prompts; whether they are cut."""
    text = self.prefix + text if self.prefix else text
    inputs, is_cut = self.assemble(self.tokenizer.tokenize_around_masks(text))
    ids, mask = inputs[features.INPUT_IDS], inputs[features.INPUT_MASK]
    if self.tokenizer.framing.end and not self.config.num_decoder_layers:
      # A text that goes on has not ended.
      is_before = tf.cumsum(mask, axis=1) < tf.reduce_sum(mask, 1, True)
      mask *= tf.cast(is_before, tf.int32)
    return *self._begun(ids, mask), is_cut

  def _begun(self, ids, mask):
    """Returns ids and mask of prompts, none of which is empty."""
    if self.start is None:
      return ids, mask
    is_first = tf.range(tf.shape(ids)[1]) == 0
    is_none = (tf.reduce_sum(mask, axis=1, keepdims=True) == 0) & is_first
    return tf.where(is_none, self.start, ids), tf.where(is_none, 1, mask)

  def _texts(self, found):
    """Returns the texts string [B, S] of what the search has found."""
    ids = found["ids"]
    shape = tf.shape(ids)
    texts = token_ids_lib.texts(
      self.tokenizer,
      tf.reshape(ids, [-1, shape[2]]),
      tf.reshape(found["num_tokens"], [-1]),
      self.token_ids.end,
    )
    return tf.reshape(texts, shape[:2])


class _Checked(search.Decoder):
  """A decoder with which logits that are no numbers fail the request."""

  def __init__(self, decoder):
    self._decoder = decoder

  def begin(self, input_ids, input_mask):
    begun = self._decoder.begin(input_ids, input_mask)
    return begun._replace(logits=_checked(begun.logits))

  def step(self, ids, caches, memory):
    logits, caches = self._decoder.step(ids, caches, memory)
    return _checked(logits), caches


def _checked(logits):
  """Returns logits [R, V], once it is known that all of them are numbers."""
  # Else their sum is none; that of a row takes a tenth of the time of a check.
  sums = tf.reduce_sum(logits, axis=-1)
  check = tf.debugging.check_numerics(sums, servables.NO_NUMBERS)
  with tf.control_dependencies([check]):
    return tf.identity(logits)


def _room(model, search_settings, max_seq_length):
  """Returns the most tokens of a prompt, int.

  Raises:
    ValueError: as `GenerationServable`.
  """
  size, beams = model.config.vocab_size, search_settings.num_beams
  if beams > size:
    raise ValueError(
      f"num_beams ({beams}) must be at most the size of the vocabulary"
      f" ({size})."
    )
  longest = input_checks.longest_input(model)
  if longest is None:
    return max_seq_length
  new = search_settings.max_new_tokens
  has_decoder = model.config.num_decoder_layers > 0
  most = longest if has_decoder else longest - 3
  if new > most:
    raise ValueError(
      f"max_new_tokens ({new}) must be at most {most}: the model has"
      f" {longest} positions."
    )
  if has_decoder:
    return max_seq_length
  return min(max_seq_length or longest, longest - new)
