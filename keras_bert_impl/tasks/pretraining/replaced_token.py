"""ELECTRA's and DeBERTaV3's objective: detect what a generator replaced."""

import dataclasses

from etils import epy

from keras_bert_impl import choices, features, options
from keras_bert_impl.tasks.basics import cross_entropy, pretraining

with epy.lazy_imports():
  from keras import ops

  from keras_bert_impl.checkpoints.naming import mappings, names
  from keras_bert_impl.models.pretraining import electra


_ENCODER = "bert/"
# Clark et al. 2020, section 3.2: the discriminator starts from the generator.
_SECOND_STAGE = {
  "generator_size": 1.0,
  "generator_depth": 1.0,
  "embedding_sharing": "none",
}


@dataclasses.dataclass(frozen=True)
class ReplacedTokenOptions:
  """Options of --objective=electra and deberta_v3."""

  generator_size: float | None = options.field(
    None,
    "Width of the generator divided by that of the discriminator; default: 0.25"
    " (electra), 1 (deberta_v3).",
    interval="(0, 1]",
  )
  generator_depth: float | None = options.field(
    None,
    "Layers of the generator divided by those of the discriminator; default: 1"
    " (electra), 0.5 (deberta_v3).",
    interval="(0, 1]",
  )
  embedding_sharing: str | None = options.field(
    None,
    "Embeddings that generator and discriminator share: all (shared); the word"
    " table, without gradient from the discriminator (gdes); or none. Default:"
    " shared (electra), gdes (deberta_v3).",
    choices.EMBEDDING_SHARINGS,
  )
  detection_weight: float = options.field(
    50.0,
    "Weight of the discriminator's loss beside the generator's.",
    interval="[0, 1000000]",
  )
  freeze_generator: bool = options.field(
    False,
    "Whether the generator stays as it is in init_checkpoint, a masked language"
    " model, and the discriminator starts from the same weights: the second of"
    " two stages. Both have one size then and share nothing.",
  )

  def __post_init__(self):
    if self.freeze_generator and not self.detection_weight:
      raise ValueError(
        "detection_weight (0) must be above 0 with freeze_generator, which"
        " leaves no other loss."
      )


