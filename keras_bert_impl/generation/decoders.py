"""Models as decoders of a search: what follows a prompt, token by token."""

from keras import ops

from keras_bert_impl.generation import draws, search


class CausalDecoder(search.Decoder):
  """A model that reads from left to right, such as GPT-2: a prompt goes on.

  Args:
    model: `models.MaskedLanguageModel` of a causal encoder.
  """

  def __init__(self, model):
    self._encoder = model.encoder
    self._head = model.get_layer("predictions")

  def begin(self, input_ids, input_mask):
    """Reads prompts.

    Args:
      input_ids: int32 [B, L].
      input_mask: int32 [B, L], 1 for a token and 0 for padding, at either end;
        a prompt has one token at least.

    Returns:
      `search.Begun`.
    """
    hidden, caches = self._encoder.extend(input_ids, {}, input_mask)
    last = ops.argmax(caches["places"], axis=1)  # The last token of each row.
    hidden = ops.take_along_axis(hidden, last[:, None, None], axis=1)
    # Padding before the tokens, so that n-grams end where a row does.
    order = ops.argsort(ops.where(input_mask > 0, caches["places"], -1), axis=1)
    history = ops.where(input_mask > 0, input_ids, -1)
    history = ops.take_along_axis(history, order, axis=1)
    keys = draws.prompt_keys(input_ids, input_mask)
    return search.Begun(self._logits(hidden), caches, {}, history, keys)

  def step(self, ids, caches, memory):
    """Reads one more token of each row; see `search.Decoder`."""
    del memory
    hidden, caches = self._encoder.extend(ids[:, None], caches)
    return self._logits(hidden), caches

  def _logits(self, hidden):
    """Returns the logits [R, V] of states [R, 1, H]."""
    table = ops.convert_to_tensor(self._encoder.embeddings.word_embeddings)
    return self._head(hidden, None, table)[:, 0]


class PairDecoder(search.Decoder):
  """An encoder with a decoder: what is written of a text that is read.

  Args:
    model: `models.EncoderDecoder`.
    start: int, the id with which every text begins, unseen.
  """

  def __init__(self, model, start):
    self._model = model
    self._start = start

  def begin(self, input_ids, input_mask):
    """Reads texts; arguments and result as of `CausalDecoder.begin`."""
    memory = self._model.memory(input_ids, input_mask)
    start = ops.full_like(input_ids[:, :1], self._start)
    logits, caches = self._model.extend(start, {}, memory)
    keys = draws.prompt_keys(input_ids, input_mask)
    return search.Begun(logits[:, 0], caches, memory, start, keys)

  def step(self, ids, caches, memory):
    """Reads one more token of each row; see `search.Decoder`."""
    logits, caches = self._model.extend(ids[:, None], caches, memory)
    return logits[:, 0], caches


def of_model(model, start=None):
  """Returns the `Decoder` of a model.

  Args:
    model: `models.EncoderDecoder`, or `models.MaskedLanguageModel` of a causal
      encoder.
    start: int, as of `PairDecoder`; only there.
  """
  if model.config.num_decoder_layers:
    return PairDecoder(model, start)
  return CausalDecoder(model)
