"""Servable of any Keras model on an encoder's inputs: its outputs, by name."""

import dataclasses

import tensorflow as tf
from keras import tree

from keras_bert_impl import choices, features, layers
from keras_bert_impl import options as options_lib
from keras_bert_impl.layers.basics import layer as layer_lib
from keras_bert_impl.models.encoders import encoder_model
from keras_bert_impl.serving import servables, stored_weights
from keras_bert_impl.tokenizers.graph import assembly


@dataclasses.dataclass(frozen=True)
class _Limits:
  """Limits of an encoder's inputs, under their names in a configuration."""

  vocab_size: int
  type_vocab_size: int
  longest_input: int | None
  max_sequence_length: int = 512

  @property
  def num_ids(self):
    """How many ids there are in each input, {name: int}."""
    return {
      features.INPUT_IDS: self.vocab_size,
      features.SEGMENT_IDS: self.type_vocab_size,
    }


class _ByName:
  """A Keras model whose inputs and outputs are dicts.

  Args:
    model: functional `keras.Model`.

  Attributes:
    config: `_Limits`.
    weights: those of the model.
    output: {name: symbolic tensor}.
    compute_dtype: str, the dtype that the encoder computes in.

  Raises:
    ValueError: it has other inputs than an encoder, or outputs without names.
  """

  def __init__(self, model):
    self._model = model
    self._check_inputs()
    embeddings = _embeddings(model)
    self.config = _limits(embeddings)
    self.weights = model.weights
    self.output = _named(model.output, model)
    self.compute_dtype = embeddings.compute_dtype

  def __call__(self, rows, training=False):
    symbolic = self._model.input
    if isinstance(symbolic, dict):
      rows = {name: rows[name] for name in symbolic if name in rows}
    else:
      rows = tree.map_structure(lambda x: rows[x.name], symbolic)
    outputs = _named(self._model(rows, training=training), self._model)
    return {name: _as_served(x) for name, x in outputs.items()}

  def _check_inputs(self):
    """Raises ValueError unless the inputs are those of an encoder."""
    symbolic = getattr(self._model, "input", None)
    found = {x.name: x.shape for x in tree.flatten(symbolic) if x is not None}
    known = set(features.ENCODER_INPUTS)
    if isinstance(self._model, encoder_model.Model):
      known |= encoder_model.OPTIONAL
    ranks = {len(found[name]) for name in found.keys() & known}
    others = found.keys() - known
    if features.INPUT_IDS not in found or others or ranks != {2}:
      shown = ", ".join(f"{name} {found[name]}" for name in sorted(found))
      raise ValueError(
        f"The inputs of the model ({shown or 'none: it is not functional'})"
        f" must be {', '.join(features.ENCODER_INPUTS)} [B, L] or some of them:"
        " make it as kb.Model(encoder.input, outputs)."
      )


class ModelServable(servables.Servable):
  """Answers texts with the outputs of any Keras model on `encoder.input`.

    stars = keras.layers.Dense(5, name="stars")(encoder.hidden_states[-1][:, 0])
    servable = ModelServable(kb.Model(encoder.input, stars), tokenizer)

  They are what `model(tokenizer(text))` returns: one in a dict has its name
  there, another that of its layer.

  Args:
    model: functional `keras.Model` of `input_ids` and others of an encoder's
      inputs, with its embeddings inside; not copied, and of any dtype policy.
    tokenizer: as `Servable`.
    max_seq_length: as `Servable`; None: as many as the encoder was made for,
      or 512 where it does not say.
    text_pairs: bool, whether there are two texts, the second as `text_pair`.

  Raises:
    ValueError: as `Servable`; other inputs, no embeddings, or outputs that
      have no different names.
  """

  head = "model"
  options = ("text_pairs",)
  reads_logits = False

  def __init__(self, model, tokenizer, max_seq_length=None, text_pairs=False):
    model = _ByName(model)
    length = max_seq_length or model.config.max_sequence_length
    super().__init__(model, tokenizer, length)
    self.text_pairs = text_pairs
    if text_pairs:
      servables.take_pairs(self)

  def set_dtypes(self, compute_dtype="float32", weights_dtype=None):
    """Sets in what dtype the weights are stored.

    Raises:
      ValueError: as `Servable`, or the model computes in another dtype.
    """
    own = self._model().compute_dtype
    if compute_dtype not in ("float32", own):
      raise ValueError(
        f"compute_dtype ({compute_dtype!r}) must be that of the model ({own}):"
        " make the model with another dtype."
      )
    weights_dtype = weights_dtype or "float32"
    options_lib.check_choice(
      "weights_dtype", weights_dtype, choices.WEIGHTS_DTYPES
    )
    # Variables of a strategy are sets of replicas.
    self.model_weights = stored_weights.of_weights(
      self._model().weights, weights_dtype, is_shared=False
    )
    self.dtypes = {"compute_dtype": own, "weights_dtype": weights_dtype}

  def answer(self, text, text_pair=None):
    """Answers texts [B] or pairs of texts.

    Returns:
      {output of the model: [B, ...]}; is_cut bool [B], whether a text has more
      tokens than max_seq_length has room for.
    """
    rows, is_cut = self.encode(text, text_pair)
    return self.load_model()(rows) | {servables.IS_CUT: is_cut}

  def load_model(self):
    """Returns the model with the weights held, a function of its inputs."""
    call = super().load_model()
    if not self.tokenizer.framing.cls_at_end:
      return call
    return lambda rows: call(assembly.to_left(rows))

  def _copied(self, dtype):
    """Returns a function that returns the model itself."""
    del dtype
    servables.check_no_scope()
    return self._trained_model


def _embeddings(model):
  """Returns the layer of embeddings inside a model."""
  for layer in layer_lib.inner_layers(model):
    if isinstance(layer, layers.Embeddings | layers.TokenEmbeddings):
      return layer
  raise ValueError(
    f"The model {model.name!r} has no embeddings of an encoder of this library:"
    " make it as kb.Model(encoder.input, outputs)."
  )


def _limits(layer):
  """Returns the `_Limits` of a layer of embeddings."""
  sizes = (layer.vocab_size, layer.type_vocab_size)
  if isinstance(layer, layers.TokenEmbeddings):
    return _Limits(*sizes, None)
  length = layer.max_position_embeddings - layer.position_offset
  has_table = layer.position_embedding_type != "none"
  return _Limits(*sizes, length if has_table else None, length)


def _named(outputs, model):
  """Returns the outputs of a model as a dict.

  Raises:
    ValueError: two have one name, or a name that is taken.
  """
  if not isinstance(outputs, dict):
    names, outputs = model.output_names, tree.flatten(outputs)
    if len(set(names)) < len(outputs):
      raise ValueError(
        f"The outputs of the model ({', '.join(names)}) must have different"
        " names: make it with a dict, kb.Model(encoder.input, {name: output})."
      )
    outputs = dict(zip(names, outputs, strict=True))
  if servables.IS_CUT in outputs:
    raise ValueError(
      f"An output of the model is named {servables.IS_CUT!r}, which says here"
      " whether a text was cut: give it another name."
    )
  return outputs


def _as_served(x):
  """Returns an output; floats as float32, which every client reads."""
  x = tf.convert_to_tensor(x)
  return tf.cast(x, tf.float32) if x.dtype.is_floating else x
