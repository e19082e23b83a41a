"""Students are fitted with teachers: estimators, checkpoints, or several."""

import numpy as np
import pytest

import keras_bert_impl as kb
from keras_bert_impl.training import run_log
from tests import slow
from tests.estimators import test_estimators as usual

DATA = {
  kb.TextClassifier: (usual.TEXTS, usual.LABELS),
  kb.TokenTagger: (usual.SENTENCES, usual.TAGS),
  kb.QuestionAnswerer: ([usual.QUESTION] * 8, None),
  kb.ChoiceAnswerer: ([usual.CHOICE] * 8, None),
}
SHORT = {"epochs": 1, "batch_size": 4, "learning_rate": 1e-3}
LENGTH = {"max_seq_length": 24}


def fit(checkpoint, kind, **options):
  """Returns an estimator after an epoch."""
  made = kind.from_checkpoint(checkpoint, **LENGTH)
  options = SHORT | options
  if kind is kb.QuestionAnswerer:
    options |= {"max_query_length": 8}
  data, targets = DATA[kind]
  made.fit(data, targets, **options)
  return made


@pytest.mark.integration
@pytest.mark.parametrize(
  "kind",
  slow.all_but(
    [kb.TextClassifier],
    [kb.TextClassifier, kb.TokenTagger, kb.QuestionAnswerer, kb.ChoiceAnswerer],
  ),
  ids=lambda kind: kind.__name__,
)
def test_every_kind_of_task_is_taught(checkpoint, kind, tmp_path):
  teacher = fit(checkpoint, kind)
  fit(
    checkpoint,
    kind,
    teacher=[teacher, teacher.checkpoint],
    output_dir=tmp_path,
  )
  last = run_log.read(str(tmp_path))[-1]
  found = [name for name in last if name.endswith("_distillation")]
  assert found
  assert all(np.isfinite(last[name]) and last[name] >= 0 for name in found)


def test_an_untrained_teacher_is_refused(checkpoint):
  with pytest.raises(ValueError, match="has the head fill_mask, which cannot"):
    fit(checkpoint, kb.TextClassifier, teacher=checkpoint)
