"""Base class of servables: models with tokenizers, to save as SavedModels.

A servable tracks the variables of its model one by one and keeps the Keras
model itself in a closure. That alone loads everywhere: a tracked Keras 3 model
loads in `tf.saved_model.load` but not in TF Serving ("Could not find
variable"), and `model.export()` stores every weight twice.

Axes: B texts, L ids of the longest text of the batch, C classes or choices, H
hidden size, V vocabulary.
"""

import abc
import functools
from collections.abc import Callable
from typing import NamedTuple

import keras
import numpy as np
import tensorflow as tf

from keras_bert_impl import choices, features, options
from keras_bert_impl.checkpoints.descriptions import vocab_size
from keras_bert_impl.checkpoints.naming import mappings, names
from keras_bert_impl.layers.basics import kernels
from keras_bert_impl.serving import (
  input_checks,
  request_names,
  row_batches,
  stored_weights,
  text_row,
  tf_examples,
)
from keras_bert_impl.tokenizers.graph import assembly

TEXT = request_names.TEXT
TEXT_PAIR = request_names.TEXT_PAIR
SERVING_DEFAULT = request_names.SERVING_DEFAULT
TOKEN_IDS = request_names.TOKEN_IDS
TF_EXAMPLE = request_names.TF_EXAMPLE
IS_CUT = request_names.IS_CUT
CLASSIFY = request_names.CLASSIFY
REGRESS = request_names.REGRESS
NO_NUMBERS = request_names.NO_NUMBERS

_ID_NAMES = (features.INPUT_IDS, features.INPUT_MASK, features.SEGMENT_IDS)


class Signature(NamedTuple):
  """A signature and a request to it.

  Attributes:
    function: `tf.function` with the signature's inputs.
    example: {input: array}.
  """

  function: Callable
  example: dict


class _OnIds(tf.Module, abc.ABC):
  """Base class of `Servable`: what it computes of ids. Abstract.

  Attributes: as `Servable`.
  """

  id_names = _ID_NAMES
  ids_rank = 2
  has_pooler = False
  # Whether answers are made of the model's logits; else they are the answers.
  reads_logits = True
  # Inputs of `answer_rows` that are float32; others are int32.
  float_inputs = ()
  # {name: (function of rows, their axes)}: what stands in a file of its own
  # beside that of `answer_rows`, and is computed before.
  parts = {}

  def answer_ids(self, input_ids, input_mask, segment_ids):
    """Returns the model's outputs for ids that the client has tokenized.

    Args:
      input_ids: int32 [B, L].
      input_mask: int32 [B, L], 1 for a token, 0 for padding.
      segment_ids: int32 [B, L].

    Returns:
      {output of the model: float32 [B, ...]}.
    """
    ids = (input_ids, input_mask, segment_ids)
    return self.load_model()(dict(zip(_ID_NAMES, ids, strict=True)))

  @property
  def longest_row(self):
    """The most ids of a row, int; None for any number."""
    return input_checks.longest_input(self._model())

  @property
  def row_inputs(self):
    """Inputs of `answer_rows` and their axes, {name: tuple of str or int}.

    Segments are among them where the model tells them apart.
    """
    axes = ("batch", *["choices"] * (self.ids_rank - 2), "length")
    has_segments = self.config.num_ids[features.SEGMENT_IDS] > 1
    return dict.fromkeys(_ID_NAMES[: 2 + has_segments], axes)

  def answer_rows(self, rows):
    """Returns the model's outputs for rows of ids, in ops of numbers only.

    Args:
      rows: {name of `row_inputs`: int32, or float32 of `float_inputs`}.

    Returns:
      {output: float32 [B, ...]}.
    """
    segments = {features.SEGMENT_IDS: tf.zeros_like(rows[features.INPUT_IDS])}
    return self.load_model()(segments | rows)

  def held_weights(self):
    """Returns the weights of the model, [(variable, tensor of its value)]."""
    return [
      (weight, tf.convert_to_tensor(held))
      for weight, held in zip(
        self._model().weights, self.model_weights, strict=True
      )
    ]

  def load_model(self):
    """Returns the model with the weights held, a function of its inputs.

    Its outputs are float32. Logits that are no numbers are an error of the
    request, but in formats for clients, whose runtimes have none.
    """
    model, weights = self._model(), self.held_weights()
    pads_left = (
      self.has_pooler
      and model.config.pads_left
      and "pooled_output" in model.encoder.output
    )

    def call(inputs):
      inputs = assembly.to_left(inputs) if pads_left else inputs
      with keras.StatelessScope(weights):
        outputs = model(inputs, training=False)
      if not self.reads_logits or kernels.is_portable():
        return outputs
      return {
        name: tf.debugging.check_numerics(x, NO_NUMBERS)
        if name.endswith("logits")
        else x
        for name, x in outputs.items()
      }

    return call


