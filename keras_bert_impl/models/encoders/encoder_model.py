"""Base class of the models on an encoder's inputs."""

import warnings

import keras
from keras import ops

from keras_bert_impl import calls, configs, features, heads
from keras_bert_impl.layers.basics import layer
from keras_bert_impl.layers.heads import output_heads

# Inputs that a `Model` may be called without.
OPTIONAL = {
  features.INPUT_MASK,
  features.SEGMENT_IDS,
  features.SEQUENCE_IDS,
  features.TASK_TYPE_IDS,
  features.POOLING_MASK,
  features.PERM_MASK,
  features.IS_REVERSED,
  features.MEMS,
}
# Arguments of constructors that `get_config` says otherwise, or not.
_NOT_SAVED = {"self", "__class__", "config", "dtype", "embeddings", "name"}
# Names of `transformers` for our inputs.
_FOREIGN_NAMES = {
  "attention_mask": features.INPUT_MASK,
  "token_type_ids": features.SEGMENT_IDS,
}


@keras.saving.register_keras_serializable(package="keras_bert_impl")
class Model(keras.Model, calls.Public):
  """`keras.Model` of an encoder's inputs, most of which may be left out.

    classifier = kb.Model(encoder.input, keras.layers.Dense(2)(hidden))
    classifier.fit({"input_ids": input_ids}, labels)

  Without `input_mask` all tokens are real, without `segment_ids` of the first
  segment; without `sequence_ids`, the input of a model for rows of several
  texts, a row is one text; without `pooling_mask` all real tokens are pooled.
  The inputs of `XLNetEncoder` may be left out too. What is no input, such as
  labels, is passed over. `keras.Model` itself wants the name of every input.

  Args:
    inputs: dict of symbolic tensors by name, `input_ids` and others.
    outputs: structure of symbolic tensors.
    name: str.

  Attributes:
    fills_all_masks: bool, whether it fills masks, but at no given positions; of
      the class.
    served_head: str, of `keras_bert_impl.heads`, that it is served as whatever
      it is used for; None where that decides; of the class.
  """

  fills_all_masks = False
  served_head = None
  checked_methods = ("__init__", "from_checkpoint", "from_encoder")

  def __init_subclass__(cls, **named):
    super().__init_subclass__(**named)
    if cls.__module__.startswith(calls.PACKAGE):  # Users register their own.
      keras.saving.register_keras_serializable("keras_bert_impl")(cls)

  def __call__(self, inputs, *args, **kwargs):
    """Calls the model with all its inputs.

    Raises:
      ValueError: the mask or segments have the names of `transformers`; or
        there are `masked_lm_positions`, but `fills_all_masks`.
    """
    return super().__call__(self._filled(inputs), *args, **kwargs)

  def call(self, inputs, training=None, mask=None, **kwargs):
    """Computes the outputs; on JAX, `fit` and others begin here."""
    inputs = self._filled(inputs)
    return super().call(inputs, training=training, mask=mask, **kwargs)

  def compile(self, optimizer="rmsprop", loss=None, *args, **kwargs):
    """Compiles as `keras.Model`; warns of losses that read no logits."""
    outputs = self.output if isinstance(self.output, dict) else ()
    wrong = [*filter(None, map(_of_probabilities, keras.tree.flatten(loss)))]
    if wrong and any(name.endswith("logits") for name in outputs):
      warnings.warn(
        f"loss ({wrong[0]}) reads probabilities, but {self.name} gives logits:"
        " give keras.losses.SparseCategoricalCrossentropy(from_logits=True), or"
        " the like.",
        stacklevel=2,
      )
    super().compile(optimizer, loss, *args, **kwargs)

  def compile_from_config(self, config):
    """Compiles as a model was that has been saved."""
    self.compile(**keras.saving.deserialize_keras_object(config))
    if self.built:
      self.optimizer.build(self.trainable_variables)

  def _filled(self, inputs):
    """Returns the inputs, with defaults for those that are left out."""
    if not isinstance(inputs, dict) or inputs.keys() == self.input.keys():
      return inputs
    if self.fills_all_masks:
      _refuse_positions(self, inputs)
    if features.INPUT_IDS not in inputs:
      return inputs
    for name in _FOREIGN_NAMES.keys() & inputs.keys():
      raise ValueError(
        f"The input {name!r} must be named {_FOREIGN_NAMES[name]!r}."
      )
    if "global_attention_mask" in inputs:
      raise ValueError(
        "The input 'global_attention_mask' must be in 'input_mask': 2 for a"
        " global token."
      )
    known = {name: x for name, x in inputs.items() if name in self.input}
    return _with_defaults(known, self.input)


