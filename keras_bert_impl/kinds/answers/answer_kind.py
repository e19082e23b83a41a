"""Answers to questions: the kind, whole."""

from keras_bert_impl import heads
from keras_bert_impl.checkpoints import reading
from keras_bert_impl.kinds.answers import (
  answer_options,
  answer_scores,
  answer_servable,
  answer_splits,
  question_answering,
  question_rows,
)
from keras_bert_impl.runs.fine_tuning import kind
from keras_bert_impl.tasks.basics import fine_tuning


def make_parts(run, options):
  """Returns the `FineTuning` of questions.

  Args:
    run: `job.Job`.
    options: `answer_options.QuestionOptions`.

  Raises:
    ValueError: the head does not fit the model or another option.
  """
  preprocessor = question_rows.QuestionPreprocessor(
    run.settings.max_seq_length,
    options.doc_stride,
    options.max_query_length,
    options.version_2_with_negative,
    options.answer_rules,
  )
  evaluator = answer_scores.AnswerEvaluator(
    options.version_2_with_negative,
    options.null_score_diff_threshold,
    options.n_best_size,
    options.max_answer_length,
    options.answer_rules,
  )
  return fine_tuning.FineTuning(preprocessor, _task(run, options), evaluator)


def _task(run, options):
  """Returns the task of the head for questions.

  It is the one that is asked for, that of the run or checkpoint to go on with,
  or the beam for XLNet and the simple one for others.
  """
  config, known = run.encoder_config, _known_answer_head(run)
  width = options.bilstm_width
  head = answer_options.ANSWER_HEADS.get(options.answer_head)
  if head is None:
    can_be_beam = config.family.framing.cls_at_end and width is None
    usual = heads.ANSWER_BEAM if can_be_beam else heads.QUESTION_ANSWERING
    stored = known.get("head")
    is_one = stored in answer_options.ANSWER_HEADS.values()
    head = stored if is_one else usual
  if head == heads.QUESTION_ANSWERING:
    return question_answering.QuestionAnsweringTask(config, width)
  if width is not None:
    raise ValueError(
      f"bilstm_width ({width}) needs --answer_head=simple: give it, or leave"
      " the width out."
    )
  if run.settings.members:
    raise ValueError(
      "--ensemble_dirs averages the scores of all places, which a beam does not"
      " give: train the runs with --answer_head=simple."
    )
  wide = {n: known[n] for n in ("start_n_top", "end_n_top") if n in known}
  return question_answering.AnswerBeamTask(config, **wide)


def _known_answer_head(run):
  """Returns the head and its options of a run's task.json or a checkpoint."""
  task = run.described_task(KIND)
  if task or not run.init_checkpoint:
    return task
  description = reading.open_checkpoint(run.init_checkpoint).description
  if description is None:
    return {}
  return {**description.source, "head": description.head}


def prepare(job, config):
  """Returns the `Prepared` of a `SquadConfig`.

  Raises:
    ValueError: as `answer_splits.read` and `make_parts`.
  """
  splits = answer_splits.read(config, job.settings)
  return kind.Prepared(make_parts(job, config), splits)


KIND = kind.Kind(
  "answers",
  tasks={
    heads.ANSWER_BEAM: question_answering.AnswerBeamTask,
    heads.QUESTION_ANSWERING: question_answering.QuestionAnsweringTask,
  },
  servables={
    heads.QUESTION_ANSWERING: answer_servable.QuestionAnsweringServable
  },
  options=answer_options.QuestionOptions,
  described=(question_rows.QuestionPreprocessor,),
  pipeline="question-answering",
  prepare=prepare,
  scored=(heads.QUESTION_ANSWERING,),
)