class Servable(_OnIds):
  """A model with its weights and its tokenizer, ready to be saved. Abstract.

  A subclass says in `answer` what raw text is answered with and, if its inputs
  are not one text, in `inputs` and `example` what they are; signatures besides
  the common ones it adds in `definitions`. In `options` it names the arguments
  of its constructor that are fields of `servable_options.ServableOptions`: an
  export may be told them, and attributes of their names describe the servable;
  in `recorded` those that only the training can have recorded.

  Args:
    model: `EncoderModel` that has the weights, made under any strategy and
      dtype policy; it is copied.
    tokenizer: of `tokenizers.load`, any kind, of the model's vocabulary.
    max_seq_length: int, most ids of a text or pair, special ones included.
    labels: tuple of str, the classes in the order of the logits, or None.

  Attributes:
    head: str, what the SavedModel is for.
    inputs: {name: `tf.TensorSpec`} of raw text.
    example: {name: list of str}, inputs of a batch of one.
    options: tuple of str, names of its options.
    takes_ids: bool, whether there is a signature of ids; of the class.
    frames_texts: bool, whether rows have special tokens; of the class.
    id_names: tuple of str, the inputs of that; of the class.
    has_two_texts: bool, whether a row always has; of the class.
    finds_special_tokens: bool, whether those in a text are such; of the class.
    reads_prompts: bool, whether a prompt may stand before a text; of the class.
    has_pooler: bool, whether it answers with what the encoder's pooler reads;
      where that is the last place of a row, rows get their padding first.
    config: that of the model.
    tokenizer: as given.
    max_seq_length: as given.
    labels: as given.

  Raises:
    ValueError: model, tokenizer, max_seq_length and labels do not fit together,
      or inside `strategy.scope()`.
  """

  head = None
  inputs = {TEXT: tf.TensorSpec([None], tf.string, TEXT)}
  example = {TEXT: ["The cat sat on the mat."]}
  options = ()
  recorded = ()
  takes_ids = True
  frames_texts = True
  has_two_texts = False
  finds_special_tokens = False
  reads_prompts = False

  def __init__(self, model, tokenizer, max_seq_length, labels=None):
    super().__init__(name="servable")
    _check(model, tokenizer, max_seq_length, labels)
    # Functions, because attributes that are models would be tracked.
    self._trained_model = lambda: model
    self._model = self._copied("float32")
    self.config = model.config
    self.tokenizer = tokenizer
    self.max_seq_length = max_seq_length
    self.labels = labels and tuple(labels)
    self.set_dtypes()

  @classmethod
  def of_training(cls, recorded):
    """Returns {argument: value} that follow from what a training recorded.

    Args:
      recorded: {name: value}, as of `trained_models.TrainedModel`.
    """
    return {}

  @classmethod
  def reader(cls, recorded):
    """Returns how its model reads a text, as of `text_row.make`.

    Args:
      recorded: as of `of_training`.
    """
    if cls.reads_prompts:
      return text_row.prompt_reader(recorded)
    return text_row.read

  # Function of ({output: array of a row}, `text_row.TextRow`, list of the C
  # labels or None) to a list of `text_row.Prediction`: what the model says of
  # the row; None where it predicts nothing, for the reason in `unpredicted`.
  predictions = None
  unpredicted = "what this head predicts is not known"

  @abc.abstractmethod
  def answer(self, text):
    """Answers raw text, in graph ops.

    Args:
      text: string [B], UTF-8; further inputs by name, as `inputs` says.

    Returns:
      {output: [B, ...]}.
    """

  def definitions(self):
    """Returns {name: `Signature`} of all signatures, not traced yet."""
    on_text = self.on_text(self.answer)

    def answer_examples(examples):
      # Not by `answer`, which is large and would be traced once more.
      return on_text.function(**tf_examples.parse(examples, self.inputs))

    on_ids = _on_ids(self) if self.takes_ids else None
    return {
      SERVING_DEFAULT: on_text,
      **({TOKEN_IDS: on_ids} if on_ids else {}),
      TF_EXAMPLE: self.on_examples(answer_examples, "examples"),
    }

  @property
  def signatures(self):
    """{name: `tf.function`}."""
    return {name: s.function for name, s in self.definitions().items()}

  def describe(self):
    """Returns {name: JSON value} that describes it to people."""
    names = ("head", "labels", "max_seq_length", *self.options)
    described = {name: getattr(self, name) for name in names}
    return described | {"labels": self.labels and list(self.labels)}

  def set_dtypes(self, compute_dtype="float32", weights_dtype=None):
    """Sets in what dtype the model computes and its weights are stored.

    Args:
      compute_dtype: one of `choices.COMPUTE_DTYPES`.
      weights_dtype: one of `choices.WEIGHTS_DTYPES`; default: `compute_dtype`.

    Raises:
      ValueError: it is none of them.
    """
    weights_dtype = weights_dtype or compute_dtype
    options.check_choice("compute_dtype", compute_dtype, choices.COMPUTE_DTYPES)
    options.check_choice("weights_dtype", weights_dtype, choices.WEIGHTS_DTYPES)
    if compute_dtype != self._model().compute_dtype:
      self._model = self._copied(compute_dtype)
    self.dtypes = {
      "compute_dtype": compute_dtype,
      "weights_dtype": weights_dtype,
    }
    self.model_weights = stored_weights.of_weights(
      self._model().weights, weights_dtype
    )

  def outputs(self, rows, *names, activation=tf.identity):
    """Returns outputs of the model for rows, those of like length together.

    Args:
      rows: {name: int32 [R, L]}, the inputs of the model.
      *names: str, the outputs.
      activation: function of an output, which is applied to each row.

    Returns:
      [float32 [R, ...]] in the order of the names; 0 beyond a row.
    """
    model, specs = self.load_model(), self._model().output

    def run(rows):
      outputs = model(rows)
      return [activation(outputs[name]) for name in names]

    return row_batches.map_rows(
      run,
      rows,
      [tf.TensorSpec(specs[name].shape[1:], tf.float32) for name in names],
    )

  def encode(self, text, text_pair=None):
    """Returns the inputs of the model of texts [B], as `assemble`.

    Ragged and string ops of the core are used throughout, because TF Serving
    does not link all of tensorflow-text (`RoundRobinTrimmer` is missing from
    2.12 to 2.19).
    """
    return self.assemble(
      self.tokenizer.tokenize(text),
      None if text_pair is None else self.tokenizer.tokenize(text_pair),
    )

  def assemble(self, pieces, pair_pieces=None):
    """Returns the inputs of the model of pieces.

    Args:
      pieces: int32 RaggedTensor [B, (pieces)].
      pair_pieces: as pieces, or None.

    Returns:
      {name: int32 [B, L]}; and bool [B], whether pieces were left out because
      there are more than max_seq_length has room for.
    """
    texts = [pieces] if pair_pieces is None else [pieces, pair_pieces]
    num_tokens = sum(text.row_lengths() for text in texts)
    room = self.max_seq_length - self.tokenizer.num_special_tokens(len(texts))
    inputs = self.tokenizer.assemble(pieces, pair_pieces, self.max_seq_length)
    return as_inputs(inputs), num_tokens > room

  def on_text(self, function):
    """Returns the `Signature` of a function of raw text."""
    example = {
      name: np.array(texts, object) for name, texts in self.example.items()
    }
    return make_signature(function, self.inputs, example)

  def on_examples(self, function, name):
    """Returns the `Signature` of a function of serialized tf.Example.

    Args:
      function: of string [B].
      name: str, what its argument is called.
    """
    return make_signature(
      function,
      {name: tf.TensorSpec([None], tf.string, name)},
      {name: np.array([tf_examples.serialize(self.example)], object)},
    )

  def _copied(self, dtype):
    """Returns a function that returns the model to serve, in `dtype`."""
    model = self._trained_model()
    return _plain_copy(model, self._build_model, dtype, self.head)

  def _build_model(self, model, dtype):
    """Returns a model that computes in `dtype`, for the weights of `model`."""
    return type(model).from_config({**model.get_config(), "dtype": dtype})


