"""Probabilities of long texts, which a model reads in windows.

A window is (ids, number): list of int, one after what the model is to read in
one go, and how many of the last of them count.
"""

import re

import numpy as np
import tensorflow as tf


def sliding(ids, length, stride):
  """Yields windows that begin `stride` tokens after each other.

  The first token of a text does not count.

  Args:
    ids: list of int, of a text.
    length: int, most tokens that a model reads.
    stride: int, from 1 to length.

  Source: transformers, docs/source/en/perplexity.md.
  """
  counted = 0
  for start in range(0, max(1, len(ids)), stride):
    window = ids[start : start + length]
    number = start + len(window) - max(counted, start + 1)
    if number > 0:
      yield window, number
    counted = start + len(window)
    if counted >= len(ids):
      break


def rolling(ids, length, begin):
  """Yields windows that count all tokens of a text, each of them once.

  A window reads the token before those that count, and as many more before as
  there is room for.

  Args:
    ids: list of int, of a text.
    length: int, most tokens that a model reads.
    begin: int, what the first window reads before the text.

  Source: lm-evaluation-harness, lm_eval/utils.py (get_rolling_token_windows).
  """
  whole = [begin, *ids]
  for start in range(0, len(ids), length):
    end = min(start + length, len(ids))
    yield whole[max(0, end - length) : end + 1], end - start


def log_likelihood(model, windows, length):
  """Returns the sum of the logarithms of probabilities, and how many count.

  Args:
    model: `models.MaskedLanguageModel` of a causal encoder.
    windows: iterable of (ids, number).
    length: int, as of the windows.
  """
  total, count = 0.0, 0
  for ids, number in windows:
    ids = np.array([ids], "int32")
    logits = model({"input_ids": ids[:, :length]})["token_logits"][0]
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
      ids[0, 1:], logits[: ids.shape[1] - 1]
    ).numpy()
    total, count = total - float(losses[-number:].sum()), count + number
  return total, count


def per_unit(total, texts):
  """Returns the perplexities of texts by what they consist of, {name: float}.

  Args:
    total: float, the logarithm of their probability.
    texts: list of str.

  Source: lm-evaluation-harness, lm_eval/api/task.py (PerplexityTask).
  """
  num_words = sum(len(re.split(r"\s+", text)) for text in texts)
  num_bytes = sum(len(text.encode()) for text in texts)
  return {
    "word_perplexity": float(np.exp(-total / num_words)),
    "byte_perplexity": float(np.exp(-total / num_bytes)),
    "bits_per_byte": float(-total / num_bytes / np.log(2)),
  }
