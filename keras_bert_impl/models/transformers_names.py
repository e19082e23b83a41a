"""Models with the names of `transformers`, for code that was written for it."""

from collections.abc import Mapping

import keras
import optree

from keras_bert_impl import features
from keras_bert_impl.models.encoders import encoder_model

# {name in `transformers`: ours}.
INPUTS = {
  "input_ids": features.INPUT_IDS,
  "attention_mask": features.INPUT_MASK,
  "token_type_ids": features.SEGMENT_IDS,
}
# {our output: name in `transformers`}; others are called alike.
_OUTPUTS = {
  "sequence_output": "last_hidden_state",
  "pooled_output": "pooler_output",
  "token_logits": "logits",
}


class Outputs(dict):
  """Outputs by name: as keys, as attributes and, in order, by number."""

  def __getattr__(self, name):
    try:
      return self[name]
    except KeyError:
      raise AttributeError(
        f"There is no output {name!r}: choose from {', '.join(self)}."
      ) from None

  def __getitem__(self, key):
    if isinstance(key, int | slice):
      return self.to_tuple()[key]
    return super().__getitem__(key)

  def to_tuple(self):
    """Returns the outputs as a tuple."""
    return tuple(self.values())


# Keras takes a subclass of dict for a leaf otherwise.
optree.register_pytree_node(
  Outputs,
  lambda outputs: ([*outputs.values()], tuple(outputs), tuple(outputs)),
  lambda names, values: Outputs(zip(names, values, strict=True)),
  namespace="keras",
)


@keras.saving.register_keras_serializable(package="keras_bert_impl")
class TransformersModel(keras.Model):
  """A model with the inputs and outputs of `transformers`.

      model = kb.from_checkpoint("klue/bert-base", names="transformers")
      outputs = model(input_ids=ids, attention_mask=mask)
      outputs.last_hidden_state  # or outputs["last_hidden_state"], outputs[0]

  Inputs are `input_ids`, `attention_mask` and `token_type_ids`, int [B, L], as
  arguments or in a dict; all but the first may be left out. Outputs are
  `last_hidden_state` [B, L, H] and `pooler_output` [B, H] of an encoder; of
  heads `logits`, or `start_logits` and `end_logits`, or `prediction_logits`
  and `seq_relationship_logits`.

  Args:
    model: model of `from_checkpoint`, whose weights it shares.
    name: str.

  Attributes:
    model: as given.
    config: `EncoderConfig`.
  """

  def __init__(self, model, name=None):
    super().__init__(name=name or model.name)
    self.model = model
    self.config = model.config
    self._with_states = _WithStates(model)
    # `compile` takes losses by these names.
    self.output_names = [*rename_outputs(model.output, self.config)]

  def __call__(
    self,
    inputs=None,
    attention_mask=None,
    token_type_ids=None,
    *,
    input_ids=None,
    output_hidden_states=False,
    output_attentions=False,
    return_dict=True,
    **kwargs,
  ):
    """Computes the outputs.

    Args:
      inputs: dict of the inputs, or `input_ids`.
      attention_mask: int [B, L], 1 for a token, 0 for padding.
      token_type_ids: int [B, L].
      input_ids: int [B, L].
      output_hidden_states: bool, whether to add `hidden_states`, a tuple of the
        outputs [B, L, H] of the embeddings and of each layer.
      output_attentions: bool, whether to add `attentions`, a tuple of the
        probabilities [B, N, L, L] of each layer.
      return_dict: bool, whether to return `Outputs`, not a tuple.
      **kwargs: of `keras.Model`, such as `training`.

    Raises:
      ValueError: there are no ids, or inner tensors are asked of a model whose
        encoder has inputs of its own.
    """
    if not isinstance(inputs, Mapping):
      inputs = {"input_ids": inputs}
    named = {
      "input_ids": input_ids,
      "attention_mask": attention_mask,
      "token_type_ids": token_type_ids,
    }
    given = _present(inputs) | _present(named)
    if "input_ids" not in given:
      raise ValueError("input_ids must be given.")
    outputs = super().__call__(
      given,
      states=(bool(output_hidden_states), bool(output_attentions)),
      **kwargs,
    )
    outputs = Outputs(outputs)
    return outputs if return_dict else outputs.to_tuple()

  def call(self, inputs, states=(False, False), training=None):
    """Computes the outputs; see `__call__`."""
    renamed = {INPUTS.get(name, name): x for name, x in inputs.items()}
    found = self._with_states.get(states)(renamed, training=training)
    return rename_outputs(found, self.config)

  def compute_loss(self, x=None, y=None, y_pred=None, *args, **kwargs):
    """Computes the loss as `keras.Model`; see `_as_targets`."""
    return super().compute_loss(x, y, _as_targets(y, y_pred), *args, **kwargs)

  def compute_metrics(self, x, y, y_pred, sample_weight=None):
    """Computes the metrics as `keras.Model`; see `_as_targets`."""
    y_pred = _as_targets(y, y_pred)
    return super().compute_metrics(x, y, y_pred, sample_weight)

  def get_config(self):
    """Returns the arguments of the constructor, serialized."""
    return {
      "model": keras.saving.serialize_keras_object(self.model),
      "name": self.name,
    }

  @classmethod
  def from_config(cls, config, custom_objects=None):
    """Returns the model of a `get_config`."""
    model = keras.saving.deserialize_keras_object(
      config["model"], custom_objects
    )
    return cls(model, config["name"])


def rename_outputs(outputs, config):
  """Returns outputs of a model under the names of `transformers`.

  Args:
    outputs: {name: output}.
    config: `EncoderConfig` of the model.
  """
  names = _OUTPUTS
  if "sentence_logits" in outputs:
    names = names | {
      "token_logits": "prediction_logits",
      "sentence_logits": config.family.sentence_logits,
    }
  return {names.get(name, name): x for name, x in outputs.items()}


class _WithStates:
  """A model with some of its inner tensors as outputs; made once for each.

  Keras tracks the models in attributes of models, but not in this.
  """

  def __init__(self, model):
    self._model = model
    self._made = {(False, False): model}

  def get(self, states):
    """Returns the model; `states` is (bool, bool), which of the two."""
    if states not in self._made:
      encoder = getattr(self._model, "encoder", self._model)
      if encoder.input.keys() != self._model.input.keys() or any(
        encoder.input[name] is not x for name, x in self._model.input.items()
      ):
        raise ValueError(
          "The inner tensors of this model's encoder belong to inputs of its"
          " own: call model.model.encoder."
        )
      outputs = dict(self._model.output)
      if states[0]:
        outputs["hidden_states"] = tuple(encoder.hidden_states)
      if states[1]:
        outputs["attentions"] = tuple(encoder.attention_probs)
      self._made[states] = encoder_model.Model(self._model.input, outputs)
    return self._made[states]


def _as_targets(targets, outputs):
  """Returns outputs as Keras compares them: a plain dict, or the only one."""
  if len(outputs) == 1 and not isinstance(targets, dict):
    return outputs[0]
  return dict(outputs)


def _present(inputs):
  return {name: value for name, value in inputs.items() if value is not None}
