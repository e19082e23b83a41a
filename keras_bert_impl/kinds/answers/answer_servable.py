"""Servable of question answering: answers as spans of a text.

Rows and spans are made by the code of `tasks.question_answering_rows`,
`tasks.answers`, as in training. Axes: B questions, W
windows of all of them, R some of them, K most windows of a question, L ids.
"""

import numpy as np
import tensorflow as tf

from keras_bert_impl import features, models
from keras_bert_impl import options as options_lib
from keras_bert_impl.kinds.answers import (
  answer_beams,
  answer_options,
  answers,
  question_rows,
)
from keras_bert_impl.serving import row_batches, servables, text_row
from keras_bert_impl.tokenizers.formats import characters
from keras_bert_impl.tokenizers.graph import steps

_STARTS, _ENDS = "starts", "ends"
# Stands where there is no piece of the text, or one that begins no answer.
_NONE = -1
_SPANS = {
  "score": tf.TensorSpec([], tf.float64),
  "start": tf.TensorSpec([], tf.int32),
  "end": tf.TensorSpec([], tf.int32),
  "null_score": tf.TensorSpec([], tf.float64),
}


class QuestionAnsweringServable(servables.Servable):
  """Question answering: answers with a span of the original text.

  A text that is too long for a row is read in sliding windows. The model gets
  at most 32 windows at a time, for any batch size.

  Args:
    model: `QuestionAnswering` or `AnswerBeam`.
    tokenizer: as `Servable`.
    max_seq_length: as `Servable`, of question and window.
    doc_stride: int, pieces from one window to the next.
    max_query_length: int, maximum number of pieces of a question; longer
      questions are cut.
    max_answer_length: int, maximum number of pieces of an answer.
    null_score_diff_threshold: float, the answer is "" if the null score exceeds
      the score of the best answer by more than this; None to always answer.
    max_windows: int, maximum number of windows of a text; the rest is dropped.

  Raises:
    ValueError: as `Servable`; or a number is not positive, or max_seq_length is
      too small for a question and a piece of text.
  """

  head = "question_answering"
  options = options_lib.names(answer_options.AnswerServing)
  inputs = servables.Servable.inputs | {
    servables.TEXT_PAIR: tf.TensorSpec([None], tf.string, servables.TEXT_PAIR)
  }
  example = {
    servables.TEXT: ["Where did the cat sit?"],
    servables.TEXT_PAIR: ["The cat sat on the mat."],
  }

  has_two_texts = True
  unpredicted = "a question needs a context, the second text"

  @staticmethod
  def predictions(outputs, row, labels):
    """Returns the first and the last token of the answer; see `Servable`."""
    context = row.places(2)
    if not context:
      return []
    start = max(context, key=lambda place: outputs["start_logits"][place])
    rest = [place for place in context if place >= start]
    end = max(rest, key=lambda place: outputs["end_logits"][place])
    return [
      text_row.Prediction(
        f"{side} of the answer: {row.tokens[place].text}",
        f"{side}_logits",
        (place,),
        place,
      )
      for side, place in (("start", start), ("end", end))
    ]

  def __init__(
    self,
    model,
    tokenizer,
    max_seq_length,
    doc_stride=128,
    max_query_length=64,
    max_answer_length=30,
    null_score_diff_threshold=None,
    max_windows=32,
  ):
    super().__init__(model, tokenizer, max_seq_length)
    options_lib.check_numbers(
      options_lib.POSITIVE,
      doc_stride=doc_stride,
      max_query_length=max_query_length,
      max_answer_length=max_answer_length,
      max_windows=max_windows,
    )
    num_special = tokenizer.num_special_tokens(2)
    if max_seq_length <= max_query_length + num_special:
      raise ValueError(
        f"max_seq_length ({max_seq_length}) must be above max_query_length "
        f"({max_query_length}) + {num_special}, or a question leaves no room "
        "for a text."
      )
    self.doc_stride = doc_stride
    self.max_query_length = max_query_length
    self.max_answer_length = min(max_answer_length, max_seq_length)
    self.null_score_diff_threshold = null_score_diff_threshold
    self.max_windows = max_windows

  def answer(self, text, text_pair):
    """Answers questions.

    Args:
      text: string [B], the questions.
      text_pair: string [B], the texts with the answers.

    Returns:
      answer: string [B], "" for no answer.
      start, end: int32 [B], its characters in text_pair, `end` exclusive; -1
        for no answer.
      score: float32 [B], the sum of the start and end logits of the best span,
        even if the answer is ""; 0 if text_pair has no span. An `AnswerBeam`
        gives the logarithm of the span's probability.
      null_score: float32 [B], the same sum for no answer. An `AnswerBeam` gives
        the logit that there is no answer.
      is_cut: bool [B], whether text_pair has more than max_windows windows.
    """
    contexts = steps.drop_invalid(text_pair)
    rows, spans = self._rows(steps.drop_invalid(text), contexts)
    model = self.load_model()
    found = row_batches.map_rows(
      lambda rows: self._best_spans(rows, model(rows)), rows, _SPANS
    )
    num_texts = tf.size(contexts)
    null_score = tf.math.unsorted_segment_min(
      found["null_score"], spans.text_index, num_texts
    )
    score, start, end = _first_best(
      *(
        tf.RaggedTensor.from_value_rowids(
          found[name], spans.text_index, tf.cast(num_texts, tf.int64)
        ).to_tensor(padding)  # [B, K]
        for name, padding in (("score", -np.inf), ("start", 0), ("end", 0))
      )
    )
    is_answer = tf.math.is_finite(score)
    score = tf.where(is_answer, score, 0.0)
    if self.null_score_diff_threshold is not None:
      is_answer &= null_score - score <= self.null_score_diff_threshold
    length = tf.where(is_answer, end - start, 0)
    return {
      "answer": tf.strings.substr(
        contexts, tf.where(is_answer, start, 0), length, unit="UTF8_CHAR"
      ),
      "start": tf.where(is_answer, start, _NONE),
      "end": tf.where(is_answer, end, _NONE),
      "score": tf.cast(score, tf.float32),
      "null_score": tf.cast(null_score, tf.float32),
      "is_cut": spans.is_cut,
    }

  def _rows(self, questions, contexts):
    """Returns the rows of the model and their `Windows`.

    Returns:
      {name: int32 [W, L]}: the inputs of the model; `starts`, the character
      with which an answer begins that begins with this piece, and `ends`, the
      character after one that ends with it.
    """
    query = self.tokenizer.tokenize(questions)[:, : self.max_query_length]
    ids, starts, ends = self.tokenizer.tokenize_with_offsets(contexts)
    starts, ends = _without_blanks(contexts, starts, ends)
    framed = question_rows.frame(
      self.tokenizer,
      query,
      ids,
      self.max_seq_length,
      self.doc_stride,
      self.max_windows,
    )
    spans = framed.windows
    starts = spans.gather(starts)
    is_best = framed.is_max_context.flat_values
    starts = starts.with_flat_values(
      tf.where(is_best, starts.flat_values, _NONE)
    )
    rows = servables.as_inputs(framed.inputs)
    num_after = self.tokenizer.framing.num_after
    for name, values in ((_STARTS, starts), (_ENDS, spans.gather(ends))):
      rows[name] = _place(values, rows[features.INPUT_MASK], num_after)
    return rows, spans

  def _build_model(self, model, dtype):
    """Returns the model; a beam masks what is no text, as in training."""
    config = {**model.get_config(), "dtype": dtype}
    if isinstance(model, models.AnswerBeam):
      config |= {"use_answer_mask": True, "use_start_positions": False}
    return type(model).from_config(config)

  def _best_spans(self, rows, outputs):
    """Returns the best span of each of R windows, and the score of none.

    Args:
      rows: as `_rows` returns them.
      outputs: {output of the model: [R, ...]}.

    Returns:
      as `_SPANS`, each [R].
    """
    if "cls_logits" in outputs:
      return self._best_of_beam(rows, outputs)
    return self._best_of_all(rows, outputs)

  def _best_of_beam(self, rows, outputs):
    """Returns `_best_spans` of the outputs of an `AnswerBeam`."""
    spans = answer_beams.spans(
      rows[_STARTS], rows[_ENDS], outputs, self.max_answer_length
    )
    scores = spans.start_scores + spans.end_scores
    scores = tf.where(spans.is_span, scores, -np.inf)
    place = tf.argmax(scores, axis=1)
    score, start, end = (
      tf.gather(x, place, batch_dims=1)
      for x in (scores, spans.starts, spans.ends)
    )
    null = tf.cast(outputs["cls_logits"], tf.float64)
    return {"score": score, "start": start, "end": end, "null_score": null}

  def _best_of_all(self, rows, logits):
    """Returns `_best_spans` of start and end logits."""
    starts, ends = rows[_STARTS], rows[_ENDS]
    # float64, so that ties of sums break as in training.
    start_logits, end_logits = (
      tf.cast(logits[f"{side}_logits"], tf.float64) for side in ("start", "end")
    )
    size = self.max_answer_length
    scores = answers.score_spans(starts, ends, start_logits, end_logits, size)
    # top_k breaks ties by the lower index.
    score, place = tf.math.top_k(scores)
    first, last = answers.span_pieces(place, size)
    length = tf.reduce_sum(rows[features.INPUT_MASK], axis=1)
    cls = self.tokenizer.framing.cls_place(length)
    null = tf.gather(start_logits + end_logits, cls, batch_dims=1)
    return {
      "score": score[:, 0],
      "start": tf.gather(starts, first[:, 0], batch_dims=1),
      "end": tf.gather(ends, last[:, 0], batch_dims=1),
      "null_score": null,
    }