class ReplacedTokenTask(pretraining.PretrainingTask):
  """The generator's masked language model and the discriminator's detection.

  Args:
    config: `EncoderConfig` of the discriminator.
    data: as `PretrainingTask`.
    options: `ReplacedTokenOptions`.

  Attributes:
    paper: {option: value}, the paper's values of options that are None.

  Raises:
    ValueError: a frozen generator would share embeddings with a discriminator
      that is trained; or as `models.electra_generator_config`.

  Source: Clark et al. 2020, section 2, section 3.2 (two stages) and appendix A.
  """

  can_pack = True
  options_class = ReplacedTokenOptions
  paper = {
    "generator_size": 0.25,
    "generator_depth": 1.0,
    "embedding_sharing": "shared",
  }
  short_names = {"masked_lm": "MLM", "replaced_token": "RTD"}
  predicted_by = "generator"

  def __init__(self, config, data=None, options=None):
    super().__init__(config, data, options)
    given = self.options
    freeze_generator = given.freeze_generator
    paper = _SECOND_STAGE if freeze_generator else self.paper
    chosen = {
      name: default if getattr(given, name) is None else getattr(given, name)
      for name, default in paper.items()
    }
    self.embedding_sharing = chosen["embedding_sharing"]
    if freeze_generator and self.embedding_sharing != "none":
      raise ValueError(
        f"embedding_sharing ({self.embedding_sharing!r}) must be none with"
        " freeze_generator: what both share would be trained."
      )
    self.generator_config = electra.electra_generator_config(
      config, chosen["generator_size"], chosen["generator_depth"]
    )
    self.loss_weights = {"replaced_token": given.detection_weight}
    if freeze_generator:
      self.loss_weights["masked_lm"] = 0.0
      self.required_prefixes = (_ENCODER, *self._frozen)

  @property
  def _frozen(self):
    """Beginnings of the paths of a frozen generator's weights."""
    return names.GENERATOR, "cls/predictions/"

  def build_model(self):
    """Returns an `ElectraPretrainingModel` with fresh weights."""
    model = electra.ElectraPretrainingModel(
      self.config,
      self.generator_config,
      use_sequence_ids=self.data.is_packed,
      embedding_sharing=self.embedding_sharing,
    )
    if self.options.freeze_generator:
      for variable in model.trainable_variables:
        if variable.path.startswith(self._frozen):
          variable.trainable = False
    return model

  def given_weights(self, tensors):
    """Gives the generator weights of a checkpoint without generator.

    A frozen one gets all of the encoder's, from which the discriminator starts
    too. With "gdes" sharing it gets the word table, and the discriminator
    starts from this one too, as it adds to the generator's.
    """
    if any(name.startswith(names.GENERATOR) for name in tensors):
      return tensors
    if self.options.freeze_generator:
      given = [name for name in tensors if name.startswith(_ENCODER)]
    elif self.embedding_sharing == "gdes":
      given = [name for name in tensors if name == names.WORD_EMBEDDINGS]
    else:
      given = []
    origins = {name: name for name in tensors} | {
      names.GENERATOR + name.removeprefix(_ENCODER): name for name in given
    }
    return mappings.Renamed(tensors, origins)

  def weights(self, batch):
    """Returns 1 for masked tokens and for all tokens that are not padding."""
    is_token = ops.cast(batch[features.INPUT_MASK], "float32")
    return super().weights(batch) | {"replaced_token": is_token}

  def predictions(self, batch, outputs):
    """Returns the masked tokens [B, P] and all tokens [B, L]."""
    replaced = cross_entropy.binary(
      outputs["replaced_token_logits"], outputs["is_replaced"]
    )
    return super().predictions(batch, outputs) | {"replaced_token": replaced}

  def metrics(self, batch, outputs):
    """Adds share, precision and recall of replaced tokens, which are few.

    `replaced_token_share` of all tokens is 1 - accuracy of a discriminator that
    never reports one; `replaced_token_precision` is of the reported tokens,
    `replaced_token_recall` of the replaced ones.
    """
    is_token = ops.cast(batch[features.INPUT_MASK], "float32")
    is_replaced = ops.cast(outputs["is_replaced"], "float32") * is_token
    score = outputs["replaced_token_logits"]
    is_reported = ops.cast(score > 0, "float32") * is_token
    num_replaced, num_found = (
      ops.sum(is_replaced),
      ops.sum(is_replaced * is_reported),
    )
    return {
      **super().metrics(batch, outputs),
      "replaced_token_share": (num_replaced, ops.sum(is_token)),
      "replaced_token_precision": (num_found, ops.sum(is_reported)),
      "replaced_token_recall": (num_found, num_replaced),
    }

  def guesses(self, evaluation):
    """Adds the accuracy of a discriminator that finds no token replaced."""
    share = 1 - evaluation["replaced_token_share"]
    return {
      **super().guesses(evaluation),
      "replaced_token": f"{share:.1%} (never replaced)",
    }


class DisentangledSharingTask(ReplacedTokenTask):
  """`ReplacedTokenTask` as of DeBERTaV3: gradient-disentangled sharing.

  Source: He et al. 2023 (DeBERTaV3), section 3; microsoft/DeBERTa for the size
  of the generator. Differs from it: one update of both models for each batch,
  of the sum of their losses.
  """

  paper = {
    "generator_size": 1.0,
    "generator_depth": 0.5,
    "embedding_sharing": "gdes",
  }


# Clark et al. 2020, section 2: every chosen token becomes [MASK]. (The released
# code leaves 15 % of them as they are.) Fill-mask would need the generator,
# which is left behind.
ELECTRA = pretraining.Objective(
  ReplacedTokenTask,
  packing="doc_sentences",
  masking_policy="token",
  mask_token_prob=1.0,
  random_token_prob=0.0,
  servables=("encoder", "replaced_tokens"),
)
# He et al. 2023, section 3.1: the same; rows of whole text, as of DeBERTa.
DEBERTA_V3 = dataclasses.replace(
  ELECTRA, task=DisentangledSharingTask, packing="full_sentences"
)
