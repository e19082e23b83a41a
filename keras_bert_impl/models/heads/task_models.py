"""The encoder with one head: the models for fine-tuning and serving.

Each is called with the encoder's inputs (see `TransformerEncoder`) and returns
a dict of float32 logits. Axes: C classes, and those in `layers/__init__.py`.
"""

import warnings

import keras
from keras import ops

from keras_bert_impl import features, heads, layers
from keras_bert_impl.checkpoints import assignment, reading
from keras_bert_impl.checkpoints.naming import mappings, names
from keras_bert_impl.models.encoders import encoder_choice, encoder_model
from keras_bert_impl.models.heads import feature_models, mask_decoding


class HeadModel(encoder_model.EncoderModel):
  """Base class of models with an encoder and heads.

  A subclass wires itself on the encoder's own symbolic tensors, not on a call
  of it, so that `encoder.hidden_states` are reachable from its inputs.

  Attributes:
    encoder: the `TransformerEncoder`.
  """

  def __init__(self, encoder, inputs, outputs, arguments):
    super().__init__(
      encoder.config, encoder.dtype_policy, inputs, outputs, arguments
    )
    self.encoder = encoder

  @classmethod
  def from_checkpoint(cls, path, dtype=None, **arguments):
    """Returns a model with the weights of a checkpoint.

        model = kb.SequenceClassifier.from_checkpoint(path, num_classes=2)

    Args:
      path: str, as of `kb.from_checkpoint`.
      dtype: as `TransformerEncoder`.
      **arguments: of the constructor, besides `config`; without any, those of
        the head that is stored.

    Raises:
      FileNotFoundError: there is no such checkpoint.
      ValueError: it is damaged, or the encoder's weights do not fit. A head
        that is not stored, or has another shape, starts from fresh weights,
        which a warning says.
    """
    checkpoint = reading.open_checkpoint(path)
    described, shapes = checkpoint.described(), checkpoint.tensors.shapes
    if arguments:
      model = cls(described.config, dtype=dtype, **arguments)
    else:
      model = _stored(cls, described, shapes, dtype, checkpoint.path)
    _fill(model, checkpoint.tensors, checkpoint.path)
    return model

  @classmethod
  def from_encoder(cls, encoder, **arguments):
    """Returns a model with a copy of the weights of an encoder.

    Args:
      encoder: `TransformerEncoder`, or another of `kb.from_checkpoint`.
      **arguments: of the constructor, besides `config` and `dtype`.

    Raises:
      ValueError: it is no encoder.
    """
    if not isinstance(encoder, encoder_model.EncoderModel):
      raise ValueError(
        f"encoder ({type(encoder).__name__}) must be an encoder of"
        " kb.from_checkpoint or kb.make_encoder."
      )
    model = cls(encoder.config, dtype=encoder.dtype_policy, **arguments)
    weights = {weight.path: weight for weight in encoder.weights}
    _fill(model, mappings.Arrays(weights), encoder.name)
    return model


def _stored(model_class, described, shapes, dtype, path):
  """Returns the model of the head that a checkpoint has.

  Raises:
    ValueError: it has none of this class.
  """
  try:
    return model_class.of_checkpoint(described, shapes, dtype)
  except KeyError:
    raise ValueError(
      f"{path} has no head of {model_class.__name__}: give num_classes, for a"
      " new one."
    ) from None


def _fill(model, tensors, origin):
  """Assigns the weights that there are; warns of a head's that keep theirs."""
  result = assignment.assign(
    {weight.path: weight for weight in model.weights},
    tensors,
    origin,
    required_prefixes=names.ENCODER_PREFIXES,
  )
  if result.new:
    warnings.warn(f"Weights from {origin}: {result}.", stacklevel=3)


