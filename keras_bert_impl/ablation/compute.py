"""Floating-point operations (FLOPs) of pre-training, from the configuration.

Counted are matrix products, forward and backward, of rows without padding. A
look-up of embeddings is none; Clark et al. 2020 (google-research/electra,
flops_computation.py) count it as a product, and the backward pass once.
"""

from keras_bert_impl.tasks.pretraining import replaced_token


def electra_ratio(config, seq_length, num_predictions):
  """Returns FLOPs of a step of ELECTRA over those of a masked LM, float.

  Args:
    config: `EncoderConfig` of the discriminator, and of the other's encoder.
    seq_length: int, tokens of a row.
    num_predictions: int, masked tokens of a row.
  """
  task = replaced_token.ReplacedTokenTask(config)
  electra = masked_lm(task.generator_config, seq_length, num_predictions)
  electra += replaced_tokens(config, seq_length)
  return electra / masked_lm(config, seq_length, num_predictions)


def masked_lm(config, seq_length, num_predictions):
  """Returns the FLOPs of training an encoder and its masked LM's head, int.

  Args:
    config: `EncoderConfig`.
    seq_length: int, tokens of the row.
    num_predictions: int, masked tokens of the row.
  """
  width = config.embedding_width
  head = 2 * width * (config.hidden_size + config.vocab_size)
  return 3 * (_encoder(config, seq_length) + num_predictions * head)


def replaced_tokens(config, seq_length):
  """Returns the FLOPs of training a discriminator on a row, int."""
  head = 2 * config.hidden_size * (config.hidden_size + 1)
  return 3 * (_encoder(config, seq_length) + seq_length * head)


def _encoder(config, seq_length):
  """Returns the FLOPs of the forward pass; a backward pass has twice as many.

  A token multiplies each weight once; attention also multiplies queries by
  keys, and weights by values.
  """
  hidden = config.hidden_size
  width = config.embedding_width
  block = hidden * (4 * hidden + 2 * config.intermediate_size)
  attention = 2 * seq_length * hidden
  mapping = 0 if width == hidden else width * hidden
  per_token = config.num_hidden_layers * (block + attention) + mapping
  return 2 * seq_length * per_token
