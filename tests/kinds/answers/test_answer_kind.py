"""Which head for questions is trained: asked for, stored, or usual."""

import pathlib
import types

import pytest

from keras_bert_impl.checkpoints import reading
from keras_bert_impl.kinds.answers import (
  answer_kind,
  answer_options,
  question_answering,
)

PARITY = pathlib.Path(__file__).parents[2] / "data/parity"


def make(name, task_json=None, members=(), **options):
  """Returns the task that starts from a checkpoint."""
  path = str(PARITY / name)
  job = types.SimpleNamespace(
    encoder_config=reading.open_checkpoint(path).description.config,
    described_task=lambda kind: task_json or {},
    init_checkpoint=path,
    settings=types.SimpleNamespace(members=members, max_seq_length=384),
  )
  chosen = answer_options.QuestionOptions(**options)
  return answer_kind.make_parts(job, chosen).task


@pytest.mark.parametrize(
  ("name", "beam"),
  [
    ("xlnet_answer_beam", (3, 4)),
    ("xlnet_language_model", (5, 5)),
    ("bert_question_answering", None),
    ("roberta_masked_lm", None),
  ],
)
def test_a_checkpoint_is_followed(name, beam):
  task = make(name)
  if beam is None:
    assert isinstance(task, question_answering.QuestionAnsweringTask)
  else:
    assert (task.start_n_top, task.end_n_top) == beam


def test_a_run_is_followed_before_its_checkpoint():
  task = make("xlnet_answer_beam", {"head": "question_answering"})
  assert isinstance(task, question_answering.QuestionAnsweringTask)
  task = make("xlnet_language_model", {"head": "answer_beam", "end_n_top": 2})
  assert (task.start_n_top, task.end_n_top) == (5, 2)


def test_either_can_be_asked_for():
  task = make("xlnet_answer_beam", answer_head="simple")
  assert isinstance(task, question_answering.QuestionAnsweringTask)
  stored = {"head": "question_answering"}
  task = make("xlnet_language_model", stored, answer_head="beam")
  assert isinstance(task, question_answering.AnswerBeamTask)
  assert make("xlnet_language_model", bilstm_width=4).bilstm_width == 4


@pytest.mark.parametrize(
  ("options", "words"),
  [
    ({"bilstm_width": 4}, "bilstm_width .4. needs --answer_head=simple"),
    ({"members": ("a", "b")}, "--ensemble_dirs averages"),
  ],
)
def test_what_a_beam_does_not_go_with_is_refused(options, words):
  with pytest.raises(ValueError, match=words):
    make("xlnet_answer_beam", answer_head="beam", **options)