@keras.saving.register_keras_serializable(package="keras_bert_impl")
class SequenceClassifier(HeadModel):
  """Classifier or regressor of sequences: `logits` [B, C], from the pooler.

  Of several labels at once, each logit's sigmoid is the probability of a label.

  Args:
    config: `configs.EncoderConfig`.
    num_classes: int, C; 1 for regression.
    dropout_rate: float in [0, 1), before the head; None means
      `config.dropout_rate`.
    bilstm_width: int, units of a BiLSTM whose state at the first token replaces
      the pooled output; None for no BiLSTM. The paper uses it on a
      left-to-right encoder (section 5.1).
    dtype: as `TransformerEncoder`.
    name: str, not part of any variable's path.

  Source: Devlin et al. 2019, figure 4 (a, b); google-research/bert,
  run_classifier.py.
  """

  heads = (heads.CLASSIFICATION, heads.REGRESSION, heads.MULTI_LABEL)

  def __init__(
    self,
    config,
    num_classes,
    dropout_rate=None,
    bilstm_width=None,
    dtype=None,
    name="sequence_classifier",
  ):
    arguments = dict(locals())
    encoder = encoder_choice.make(
      config, dtype, use_pooler=bilstm_width is None
    )
    if bilstm_width is None:
      pooled = _transform(encoder, encoder.output_at()["pooled_output"])
    else:
      pooled = _last_hidden(encoder, bilstm_width)[:, 0]
    pooled = _dropout(encoder, pooled, dropout_rate)
    outputs = {"logits": _classify(encoder, pooled, num_classes)}
    super().__init__(encoder, encoder.input, outputs, arguments)

  @classmethod
  def of_checkpoint(cls, description, shapes, dtype=None):
    """Returns a model with as many classes as the stored classifier."""
    num_classes = shapes[names.CLASSIFIER][0]
    return cls(description.config, num_classes, dtype=dtype)


@keras.saving.register_keras_serializable(package="keras_bert_impl")
class MultiTaskClassifier(HeadModel):
  """Heads of several tasks on one encoder: `NAME/logits` of each.

  They are [B, C], of the pooler or, of `token_tasks`, [B, L, C].

  Args:
    config: `configs.EncoderConfig`.
    num_classes: {name: int C}, one head for each; 1 for regression.
    token_tasks: names of those that classify each token; None: none does.
    dropout_rate: as `SequenceClassifier`.
    dtype: as `TransformerEncoder`.
    name: str, not part of any variable's path.

  Source: Liu et al. 2019 (MT-DNN), section 3.
  """

  def __init__(
    self,
    config,
    num_classes,
    token_tasks=None,
    dropout_rate=None,
    dtype=None,
    name="multi_task_classifier",
  ):
    arguments = dict(locals())
    token_tasks = token_tasks or ()
    has_pooler = len(token_tasks) < len(num_classes)
    encoder = encoder_choice.make(config, dtype, use_pooler=has_pooler)
    # The same layers for all heads, as their weights have the same names.
    transform, drop = _transforms(encoder), _drops(encoder, dropout_rate)
    tokens = drop(transform(encoder.hidden_states[-1])) if token_tasks else None
    if has_pooler:
      output = encoder.output if token_tasks else encoder.output_at()
      pooled = drop(transform(output["pooled_output"]))
    outputs = {
      f"{task}/logits": _head(encoder, size, f"{task}_classifier")(
        tokens if task in token_tasks else pooled
      )
      for task, size in num_classes.items()
    }
    super().__init__(encoder, encoder.input, outputs, arguments)


