"""Finds answers among the starts and ends that `models.AnswerBeam` returns.

The score of the span from piece i to piece j >= i is log p(i) + log p(j | i).
The score of "no answer" is its logit.

Source: zihangdai/xlnet, squad_utils.py, write_predictions. Differs from it: the
score of the best span is subtracted from that of "no answer" before it is
compared with the threshold.
"""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from keras_bert_impl.kinds.answers import answers


class Spans(NamedTuple):
  """The spans of a beam: K for each of R windows.

  Attributes:
    start_scores: float64 [R, K], log p(first piece).
    end_scores: float64 [R, K], log p(last piece | first piece).
    starts: int32 [R, K], offset of the first character.
    ends: int32 [R, K], offset after the last character.
    is_span: bool [R, K], whether the pieces are a span that may be an answer.
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
  # False where a piece is outside the context or the span has no characters.
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
  is_max = answers.pad(windows.is_max_context, 0)
  starts = np.where(is_max == 1, answers.pad(windows.starts, -1), -1)
  ends = answers.pad(windows.ends, -1)
  found = spans(starts, ends, outputs, config.max_answer_length)
  *columns, is_span = (x.numpy() for x in found)
  columns = np.stack([x.astype(np.float64) for x in columns], axis=2)
  return answers.best_of_windows(
    contexts,
    windows.example_index,
    [row[keep] for row, keep in zip(columns, is_span, strict=True)],
    [(logit, 0.0) for logit in outputs["cls_logits"]],
    config,
  )
