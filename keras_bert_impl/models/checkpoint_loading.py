"""Loads models from checkpoints of any known format."""

import contextlib
import dataclasses
import os
import typing
import warnings

from keras_bert_impl import calls, choices, given_arrays, options
from keras_bert_impl import heads as heads_lib
from keras_bert_impl.checkpoints import assignment, reading
from keras_bert_impl.checkpoints.naming import names as weight_names
from keras_bert_impl.models import transformers_names
from keras_bert_impl.models.encoders import (
  bidirectional_pair,
  elmo_encoder,
  encoder_choice,
  transformer_encoder,
  xlnet_encoder,
)
from keras_bert_impl.models.heads import (
  answer_beam,
  encoder_decoder,
  masked_language_model,
  multiple_choice,
  question_answering,
  replaced_token_detector,
  sequence_classifier,
  sparse_embedding_model,
  token_classifier,
)
from keras_bert_impl.models.pretraining import bidirectional_lm, permutation

_OF_TRANSFORMERS = (
  transformer_encoder.TransformerEncoder,
  encoder_decoder.EncoderDecoder,
  masked_language_model.MaskedLanguageModel,
  multiple_choice.MultipleChoice,
  question_answering.QuestionAnswering,
  replaced_token_detector.ReplacedTokenDetector,
  sequence_classifier.SequenceClassifier,
  token_classifier.TokenClassifier,
  sparse_embedding_model.SparseEmbeddingModel,
)
# {encoder: models that have heads of theirs on it}.
_OF_OTHERS = {
  xlnet_encoder.XLNetEncoder: (
    xlnet_encoder.XLNetEncoder,
    permutation.PermutationLanguageModel,
    answer_beam.AnswerBeam,
  ),
  bidirectional_pair.BidirectionalPair: (
    bidirectional_pair.BidirectionalPair,
    bidirectional_lm.BidirectionalLanguageModel,
  ),
  elmo_encoder.ElmoEncoder: (
    elmo_encoder.ElmoEncoder,
    bidirectional_lm.ElmoLanguageModel,
  ),
}


@calls.checked
def from_checkpoint(
  path: str | os.PathLike[str],
  heads: bool = False,
  allow_partial: bool = False,
  dtype: typing.Any = None,
  names: str = choices.GOOGLE,
) -> typing.Any:
  """Loads a model with its weights from a checkpoint.

  Args:
    path: str: a folder or file of `transformers`, safetensors,
      pytorch_model.bin or tf_model.h5; a TensorFlow checkpoint of Google's or
      of a run here; a preset of KerasHub; a `.keras` file; or the name of a
      model, such as "klue/bert-base"; see `checkpoints.reading` and `hub`.
    heads: bool, whether to return the model with the head that is stored. It
      has outputs such as `token_logits` or `start_logits`.
    allow_partial: bool, whether weights that are missing or have another shape
      keep fresh values.
    dtype: as `TransformerEncoder`.
    names: "google" or "transformers", whose names inputs and outputs have.

  Returns:
    `TransformerEncoder`, with a pooler if one is stored; with `heads` one of
    the models of `heads`. With the names of `transformers` that model in
    a `TransformersModel`.

  Raises:
    FileNotFoundError: there is no such checkpoint, or nothing beside it says
      what the encoder is.
    ValueError: it is damaged, of an unknown kind or family, its weights do not
      fit its configuration, or no head is stored.
  """
  options.check_choice("names", names, choices.NAMES)
  checkpoint = reading.open_checkpoint(path)
  description = checkpoint.described(allow_partial)
  if heads and description.head == heads_lib.ENCODER:
    raise ValueError(
      f"Checkpoint {checkpoint.path} has no head of a known kind: give heads="
      "False to load its encoder."
    )
  if not heads:
    description = dataclasses.replace(description, head=heads_lib.ENCODER)
  model, result = load(checkpoint, description, allow_partial, dtype)
  if result.new:
    warnings.warn(f"Weights from {checkpoint.path}: {result}.", stacklevel=2)
  if names == choices.TRANSFORMERS:
    return transformers_names.TransformersModel(model)
  return model


def load(checkpoint, description, allow_partial=False, dtype=None, remedy=None):
  """Loads a model from an open checkpoint; returns the assignment too.

  Args:
    checkpoint: `checkpoints.reading.Checkpoint`.
    description: `description.Description` of the model.
    allow_partial: as `from_checkpoint`.
    dtype: as `TransformerEncoder`.
    remedy: as `checkpoints.assignment.assign`.

  Returns:
    (model, `checkpoints.assignment.Assignment`).

  Raises:
    ValueError: weights are missing or have another shape, or the encoder has no
      place for some of those stored.
  """
  fresh = contextlib.nullcontext() if allow_partial else given_arrays.awaited()
  with fresh:
    try:
      model = build(description, checkpoint.tensors.shapes, dtype)
    except MemoryError as error:
      raise ValueError(
        f"The model of {checkpoint.path} cannot be built: {error}. Give the"
        " configuration of these weights."
      ) from error
  result = assignment.assign(
    {weight.path: weight for weight in model.weights},
    checkpoint.tensors,
    checkpoint.path,
    allow_partial,
    remedy,
  )
  spare = (*description.config.family.spare, weight_names.DELTA)
  surplus = [
    name
    for name in result.left_over
    if name.startswith(weight_names.ENCODER_PREFIXES) and name not in spare
  ]
  if surplus and not allow_partial:
    raise ValueError(
      f"Checkpoint {checkpoint.path} has weights that its configuration has no "
      f"place for: {', '.join(surplus)}. Give the configuration of these "
      "weights, or allow_partial=True to leave them out."
    )
  return model, result


def build(description, shapes, dtype=None):
  """Returns the model of a checkpoint, with fresh weights.

  Args:
    description: `description.Description`.
    shapes: dict of names -> tuple of int, of the checkpoint's tensors.
    dtype: as `TransformerEncoder`.
  """
  others = _OF_OTHERS.get(encoder_choice.class_of(description.config), ())
  models = (*others, *_OF_TRANSFORMERS)
  model = next(model for model in models if description.head in model.heads)
  return model.of_checkpoint(description, shapes, dtype)