@keras.saving.register_keras_serializable(package="keras_bert_impl")
class TokenClassifier(HeadModel):
  """Token classifier: `logits` [B, L, C].

  Args:
    config: `configs.EncoderConfig`.
    num_classes: int, C.
    dropout_rate: as `SequenceClassifier`.
    use_crf: bool, whether tags are chosen together: there is an output
      `transitions` [B, C + 2, C] too, with which `layers.crf` finds them.
    dtype: as `TransformerEncoder`.
    name: str, not part of any variable's path.

  Source: Devlin et al. 2019, figure 4 (d).
  """

  heads = (heads.TOKEN_CLASSIFICATION,)

  def __init__(
    self,
    config,
    num_classes,
    dropout_rate=None,
    use_crf=False,
    dtype=None,
    name="token_classifier",
  ):
    arguments = dict(locals())
    encoder = encoder_choice.make(config, dtype, use_pooler=False)
    hidden = _transform(encoder, encoder.hidden_states[-1])
    hidden = _dropout(encoder, hidden, dropout_rate)
    logits = _classify(encoder, hidden, num_classes)
    outputs = feature_models.outputs_of_tags(logits, use_crf)
    super().__init__(encoder, encoder.input, outputs, arguments)

  @classmethod
  def of_checkpoint(cls, description, shapes, dtype=None):
    """Returns a model with the classes and the field of the checkpoint."""
    num_classes, use_crf = shapes[names.CLASSIFIER][0], names.CRF in shapes
    return cls(description.config, num_classes, use_crf=use_crf, dtype=dtype)


@keras.saving.register_keras_serializable(package="keras_bert_impl")
class QuestionAnswering(HeadModel):
  """Question answering: `start_logits` and `end_logits` of the answer, [B, L].

  Args:
    config: `configs.EncoderConfig`.
    bilstm_width: int, width of a BiLSTM between encoder and head; None for
      none.
    dtype: as `TransformerEncoder`.
    name: str, not part of any variable's path.

  Source: Devlin et al. 2019, section 4.2; google-research/bert, run_squad.py.
  """

  heads = (heads.QUESTION_ANSWERING,)

  def __init__(
    self, config, bilstm_width=None, dtype=None, name="question_answering"
  ):
    arguments = dict(locals())
    encoder = encoder_choice.make(config, dtype, use_pooler=False)
    hidden = _last_hidden(encoder, bilstm_width)
    if bilstm_width is None:
      hidden = _transform(encoder, hidden)
    with keras.name_scope("cls"):
      logits = _head(encoder, 2, "squad")(hidden)
    outputs = {"start_logits": logits[..., 0], "end_logits": logits[..., 1]}
    super().__init__(encoder, encoder.input, outputs, arguments)


@keras.saving.register_keras_serializable(package="keras_bert_impl")
class MultipleChoice(HeadModel):
  """Multiple choice: `logits` [B, choices].

  Its inputs are the encoder's with an axis more, [B, choices, L]: one sequence
  for each choice, any number of them. `encoder.hidden_states` belong to the
  encoder's own inputs, [B * choices, L].

  Args:
    config: `configs.EncoderConfig`.
    dropout_rate: as `SequenceClassifier`.
    dtype: as `TransformerEncoder`.
    name: str, not part of any variable's path.

  Source: Devlin et al. 2019, section 4.4.
  """

  heads = (heads.MULTIPLE_CHOICE,)

  def __init__(
    self, config, dropout_rate=None, dtype=None, name="multiple_choice"
  ):
    arguments = dict(locals())
    encoder = encoder_choice.make(config, dtype, use_pooler=True)
    inputs = {
      key: keras.Input((None, None), dtype="int32", name=key)
      for key in encoder.input
    }
    rows = {key: _MergeChoices()(value) for key, value in inputs.items()}
    pooled = encoder(rows)["pooled_output"]  # [B * choices, H]
    pooled = _transform(encoder, pooled)
    logits = _classify(encoder, _dropout(encoder, pooled, dropout_rate), 1)
    logits = _SplitChoices(dtype="float32")(logits, inputs[features.INPUT_IDS])
    super().__init__(encoder, inputs, {"logits": logits}, arguments)


class _MergeChoices(keras.layers.Layer):
  """[B, choices, L] -> [B * choices, L]."""

  def call(self, x):
    batch, choices, length = ops.shape(x)
    return ops.reshape(x, (batch * choices, length))


