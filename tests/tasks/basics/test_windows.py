"""Windows as run_squad.py of google-research/bert has them."""

import random

import tensorflow as tf

from keras_bert_impl.tasks.basics import windows


def int64(values):
  return tf.constant(values, tf.int64)


def spans_of(found, text):
  is_of_text = found.text_index.numpy() == text
  return list(
    zip(
      found.starts.numpy()[is_of_text].tolist(),
      found.ends.numpy()[is_of_text].tolist(),
    )
  )


def _original_spans(length, size, stride):
  """The doc spans of the original, but for a stride above the size."""
  spans = [(0, min(size, length))]
  while spans[-1][1] < length:
    start = spans[-1][0] + min(size, stride)
    spans.append((start, min(start + size, length)))
  return spans


def _original_best(spans, position):
  """The rule in the original's words, for one position."""
  scores = [
    min(position - start, end - 1 - position) + 0.01 * (end - start)
    if start <= position < end
    else -1.0
    for start, end in spans
  ]
  return scores.index(max(scores))


def random_case(rng):
  count = rng.randrange(0, 6)
  lengths = [rng.choice([0, 1, rng.randrange(400)]) for _ in range(count)]
  sizes = [rng.randrange(1, 320) for _ in range(count)]
  return lengths, sizes, rng.randrange(1, 150)


def test_windows_and_contexts_are_those_of_the_original():
  rng = random.Random(0)
  for _ in range(25):
    lengths, sizes, stride = random_case(rng)
    found = windows.slide(int64(lengths), int64(sizes), stride)
    best, is_best = windows.best_windows(found, int64(lengths))
    assert is_best.to_list() == [
      [int(k) == window for k in of_window]
      for window, of_window in enumerate(found.gather(best).to_list())
    ]
    assert not found.is_cut.numpy().any()
    before = 0
    for text, (length, size) in enumerate(zip(lengths, sizes)):
      expected = _original_spans(length, size, stride)
      assert spans_of(found, text) == expected
      assert [window - before for window in best[text].numpy()] == [
        _original_best(expected, position) for position in range(length)
      ]
      before += len(expected)
    assert len(found.text_index) == before


def test_no_text_has_more_windows_than_it_may():
  lengths = int64([10, 11, 4])
  found = windows.slide(lengths, int64([4, 4, 4]), 3, max_windows=3)
  assert spans_of(found, 0) == [(0, 4), (3, 7), (6, 10)]
  assert spans_of(found, 1) == [(0, 4), (3, 7), (6, 10)]
  assert spans_of(found, 2) == [(0, 4)]
  assert found.is_cut.numpy().tolist() == [False, True, False]
  best, _ = windows.best_windows(found, lengths)
  # Of the seven windows none has the last piece.
  assert best[1].numpy().tolist() == [3, 3, 3, 3, 4, 4, 4, 5, 5, 5, 7]
  assert best[2].numpy().tolist() == [6] * 4


def test_windows_hold_what_stands_in_the_texts():
  pieces = tf.ragged.constant([[1, 2, 3, 4, 5], [], [6, 7]], dtype=tf.int32)
  found = windows.slide(pieces.row_lengths(), int64([3, 3, 3]), 2)
  assert found.gather(pieces).to_list() == [[1, 2, 3], [3, 4, 5], [], [6, 7]]
  starts = tf.maximum(found.starts - 1, 0)
  assert found.gather(pieces, starts).to_list()[1] == [2, 3, 4, 5]
