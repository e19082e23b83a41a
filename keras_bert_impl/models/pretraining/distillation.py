"""The encoder with its masked LM head, and how far it is from a teacher.

Axes, besides those of `layers`: T positions with soft targets, P or L; R heads
of relations.
"""

import collections
import dataclasses
import math

import keras
from keras import ops

from keras_bert_impl import features
from keras_bert_impl.checkpoints import assignment, reading
from keras_bert_impl.layers.basics import kernels, layer
from keras_bert_impl.models.encoders import encoder_model, transformer_encoder
from keras_bert_impl.models.heads import head_model, masked_language_model

# Distances from a teacher.
SOFT_TARGET, COSINE = "soft_target", "cosine"
HIDDEN, ATTENTION, RELATION = "hidden", "attention", "relation"
_EPSILON = 1e-12  # As of torch.nn.CosineEmbeddingLoss.


@dataclasses.dataclass(frozen=True)
class Distances:
  """Which distances from a teacher are computed, and how.

  Attributes:
    chosen: tuple of these, such as `SOFT_TARGET`.
    temperature: float, of the soft targets.
    all_tokens: bool, whether all tokens have soft targets, or the masked ones.
    teacher_layer: int, whose relations the last layer learns; 1 is the first
      and -1 the last.
    relation_heads: int, R; None: as many as the teacher's heads of attention.
  """

  chosen: tuple[str, ...] = (SOFT_TARGET, COSINE)
  temperature: float = 2.0
  all_tokens: bool = True
  teacher_layer: int = -1
  relation_heads: int | None = None


class DistillationModel(head_model.HeadModel):
  """Masked LM for pre-training, and its distances from a frozen teacher.

  Called with the encoder's inputs and `masked_lm_positions`, int32 [B, P], it
  returns `token_logits`, float32 [B, P, V], and the chosen distances, float32
  [B, L], of each token; those of soft targets are [B, T]. The weights of the
  teacher are none of the model's: no checkpoint holds them.

  Args:
    config: `configs.EncoderConfig`.
    teacher: str, checkpoint of a masked language model with the same
      vocabulary.
    distances: `Distances`.
    use_sequence_ids: bool, as `TransformerEncoder`.
    name: str, not part of any variable's path.

  Raises:
    FileNotFoundError: there is no such checkpoint.
    ValueError: it has no such head, another vocabulary, or sizes between which
      a distance is not defined.

  Source: Sanh et al. 2019 (DistilBERT) for soft targets and cosines; Jiao et
  al. 2020 (TinyBERT) for hidden states and attention, Wang et al. 2021
  (MiniLMv2) for relations.
  """

  def __init__(
    self,
    config,
    teacher,
    distances=None,
    use_sequence_ids=False,
    name="distillation_model",
  ):
    distances = distances or Distances()
    arguments = {"name": name, "use_sequence_ids": use_sequence_ids}
    encoder = _encoder(config, use_sequence_ids)
    given = encoder_model.make_input(features.MASKED_LM_POSITIONS)
    inputs = {**encoder.input, features.MASKED_LM_POSITIONS: given}

    # Wiring.
    score = masked_language_model.token_scorer(encoder)
    logits = score(given)
    soft = score() if distances.all_tokens else logits
    teacher = _frozen(teacher, config, use_sequence_ids, distances)
    layers = range(1, config.num_hidden_layers + 1)
    ours = _states(encoder, soft, distances, layers, -1)
    theirs = _Frozen(teacher, name="teacher")(inputs)
    found = _DistanceLayer(distances, dtype="float32", name="distillation")(
      ours, theirs
    )
    outputs = collections.OrderedDict(token_logits=logits)
    outputs |= {kind: found[kind] for kind in distances.chosen}
    super().__init__(encoder, inputs, outputs, arguments)