class _SplitChoices(keras.layers.Layer):
  """[B * choices, 1] -> [B, choices] of `inputs` [B, choices, L]."""

  def call(self, logits, inputs):
    return ops.reshape(logits, ops.shape(inputs)[:2])

  def compute_output_spec(self, logits, inputs):
    return keras.KerasTensor(inputs.shape[:2], logits.dtype)


@keras.saving.register_keras_serializable(package="keras_bert_impl")
class ReplacedTokenDetector(HeadModel):
  """ELECTRA's discriminator: `logits` [B, L], above 0 for replaced tokens.

  Args:
    config: `configs.EncoderConfig`.
    dtype: as `TransformerEncoder`.
    name: str, not part of any variable's path.
    use_sequence_ids: bool, as `TransformerEncoder`.
    embeddings: as `TransformerEncoder`.

  Source: Clark et al. 2020, section 2.
  """

  heads = (heads.REPLACED_TOKENS,)

  def __init__(
    self,
    config,
    dtype=None,
    name="replaced_token_detector",
    use_sequence_ids=False,
    embeddings=None,
  ):
    arguments = dict(locals())
    options = {"use_sequence_ids": use_sequence_ids}
    if embeddings is not None:
      options["embeddings"] = embeddings
    encoder = encoder_choice.make(config, dtype, use_pooler=False, **options)
    head = layers.DiscriminatorHead(
      config.block_options["activation"],
      config.initializer_range,
      dtype=encoder.dtype_policy,
      name="discriminator_predictions",
    )
    outputs = {"logits": head(encoder.hidden_states[-1])}
    super().__init__(encoder, encoder.input, outputs, arguments)


@keras.saving.register_keras_serializable(package="keras_bert_impl")
class MaskedLanguageModel(HeadModel):
  """Masked language model at every position: `token_logits` [B, L, V].

  The weights are those of `PretrainingModel`, which scores masked positions
  only. With a sentence head there are `sentence_logits` [B, 2] too.

  Args:
    config: `configs.EncoderConfig`.
    use_sentence_head: bool, whether there is a head for the next sentence, or
      for the order of two.
    dtype: as `TransformerEncoder`.
    name: str, not part of any variable's path.
    use_mask_decoder: bool, as `PretrainingModel`.

  Attributes:
    use_mask_decoder: as given.

  Source: Devlin et al. 2019, section 3.1.
  """

  heads = (heads.FILL_MASK, heads.PRETRAINING)
  fills_all_masks = True

  def __init__(
    self,
    config,
    use_sentence_head=False,
    dtype=None,
    name="masked_language_model",
    use_mask_decoder=False,
  ):
    arguments = dict(locals())
    encoder = encoder_choice.make(config, dtype, use_pooler=use_sentence_head)
    logits = token_logits(encoder, use_mask_decoder=use_mask_decoder)
    outputs = {"token_logits": logits}
    if use_sentence_head:
      pooled = encoder.output["pooled_output"]
      outputs["sentence_logits"] = sentence_logits(encoder, pooled)
    super().__init__(encoder, encoder.input, outputs, arguments)
    self.use_mask_decoder = use_mask_decoder

  @classmethod
  def of_checkpoint(cls, description, shapes, dtype=None):
    """Returns a model with the sentence head and decoder of the checkpoint."""
    return cls(
      description.config,
      description.head == heads.PRETRAINING,
      dtype,
      use_mask_decoder=has_mask_decoder(description.config, shapes),
    )


def has_mask_decoder(config, shapes):
  """Whether a checkpoint's masked-LM head has a decoder, as DeBERTa's.

  A table of positions that the input does not use is that of the decoder.

  Args:
    config: `configs.EncoderConfig`.
    shapes: {name: tuple of int} of the checkpoint's tensors.
  """
  return names.POSITION_EMBEDDINGS in shapes and config.has_no_positions