class EncoderModel(Model):
  """Functional model with inputs `input_ids`, `input_mask` and `segment_ids`.

  Like `Model`'s, most inputs may be left out. `masked_lm_positions` are refused
  where all masks are filled.

  Args:
    config: `configs.EncoderConfig`.
    dtype_policy: of Keras.
    inputs: dict of symbolic tensors.
    outputs: dict of symbolic tensors.
    arguments: dict, those of the subclass' constructor, `locals()` before any
      others: the name, and what `from_config` needs, in plain types.

  Attributes:
    config: as given.
    heads: tuple of str, of `keras_bert_impl.heads`, that models of this class
      have; of the class.
  """

  heads = ()

  def __init__(self, config, dtype_policy, inputs, outputs, arguments):
    super().__init__(inputs, outputs, name=arguments["name"])
    self.config = config
    self.dtype_policy = dtype_policy
    for name in arguments.keys() & _NOT_SAVED:
      del arguments[name]
    self._arguments = arguments

  def predict(self, x, *args, **kwargs):
    """Returns the outputs for many inputs; as `keras.Model.predict`.

    Raises:
      ValueError: ids in a dict of arrays are out of range.
    """
    for name, size in self.config.num_ids.items():
      # With one segment its ids are ignored.
      if size > 1 and isinstance(x, dict) and name in x:
        layer.check_ids(name, x[name], size)
    return super().predict(x, *args, **kwargs)

  @classmethod
  def of_checkpoint(cls, description, shapes, dtype=None):
    """Returns the model of a checkpoint, with fresh weights.

    Args:
      description: `description.Description`.
      shapes: {name: tuple of int} of the checkpoint's tensors.
      dtype: as `TransformerEncoder`.
    """
    return cls(description.config, dtype=dtype)

  def get_config(self):
    """Returns the argument of `from_config`, in plain types."""
    return {
      "config": self.config.to_dict(),
      **self._arguments,
      **saved_state(self),
      "name": self.name,
    }

  @classmethod
  def from_config(cls, config, custom_objects=None):
    """Returns a new model of the same configuration."""
    del custom_objects  # There are none inside.
    encoder_config = configs.EncoderConfig.from_dict(config["config"])
    return with_state(cls, {**config, "config": encoder_config})


class BareEncoder(EncoderModel):
  """Base class of encoders, which have no head."""

  heads = (heads.ENCODER,)

  @classmethod
  def of_checkpoint(cls, description, shapes, dtype=None):
    """Returns an encoder, with a pooler if the checkpoint has one."""
    return cls(description.config, dtype, use_pooler=description.use_pooler)

  def output_at(self, positions=None):
    """Returns the outputs of some positions, for heads that read no others.

    Args:
      positions: symbolic int [B, P], in [0, L). None: of none.

    Returns:
      dict as `output`, with `sequence_output`, float32 [B, P, H], or without.
    """
    output = dict(self.output)
    states = output.pop("sequence_output")
    if positions is not None:
      at = output_heads.StatesAt(dtype="float32")
      output["sequence_output"] = at(states, positions)
    return output