def _states(encoder, logits, distances, layers, last):
  """Returns what distances read of a model, {name: symbolic tensors}.

  Args:
    encoder: `TransformerEncoder`.
    logits: [B, T, V].
    distances: `Distances`.
    layers: numbers of the layers, from 1, whose hidden states and attention
      are compared.
    last: int, number of the layer whose relations are.
  """

  def projections(number):
    call = encoder.block_calls[number - (number > 0)]
    return _Projections(call.block)(call.hidden)

  hidden = encoder.hidden_states
  states = {
    "mask": encoder.input[features.INPUT_MASK],
    "logits": logits,
    "hidden": [hidden[number] for number in (0, *layers)],
    "last": hidden[-1],
  }
  if ATTENTION in distances.chosen:
    states["attention"] = [projections(number) for number in layers]
  if RELATION in distances.chosen:
    states["relations"] = projections(last)
  return states


class _Projections(keras.layers.Layer):
  """Queries, keys and values of a block, float32 [3, B, L, N, D]."""

  def __init__(self, block):
    super().__init__(dtype=block.dtype_policy)
    self.block = block

  def call(self, hidden):
    """[B, L, H] -> [3, B, L, N, D]."""
    hidden = self.block.attention_output.norm_before(hidden)
    attention = self.block.attention
    parts = (attention.query, attention.key, attention.value)
    heads = attention.heads_shape(hidden)
    found = [ops.reshape(part(hidden), heads) for part in parts]
    return ops.cast(ops.stack(found), "float32")


class _Frozen(keras.layers.Layer):
  """A model whose weights are not those of the model that it is used in."""

  def __init__(self, model, name):
    super().__init__(name=name)
    # A function, because a model would be tracked.
    self._model = lambda: model

  def call(self, inputs):
    """Returns the outputs of the model, whose inputs are among these."""
    model = self._model()
    return model({name: inputs[name] for name in model.input}, training=False)


def _encoder(config, use_sequence_ids):
  return transformer_encoder.TransformerEncoder(
    config, use_pooler=False, use_sequence_ids=use_sequence_ids
  )


def _frozen(path, config, use_sequence_ids, distances):
  """Returns the teacher, a model with the outputs that distances read."""
  checkpoint = reading.open_checkpoint(path)
  own = checkpoint.described().config.without_dropout()
  _check(path, config, own, distances)
  encoder = _encoder(own, use_sequence_ids)
  inputs = dict(encoder.input)
  positions = None
  if not distances.all_tokens:
    positions = encoder_model.make_input(features.MASKED_LM_POSITIONS)
    inputs[features.MASKED_LM_POSITIONS] = positions
  logits = masked_language_model.token_logits(encoder, positions)
  # Those of the student are spread evenly, its last one for the last one.
  share = own.num_hidden_layers / config.num_hidden_layers
  layers = [round(n * share) for n in range(1, config.num_hidden_layers + 1)]
  model = keras.Model(
    inputs,
    _states(encoder, logits, distances, layers, distances.teacher_layer),
  )
  model.trainable = False
  assignment.assign(
    {weight.path: weight for weight in model.weights},
    checkpoint.tensors,
    checkpoint.path,
    remedy="A teacher is a masked language model with its head.",
  )
  return model


def _check(path, config, own, distances):
  """Raises ValueError if a teacher and its student are not comparable."""
  for name, kind in (
    ("vocab_size", None),
    ("hidden_size", COSINE),
    ("num_attention_heads", ATTENTION),
  ):
    ours, theirs = getattr(config, name), getattr(own, name)
    if ours != theirs and (kind is None or kind in distances.chosen):
      remedy = f"set the weight of {kind} to 0 or " if kind else ""
      raise ValueError(
        f"{name} of the teacher {path} ({theirs}) must be that of the student"
        f" ({ours}): {remedy}give another teacher."
      )
  heads = distances.relation_heads or own.num_attention_heads
  for size in (config.hidden_size, own.hidden_size):
    if RELATION in distances.chosen and size % heads:
      raise ValueError(
        f"relation_heads ({heads}) must divide the hidden sizes of student and"
        f" teacher ({config.hidden_size} and {own.hidden_size})."
      )
  layer, number = distances.teacher_layer, own.num_hidden_layers
  if not 0 < (layer if layer > 0 else -layer) <= number:
    raise ValueError(
      f"teacher_layer ({layer}) must be from 1 to {number}, or -1 for the last."
    )


