"""When early stopping ends a run, and which checkpoint it keeps."""

import types

import pytest

from keras_bert_impl.runs.fine_tuning import early_stopping


class Saver:
  """Remembers the step of the last checkpoint."""

  step = None

  def in_folder(self, folder):
    del folder
    return self

  def save(self, step):
    self.step = step


@pytest.mark.parametrize(
  ("patience", "scores", "stopped_after", "kept"),
  [
    (1, [0.5, 0.6, 0.6, 0.9], 3, 2),
    (2, [0.5, 0.4, 0.6, 0.5, 0.3, 0.9], 5, 3),
    (2, [0.6, 0.5, 0.7, 0.8], None, 4),
    (3, [0.9, 0.1, 0.2], None, 1),
    (0, [0.9, 0.1, 0.1, 0.1], None, None),
  ],
)
def test_patience_counts_evaluations_since_the_best(
  tmp_path, patience, scores, stopped_after, kept
):
  saver = Saver()
  run = types.SimpleNamespace(
    output_dir=str(tmp_path),
    data=types.SimpleNamespace(selecting_split="dev"),
    experiment=types.SimpleNamespace(saver=saver),
    fine_tuning=types.SimpleNamespace(
      evaluator=types.SimpleNamespace(main_metric="accuracy")
    ),
  )
  remaining = iter(scores)
  stopping = early_stopping.EarlyStopping(
    run, patience, lambda: {"accuracy": next(remaining)}
  )
  ended = None
  for step in range(1, len(scores) + 1):
    if stopping(step):
      ended = step
      break
    assert stopping.scores() == {"accuracy": scores[step - 1]}
  assert (ended, saver.step) == (stopped_after, kept)
