"""Finds answers among the starts and ends that `models.AnswerBeam` returns.

The span from piece i to piece j >= i scores log p(i) + log p(j | i). "No
answer" scores the logit that there is none: the difference is the logarithm of
the odds.

Source: zihangdai/xlnet, squad_utils.py, write_predictions. Differs from it: the
odds of no answer are those against the best span, not against any.
"""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from keras_bert_impl.tasks import answers


class Spans(NamedTuple):
  """The spans of a beam, K of each of R windows.

  Attributes:
    start_scores: float64 [R, K], log p(first piece).
    end_scores: float64 [R, K], log p(last piece | first piece).
    starts: int32 [R, K], offset of the first character.
    ends: int32 [R, K], offset after the last one.
    is_span: bool [R, K], false where these are no answer.
  """

  start_scores: tf.Tensor
  end_scores: tf.Tensor
  starts: tf.Tensor
  ends: tf.Tensor
  is_span: tf.Tensor


def spans(starts, ends, outputs, size):
  """Returns the `Spans` of a beam; also works in a graph, for serving.

  Args:
    starts: int32 [R, L], as of `answers.score_spans`.
    ends: int32 [R, L], the same.
    outputs: {output of `models.AnswerBeam`: [R, ...]}.
    size: int, maximum number of pieces of a span.
  """
  first, last = outputs["start_top_index"], outputs["end_top_index"]
  ends_of_each = last.shape[1] // first.shape[1]

  def logs(side):
    probs = tf.cast(outputs[f"{side}_top_log_probs"], tf.float64)
    return tf.math.log(probs)

  def repeated(x):
    return tf.tile(x, [1, ends_of_each])

  first = repeated(first)
  start_scores, end_scores = repeated(logs("start")), logs("end")
  starts = tf.gather(starts, first, batch_dims=1)
  ends = tf.gather(ends, last, batch_dims=1)
  # Where the end is outside the context or the span has no characters, it is
  # none.
  is_span = (starts != -1) & (starts < ends)
  is_span &= (first <= last) & (last < first + size)
  is_span &= tf.math.is_finite(start_scores + end_scores)
  return Spans(start_scores, end_scores, starts, ends, is_span)


def find(contexts, windows, outputs, config):
  """Returns the answers to N questions, list of `answers.Answer`.

  Args:
    contexts: list of N str, the texts that contain the answers.
    windows: `answers.Windows`, whose logits are not read.
    outputs: {output of `models.AnswerBeam`: array [R, ...]}.
    config: `answers.SpanConfig`.
  """
  starts, ends, is_max = (
    answers.pad(column, padding)
    for column, padding in zip(windows[1:4], (-1, -1, 0), strict=True)
  )
  begins = np.where(is_max == 1, starts, -1)
  found = spans(begins, ends, outputs, config.max_answer_length)
  columns = np.stack([x.numpy().astype(np.float64) for x in found[:4]], axis=2)
  are_spans = found.is_span.numpy()
  return answers.best_of_windows(
    contexts,
    windows.example_index,
    [row[keep] for row, keep in zip(columns, are_spans, strict=True)],
    [(logit, 0.0) for logit in outputs["cls_logits"]],
    config,
  )