def integer_inputs(*others, use_pooler=False, use_sequence_ids=False):
  """Returns symbolic inputs of an encoder and others, {name: int32 [B, L]}."""
  if use_pooler and use_sequence_ids:
    raise ValueError(
      "A pooler reads one text of a row, but the rows hold several texts: give"
      " use_pooler=False with use_sequence_ids=True."
    )
  names, inputs = (*features.ENCODER_INPUTS, *others), {}
  if use_sequence_ids:
    names += (features.SEQUENCE_IDS,)
  for name in names:
    inputs[name] = keras.Input((None,), dtype="int32", name=name)
  return inputs


def make_input(name, shape=(None,), dtype="int32"):
  """Returns a symbolic input, [B, *shape]."""
  return keras.Input(shape, dtype=dtype, name=name)


def _of_probabilities(loss):
  """Returns the name of a loss, or of its name, that is not of logits."""
  if getattr(loss, "from_logits", True) is False:
    return loss.name
  name = loss if isinstance(loss, str) else getattr(loss, "__name__", "")
  return name if name.lower().endswith("crossentropy") else None


def _refuse_positions(model, inputs):
  """Raises ValueError if there are positions that would be passed over."""
  name = features.MASKED_LM_POSITIONS
  if name in inputs:
    raise ValueError(
      f"The input {name!r} is none of {type(model).__name__}, whose inputs are"
      f" {', '.join(sorted(model.input))}: leave it out and gather its"
      " token_logits, which are those of every position, or of the queries in"
      " target_mapping (XLNet)."
    )


def saved_state(model):
  """Returns policies, adapters and frozen weights, for `get_config`."""
  return {
    "dtype": keras.dtype_policies.serialize(model.dtype_policy),
    **layer.inner_state(model),
  }


def with_state(model_class, arguments):
  """Builds a model with the `saved_state` of its arguments.

  Args:
    model_class: class of a model.
    arguments: dict, of its constructor, and `saved_state`.
  """
  arguments = dict(arguments)
  state = layer.pop_inner_state(arguments)
  model = model_class(**arguments)
  layer.restore_inner_state(model, state)
  return model


def _with_defaults(inputs, symbolic):
  """Returns `inputs` with defaults for missing ones that have one.

  Args:
    inputs: dict of arrays or tensors.
    symbolic: dict of the symbolic tensors of all inputs.
  """
  missing = (symbolic.keys() - inputs.keys()) & OPTIONAL
  if not missing:
    return inputs
  # Keras refuses a mixture of arrays and tensors.
  inputs = {
    name: x if keras.utils.is_keras_tensor(x) else ops.convert_to_tensor(x)
    for name, x in inputs.items()
  }
  input_ids = inputs[features.INPUT_IDS]
  mask = inputs.get(features.INPUT_MASK, ops.ones_like(input_ids))
  defaults = {
    features.INPUT_MASK: lambda: mask,
    features.SEGMENT_IDS: lambda: ops.zeros_like(input_ids),
    features.SEQUENCE_IDS: lambda: mask,
    features.TASK_TYPE_IDS: lambda: ops.zeros_like(input_ids),
    features.POOLING_MASK: lambda: mask,
    features.PERM_MASK: lambda: _no_permutation(input_ids),
    features.IS_REVERSED: lambda: _second_half(input_ids),
    features.MEMS: lambda: _no_memory(input_ids, symbolic[features.MEMS]),
  }
  return {name: defaults[name]() for name in missing} | inputs


def _no_permutation(input_ids):
  batch, length = ops.shape(input_ids)
  return ops.zeros((batch, length, length))


def _second_half(input_ids):
  batch = ops.shape(input_ids)[0]
  return ops.cast(ops.arange(batch) >= (batch + 1) // 2, "int32")


def _no_memory(input_ids, mems):
  _, num_layers, _, hidden_size = mems.shape
  # Made of the ids, as they may be symbolic: [B, layers, 0, H].
  nothing = ops.cast(input_ids[:, None, :0, None], "float32")
  nothing = ops.repeat(nothing, num_layers, axis=1)
  return ops.repeat(nothing, hidden_size, axis=3)