class _DistanceLayer(layer.Layer):
  """Distances of a student from its teacher, {name: float32 [B, L or T]}.

  Args:
    distances: `Distances`.
    **kwargs: of `keras.layers.Layer`.
  """

  def __init__(self, distances, **kwargs):
    super().__init__(**kwargs)
    self._distances = distances
    self.initializer_range = 0.02

  def build(self, ours_shape, theirs_shape):
    """Creates a projection of hidden states to the width of the teacher's."""
    width = theirs_shape["last"][-1]
    self.projection = None
    if HIDDEN in self._distances.chosen and ours_shape["last"][-1] != width:
      self.projection = self._dense(width, ours_shape["last"])

  def call(self, ours, theirs):
    """Computes the chosen distances of `_states`."""
    return {
      kind: getattr(self, f"_{kind}")(ours, theirs)
      for kind in self._distances.chosen
    }

  def _soft_target(self, ours, theirs):
    """Returns the divergences of the tokens at a temperature T, times T^2."""
    temperature = self._distances.temperature
    return kernels.divergence(theirs["logits"], ours["logits"], temperature)

  def _cosine(self, ours, theirs):
    """Returns 1 - the cosine of the last hidden states, [B, L]."""
    a, b = ours["last"], theirs["last"]
    squares = [ops.sum(x * x, axis=-1) + _EPSILON for x in (a, b)]
    return 1.0 - ops.sum(a * b, axis=-1) / ops.sqrt(math.prod(squares))

  def _hidden(self, ours, theirs):
    """Returns the squared errors of all hidden states, [B, L]."""
    project = self.projection or (lambda x: x)
    return sum(
      ops.mean(ops.square(project(a) - b), axis=-1)
      for a, b in zip(ours["hidden"], theirs["hidden"], strict=True)
    )

  def _attention(self, ours, theirs):
    """Returns the squared errors of the scores of attention, [B, L].

    They are means over the heads and over the tokens that are seen.
    """
    mask = ops.cast(ours["mask"], "float32")  # [B, L]
    total = 0.0
    for pair in zip(ours["attention"], theirs["attention"], strict=True):
      a, b = (_scores(x[0], x[1]) for x in pair)
      errors = ops.mean(ops.square(a - b), axis=1)  # [B, L, L]
      total += ops.sum(errors * mask[:, None, :], axis=-1)
    return total / ops.sum(mask, axis=-1)[:, None]

  def _relation(self, ours, theirs):
    """Returns the divergences of relations of one layer, [B, L].

    They are the mean over R heads, of queries, of keys and of values, summed.
    """
    number = self._distances.relation_heads or theirs["relations"].shape[-2]
    mask = ops.cast(ours["mask"], "float32")[:, None, None, :]
    a, b = (
      [_scores(x, x) - 1e9 * (1.0 - mask) for x in _in_heads(parts, number)]
      for parts in (ours["relations"], theirs["relations"])
    )
    return sum(
      ops.mean(kernels.divergence(their, our, 1.0), axis=1)
      for our, their in zip(a, b, strict=True)
    )


def _in_heads(parts, number):
  """Returns queries, keys and values in so many heads, 3 [B, L, R, D]."""
  _, batch, length, heads, size = ops.shape(parts)
  shape = (batch, length, number, heads * size // number)
  return [ops.reshape(parts[k], shape) for k in range(3)]


def _scores(query, key):
  """Returns the scaled products [B, N, L, L] of [B, L, N, D]."""
  products = ops.einsum("bqnd,bknd->bnqk", query, key)
  return products / math.sqrt(query.shape[-1])