def check_no_scope():
  """Raises ValueError inside `strategy.scope()`."""
  if tf.distribute.has_strategy():
    raise ValueError(
      "A model cannot be exported inside strategy.scope(): call export outside."
    )


def take_pairs(servable):
  """Adds a second text to the inputs and the example of a servable."""
  servable.inputs = servable.inputs | {
    TEXT_PAIR: tf.TensorSpec([None], tf.string, TEXT_PAIR)
  }
  servable.example = servable.example | {TEXT_PAIR: ["Where did the cat sit?"]}


def as_inputs(inputs):
  """Returns the model's inputs, {name: int32 [B, L]}, with at least one column.

  An empty batch would have none, and a model needs a first token.
  """
  length = tf.shape(inputs[features.INPUT_IDS])[1]
  padding = [[0, 0], [0, tf.maximum(1 - length, 0)]]
  return {name: tf.pad(values, padding) for name, values in inputs.items()}


def make_signature(function, specs, example, *checks):
  """Returns the `Signature` of a function, behind checks of its inputs.

  Args:
    function: of tensors by name.
    specs: {input: `tf.TensorSpec`}.
    example: {input: array}.
    *checks: as `find_faults` of `input_checks.check`.
  """
  return Signature(
    tf.function(
      input_checks.check(function, specs, *checks),
      input_signature=list(specs.values()),
      autograph=False,
    ),
    example,
  )


