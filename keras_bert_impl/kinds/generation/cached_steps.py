"""Generation in steps that a client repeats, in ops of numbers only.

What is cached is one tensor, which a client hands on as it is: keys and values
of all layers. Its first place is that of no token, since runtimes have no
tensors without numbers: a text begins with zeros [C, B, N, 1, D].

Axes, besides those of `servables`: C caches, a key and a value of each layer, N
heads of size D, Q tokens, P places before them, M tokens of the encoder's text.
"""

import tensorflow as tf

from keras_bert_impl import features

PAST, PRESENT, MEMORY = "past", "present", "memory"
_NAMES = ("key", "value")


def inputs(config):
  """Returns the inputs of `step` and their axes, {name: tuple}.

  Args:
    config: `configs.EncoderConfig`.
  """
  blocks = _blocks(config)
  caches, heads = 2 * blocks.num_hidden_layers, blocks.num_attention_heads
  axes = {PAST: "past"} | ({MEMORY: "memory"} if blocks != config else {})
  return {features.INPUT_IDS: ("batch", "length")} | {
    name: (caches, "batch", heads, axis, blocks.head_size)
    for name, axis in axes.items()
  }


def step(model, rows):
  """Reads more tokens of each row.

  Args:
    model: as of `GenerationServable`.
    rows: input_ids int32 [B, Q]; past float32 [C, B, N, P, D]; with a decoder,
      memory float32 [C, B, N, M, D], as `read` returned it.

  Returns:
    logits float32 [B, V] of the next token; present float32 [C, B, N, P + Q, D]
    to hand on as past.
  """
  ids, past = rows[features.INPUT_IDS], rows[PAST]
  places = tf.ones_like(ids[:, :1]) * (tf.range(tf.shape(past)[3]) - 1)
  caches = _by_layer(past) | {"places": places}
  if MEMORY in rows:
    length = tf.shape(rows[MEMORY])[3]
    seen = tf.ones_like(ids[:, :1]) * tf.ones([1, length], tf.int32)
    memory = _by_layer(rows[MEMORY])
    for layer in memory.values():
      layer["seen"] = seen
    logits, caches = model.extend(ids, caches, memory)
  else:
    hidden, caches = model.encoder.extend(ids, caches)
    table = tf.convert_to_tensor(model.encoder.embeddings.word_embeddings)
    logits = model.get_layer("predictions")(hidden[:, -1:], None, table)
  del caches["places"]
  return {"logits": logits[:, -1], PRESENT: _stacked(caches)}


def read(model, rows):
  """Returns {memory} of the text of an encoder, input_ids int32 [B, M]."""
  ids = rows[features.INPUT_IDS]
  return {MEMORY: _stacked(model.memory(ids, tf.ones_like(ids)))}


def _blocks(config):
  """Returns the configuration of the blocks that write."""
  return config.of_decoder() if config.num_decoder_layers else config


def _by_layer(stacked):
  """Returns {"layer_0": {"key" and "value": float [B, N, P, D]}, ...}."""
  pairs = iter(tf.unstack(stacked))
  return {
    f"layer_{index}": dict(zip(_NAMES, pair, strict=True))
    for index, pair in enumerate(zip(pairs, pairs, strict=True))
  }


def _stacked(by_layer):
  """Returns float [C, B, N, P, D] of what `_by_layer` returns."""
  layers = [by_layer[f"layer_{i}"] for i in range(len(by_layer))]
  return tf.stack([layer[name] for layer in layers for name in _NAMES])
