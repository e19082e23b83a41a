"""The head for questions that run_squad.py trains."""

from etils import epy

from keras_bert_impl import heads

with epy.lazy_imports():
  from keras_bert_impl.checkpoints import reading
  from keras_bert_impl.tasks.answers import question_answering

SIMPLE, BEAM = "simple", "beam"
NAMES = (SIMPLE, BEAM)
_OF_HEADS = {heads.QUESTION_ANSWERING: SIMPLE, heads.ANSWER_BEAM: BEAM}


def make_task(job, init_checkpoint, answer_head=None, bilstm_width=None):
  """Returns the task of a head for questions.

  Args:
    job: `job.Job`.
    init_checkpoint: str, or None.
    answer_head: one of `NAMES`; None for that of the run or checkpoint to go on
      with, else the beam for XLNet and the simple one for others.
    bilstm_width: as `models.QuestionAnswering`.

  Raises:
    ValueError: the head does not fit the model or another option.
  """
  config, known = job.encoder_config, _known(job, init_checkpoint)
  if answer_head is None:
    is_xlnet = config.family.framing.cls_at_end
    usual = BEAM if is_xlnet and bilstm_width is None else SIMPLE
    answer_head = _OF_HEADS.get(known.get("head"), usual)
  if answer_head == SIMPLE:
    return question_answering.QuestionAnsweringTask(config, bilstm_width)
  if bilstm_width is not None:
    raise ValueError(
      f"bilstm_width ({bilstm_width}) needs --answer_head={SIMPLE}: give it, or"
      " leave the width out."
    )
  if job.settings.members:
    raise ValueError(
      "--ensemble_dirs averages the scores of all places, which a beam does not"
      f" give: train the runs with --answer_head={SIMPLE}."
    )
  wide = {n: known[n] for n in ("start_n_top", "end_n_top") if n in known}
  return question_answering.AnswerBeamTask(config, **wide)


def _known(job, init_checkpoint):
  """Returns the head and its options of a run's task.json or a checkpoint."""
  task = job.described_task()
  if task or not init_checkpoint:
    return task
  description = reading.open_checkpoint(init_checkpoint).description
  if description is None:
    return {}
  return {**description.source, "head": description.head}
