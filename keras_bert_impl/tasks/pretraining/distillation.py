"""Objective of distillation: masked tokens, and a teacher's view of all."""

import dataclasses

from etils import epy

from keras_bert_impl import features, options
from keras_bert_impl.tasks.basics import pretraining

with epy.lazy_imports():
  from keras import ops

  from keras_bert_impl.models.pretraining import distillation

_WEIGHT = "[0, 1000000]"


@dataclasses.dataclass(frozen=True)
class DistillationOptions:
  """Options of --objective=distil."""

  teacher_checkpoint: str | None = options.common(
    None,
    "Masked language model to learn from, of the same vocabulary.",
  )
  distil_temperature: float = options.field(
    2.0,
    "Number that the logits of teacher and student are divided by.",
    interval="[0.01, 1000]",
  )
  distil_all_tokens: bool = options.field(
    True,
    "Whether all tokens have soft targets, or only the masked ones, which takes"
    " a seventh of the time and memory of the logits.",
  )
  soft_target_weight: float = options.field(
    5.0, "Weight of the teacher's predictions of tokens.", interval=_WEIGHT
  )
  masked_lm_weight: float = options.field(
    2.0, "Weight of the masked tokens themselves.", interval=_WEIGHT
  )
  cosine_weight: float = options.field(
    1.0,
    "Weight of the cosines of the last hidden states; the hidden sizes must be"
    " the same.",
    interval=_WEIGHT,
  )
  hidden_weight: float = options.field(
    0.0,
    "Weight of the squared errors of all hidden states (TinyBERT); of another"
    " size they are projected.",
    interval=_WEIGHT,
  )
  attention_weight: float = options.field(
    0.0,
    "Weight of the squared errors of the scores of attention (TinyBERT); there"
    " must be as many heads.",
    interval=_WEIGHT,
  )
  relation_weight: float = options.field(
    0.0,
    "Weight of the divergences of relations of queries, keys and values of the"
    " last layer (MiniLMv2).",
    interval=_WEIGHT,
  )
  relation_heads: int | None = options.field(
    None,
    "Heads of these relations; default: the teacher's heads of attention.",
    interval="[1, 1000]",
  )
  teacher_layer: int = options.field(
    -1,
    "Layer of the teacher whose relations are learned: 1 is the first, -1 the"
    " last.",
    interval="[-1000, 1000]",
  )

  def __post_init__(self):
    if not any(self.weights().values()):
      listed = ", ".join(f"{name}_weight" for name in self.weights())
      raise ValueError(
        f"{listed} are all 0, so that nothing is learned: give one of them."
      )

  def weights(self):
    """Returns the weights of all losses, {name: float}."""
    return {
      "masked_lm": self.masked_lm_weight,
      "soft_target": self.soft_target_weight,
      "cosine": self.cosine_weight,
      "hidden": self.hidden_weight,
      "attention": self.attention_weight,
      "relation": self.relation_weight,
    }


class DistillationTask(pretraining.PretrainingTask):
  """Masked language model that a larger one teaches.

  Args: as `PretrainingTask`; the options name the teacher.

  Source: Sanh et al. 2019 (DistilBERT), section 3 and its code, whose weights
  are the defaults; Jiao et al. 2020 (TinyBERT), section 3; Wang et al. 2021
  (MiniLMv2), section 3.
  """

  can_pack = True
  options_class = DistillationOptions

  @property
  def loss_weights(self):
    """The weights of all losses, {name: float}."""
    return self.options.weights()

  def build_model(self):
    """Returns a `DistillationModel` with fresh weights, and its teacher.

    Raises:
      ValueError: no teacher is given; or as `DistillationModel`.
    """
    given = self.options
    if given.teacher_checkpoint is None:
      raise ValueError(
        "--objective=distil needs --teacher_checkpoint: a masked language model"
        " to learn from."
      )
    return distillation.DistillationModel(
      self.config,
      given.teacher_checkpoint,
      distillation.Distances(
        self._distances,
        given.distil_temperature,
        given.distil_all_tokens,
        given.teacher_layer,
        given.relation_heads,
      ),
      use_sequence_ids=self.data.is_packed,
    )

  @property
  def _distances(self):
    """The distances from the teacher that have a weight, tuple of str."""
    chosen = (name for name, weight in self.loss_weights.items() if weight)
    return tuple(name for name in chosen if name != "masked_lm")

  def denominators(self, batch):
    """Returns the numbers of masked tokens and of those with a distance."""
    own = {name: ops.sum(x) for name, x in self._masks(batch).items()}
    return super().denominators(batch) | own

  def losses(self, batch, outputs):
    """Returns the sums of masked tokens and distances, times their weights."""
    weights = self.loss_weights
    return super().losses(batch, outputs) | {
      name: weights[name] * ops.sum(mask * outputs[name])
      for name, mask in self._masks(batch).items()
    }

  def metrics(self, batch, outputs):
    """Returns those of the masked tokens, and each distance."""
    return super().metrics(batch, outputs) | {
      f"{name}_loss": (ops.sum(mask * outputs[name]), ops.sum(mask))
      for name, mask in self._masks(batch).items()
    }

  def _masks(self, batch):
    """Returns {distance: float32 [B, T]}, 1 where it counts."""
    tokens = ops.cast(batch[features.INPUT_MASK], "float32")
    masks = dict.fromkeys(self._distances, tokens)
    if "soft_target" in masks and not self.options.distil_all_tokens:
      masks["soft_target"] = batch[features.MASKED_LM_WEIGHTS]
    return masks


# Sanh et al. 2019, section 3: rows of whole text, without next sentences.
DISTIL = pretraining.Objective(
  DistillationTask, packing="full_sentences", masking_policy="token"
)
