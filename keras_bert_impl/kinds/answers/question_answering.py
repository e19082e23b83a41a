"""Question answering by spans of a text: SQuAD 1.1, 2.0 and similar data.

`question_answering_rows` makes the rows, `answers` and `answer_beams` find the
answers, and `question_answering_scores` scores them and writes the prediction
files.

Source: Devlin et al. 2019, sections 4.2 and 4.3; google-research/bert,
run_squad.py.
"""

import dataclasses

from keras import ops

from keras_bert_impl import configs, features, files, heads, models, options
from keras_bert_impl.kinds.answers import answer_scores
from keras_bert_impl.kinds.answers import question_rows as rows
from keras_bert_impl.tasks.basics import cross_entropy, fine_tuning

_THRESHOLD = "null_score_diff_threshold"


class _AnswerTask(cross_entropy.ClassifyingTask):
  """Base class of tasks that find answers: half of each cross-entropy.

  Attributes:
    loss_names: tuple of str, keys of `predictions`.
  """

  loss_names = ("answer_start", "answer_end")

  @classmethod
  def found_options(cls, configuration, scores, described):
    """Returns the threshold where there may be no answer: given, best, or 0."""
    if not described.get("version_2_with_negative"):
      return {}
    given = configuration.get(_THRESHOLD)
    files.check_type(
      given, (float, type(None)), f"{_THRESHOLD} in results.json"
    )
    if given is None:
      given = scores.get(answer_scores.BEST_THRESHOLD, 0.0)
    return {_THRESHOLD: given}

  @property
  def loss_weights(self):
    """Half for each loss."""
    return dict.fromkeys(self.loss_names, 0.5)

  def weights(self, batch):
    """Returns 1 for rows whose answer is known, [B]."""
    weights = cross_entropy.row_weights(batch) * batch[rows.ANSWER_WEIGHTS]
    return dict.fromkeys(self.loss_names, weights)

  def total_denominators(self, data):
    """Returns the number of rows whose answer is known."""
    number = float(data[rows.ANSWER_WEIGHTS].sum())
    return dict.fromkeys(self.loss_names, number)

  def predictions(self, batch, outputs):
    """Returns start and end [B], softmax over the positions."""
    # Padding cannot be predicted.
    padding = 1.0 - ops.cast(batch[features.INPUT_MASK], "float32")
    return {
      f"answer_{side}": cross_entropy.Prediction(
        outputs[f"{side}_logits"] - 1e9 * padding, batch[f"{side}_positions"]
      )
      for side in ("start", "end")
    }


@dataclasses.dataclass(frozen=True)
class QuestionAnsweringTask(fine_tuning.BilstmTask, _AnswerTask):
  """Question answering: classifies the first and last piece of an answer.

  Attributes:
    config: `EncoderConfig`.
    bilstm_width: as `models.QuestionAnswering`.
  """

  config: configs.EncoderConfig
  bilstm_width: int | None = None

  head = heads.QUESTION_ANSWERING
  has_pooler = False
  taught_outputs = ("start_logits", "end_logits")

  def build_model(self):
    """Returns a `QuestionAnswering` model with fresh weights."""
    return models.QuestionAnswering(self.config, self.bilstm_width)


@dataclasses.dataclass(frozen=True)
class AnswerBeamTask(_AnswerTask):
  """Question answering by XLNet's head: the end depends on the start.

  In training the end depends on the true start. An answer is searched for among
  the likeliest starts and the likeliest ends of each. A loss of its own trains
  whether there is an answer.

  Attributes:
    config: `EncoderConfig`, of a family that puts [CLS] last: XLNet.
    start_n_top: int, number of starts.
    end_n_top: int, number of ends for each start.

  Raises:
    ValueError: the configuration is of another family.

  Source: zihangdai/xlnet, run_squad.py and function_builder.py.
  """

  config: configs.EncoderConfig
  start_n_top: int = options.field(5, "Starts.", interval="[1, 10000]")
  end_n_top: int = options.field(5, "Ends of each.", interval="[1, 10000]")

  head = heads.ANSWER_BEAM
  loss_names = (*_AnswerTask.loss_names, "no_answer")

  def __post_init__(self):
    if not self.config.family.framing.cls_at_end:
      raise ValueError(
        f"model_type ({self.config.model_type!r}) must be 'xlnet', which puts"
        " [CLS] last, for a beam of answers: choose the simple head."
      )

  def build_model(self):
    """Returns an `AnswerBeam` model with fresh weights."""
    return models.AnswerBeam(
      self.config,
      self.start_n_top,
      self.end_n_top,
      use_answer_mask=True,
      use_start_positions=True,
    )

  def predictions(self, batch, outputs):
    """Returns start, its end, and whether there is no answer."""
    is_none = batch[rows.START_POSITIONS] == batch[rows.CLS_POSITIONS]
    no_answer = cross_entropy.binary(
      outputs["cls_logits"], ops.cast(is_none, "int32")
    )
    return super().predictions(batch, outputs) | {"no_answer": no_answer}