def _first_best(scores, starts, ends):
  """Returns the best span of each row; of equals, the first and shortest.

  Args:
    scores: float64 [N, M].
    starts: int32 [N, M].
    ends: int32 [N, M].

  Returns:
    score, start, end: [N] each.
  """
  score = tf.reduce_max(scores, axis=1)
  is_best = scores == score[:, tf.newaxis]
  start = tf.reduce_min(tf.where(is_best, starts, tf.int32.max), axis=1)
  is_first = is_best & (starts == start[:, tf.newaxis])
  end = tf.reduce_min(tf.where(is_first, ends, tf.int32.max), axis=1)
  return score, start, end


def _without_blanks(texts, starts, ends):
  """Returns start and end of answers without blanks around them.

  Args:
    texts: string [B].
    starts: int32 RaggedTensor [B, (pieces)], characters.
    ends: int32 RaggedTensor [B, (pieces)].

  Returns:
    starts and ends, the same: the first character from there on that is no
    blank, and what is after the last one before there. A start is not below an
    end if all between them is blank.
  """
  codes = tf.strings.unicode_decode(texts, "UTF-8")  # [B, (characters)]
  blanks = list(characters.PYTHON_SPACES)
  is_blank = np.zeros(max(blanks) + 2, bool)  # The last for all beyond.
  is_blank[blanks] = True
  is_shown = ~tf.gather(
    tf.constant(is_blank), tf.minimum(codes.flat_values, len(is_blank) - 1)
  )
  places = tf.cast(tf.where(is_shown)[:, 0], tf.int32)  # of what is no blank
  places = tf.concat([[-1], places, [tf.size(is_shown)]], axis=0)
  num_before = tf.cumsum(tf.cast(is_shown, tf.int32))
  num_before = tf.concat([[0], num_before], axis=0)
  offsets = tf.cast(codes.row_starts(), tf.int32)

  def stripped(characters, shift):
    offset = tf.gather(offsets, characters.value_rowids())
    count = tf.gather(num_before, characters.flat_values + offset)
    # Places count from 1, because `places` begins with a dummy.
    found = tf.gather(places, count + shift) + 1 - shift
    return characters.with_flat_values(found - offset)

  return stripped(starts, 1), stripped(ends, 0)


def _place(values, input_mask, num_after):
  """Returns int32 [W, L]: ragged values before the last tokens, else _NONE."""
  num_before = (
    tf.reduce_sum(tf.cast(input_mask, tf.int64), axis=1)
    - values.row_lengths()
    - num_after
  )
  before = tf.RaggedTensor.from_row_lengths(
    tf.fill([tf.reduce_sum(num_before)], _NONE), num_before
  )
  return tf.concat([before, values], axis=1).to_tensor(
    _NONE, shape=tf.shape(input_mask, tf.int64)
  )