def masked_logits(encoder, positions, use_mask_decoder=False):
  """Returns logits of masked tokens, and the pooled output for other heads.

  Nothing else of the last block is computed, where it can do without.

  Args:
    encoder: `TransformerEncoder`.
    positions: int [B, P].
    use_mask_decoder: bool, as `PretrainingModel`.

  Returns:
    Tuple of logits [B, P, V] of a new head, as `token_logits`, and of
    `pooled_output`, float [B, H], or None.
  """
  if use_mask_decoder:
    found = encoder.output
    logits = token_logits(encoder, positions, use_mask_decoder)
  else:
    found = encoder.output_at(positions)
    logits = token_scorer(encoder, hidden=found["sequence_output"])()
  return logits, found.get("pooled_output")


def token_logits(encoder, positions=None, use_mask_decoder=False):
  """Returns logits [B, P, V] of a new masked-LM head, at cls/predictions.

  Args:
    encoder: `TransformerEncoder`.
    positions: int [B, P]; None for every position, [B, L].
    use_mask_decoder: bool, as `PretrainingModel`.
  """
  return token_scorer(encoder, use_mask_decoder)(positions)


def token_scorer(encoder, use_mask_decoder=False, hidden=None):
  """Returns a function of positions to logits, as `token_logits`, of one head.

  Args:
    encoder: `TransformerEncoder`.
    use_mask_decoder: bool, as `PretrainingModel`.
    hidden: float [B, L, H], the states to read; None: the encoder's last ones.
  """
  config = encoder.config
  if use_mask_decoder:
    hidden = mask_decoding.decode(encoder)
  elif hidden is None:
    hidden = encoder.hidden_states[-1]
  head = layers.MaskedLanguageModelHead(
    **config.transform_options,
    use_output_bias=config.decoder_bias,
    tie_word_embeddings=config.tie_word_embeddings,
    dtype=encoder.dtype_policy,
    name="predictions",
  )

  def score(positions=None):
    # A layer takes its path from where it is first called.
    with keras.name_scope("cls"):
      return head(hidden, positions, encoder.embedding_table)

  return score


def sentence_logits(encoder, pooled):
  """Returns logits [B, 2] of a new head, at cls/seq_relationship.

  Args:
    encoder: `TransformerEncoder`.
    pooled: float [B, H], its `pooled_output`.
  """
  with keras.name_scope("cls"):
    return _head(encoder, 2, "seq_relationship")(pooled)


def _transform(encoder, hidden):
  """Returns vectors float [..., H], transformed as the configuration says.

  With `config.classifier_pooling` all heads begin like the masked language
  model's, with weights of the same names; otherwise nothing is transformed.
  """
  return _transforms(encoder)(hidden)


def _transforms(encoder):
  """Returns the function of `_transform`."""
  config = encoder.config
  if not config.classifier_pooling:
    return lambda hidden: hidden
  transform = layers.HeadTransform(
    config.hidden_size,
    **config.transform_options,
    dtype=encoder.dtype_policy,
    name="transform",
  )

  def call(hidden):
    with keras.name_scope("cls"), keras.name_scope("predictions"):
      return transform(hidden)

  return call


def _last_hidden(encoder, bilstm_width):
  """Returns the last hidden state, read by a BiLSTM if it has a width."""
  hidden = encoder.hidden_states[-1]
  if bilstm_width is None:
    return hidden
  return feature_models.read_by_bilstm(encoder, hidden, bilstm_width)


def _head(encoder, num_classes, name):
  return layers.ClassificationHead(
    num_classes,
    encoder.config.initializer_range,
    dtype=encoder.dtype_policy,
    name=name,
  )


def _classify(encoder, hidden, num_classes):
  return _head(encoder, num_classes, "classifier")(hidden)


def _dropout(encoder, hidden, rate):
  return _drops(encoder, rate)(hidden)


def _drops(encoder, rate):
  if rate is None:
    rate = encoder.config.dropout_rate
  return layers.Dropout(rate, dtype=encoder.dtype_policy, name="dropout")