def _check(model, tokenizer, max_seq_length, labels):
  vocabulary = tokenizer.vocabulary
  vocab_size.check(model.config, vocabulary.size, vocabulary.origin)
  longest = input_checks.longest_input(model)
  if longest is not None and max_seq_length > longest:
    raise ValueError(
      f"max_seq_length ({max_seq_length}) must be at most the model's "
      f"({longest})."
    )
  if max_seq_length is not None and max_seq_length < 3:
    raise ValueError(
      f"max_seq_length ({max_seq_length}) must be at least 3: [CLS], one token "
      "and [SEP]."
    )
  if labels is None:
    return
  for label in labels:
    if not isinstance(label, str):
      raise ValueError(f"labels has {label!r}: each must be a str.")
  num_classes = model.output["logits"].shape[-1]
  if len(labels) != num_classes:
    raise ValueError(
      f"labels ({', '.join(labels)}) must be {num_classes}, one for each "
      "logit of the model."
    )


def _on_ids(servable):
  """Returns the `Signature` of ids."""
  names, role_ids = servable.id_names, servable.tokenizer.vocabulary.role_ids
  ids = [role_ids.get(role, 0) for role in ("cls", "unk", "sep")]
  ids = np.array(ids, np.int32).reshape((*[1] * (servable.ids_rank - 1), 3))
  example = (ids, np.ones_like(ids), np.zeros_like(ids))
  shape = [None] * servable.ids_rank
  return make_signature(
    servable.answer_ids,
    {name: tf.TensorSpec(shape, tf.int32, name) for name in names},
    dict(zip(names, example, strict=False)),
    functools.partial(
      input_checks.check_ids, servable.config, servable.longest_row
    ),
  )


def _plain_copy(model, build, dtype, head):
  """Returns a function that returns a copy of a model, for one device.

  The variables of a model made under a strategy are sets of replicas, which
  no SavedModel holds; and a policy such as mixed_bfloat16 is for training.
  """
  if not isinstance(model, keras.Model):
    return lambda: model
  check_no_scope()
  copy = build(model, dtype)
  stored = names.completed(
    mappings.Arrays({weight.path: weight for weight in model.weights})
  )
  missing = [w.path for w in copy.weights if w.path not in stored]
  if missing:
    raise ValueError(
      f"The model must have the weights {', '.join(missing)} to be exported as "
      f"{head}: choose another head or model."
    )
  for weight in copy.weights:
    weight.assign(stored[weight.path])
  return lambda: copy
