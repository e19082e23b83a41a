"""Servables of trained models, used as they were trained or as one is told."""

import dataclasses
import inspect

from keras_bert_impl import heads
from keras_bert_impl.checkpoints.descriptions import description
from keras_bert_impl.model_folders import trained_models

# Arguments of servables that only the training says.
_OF_TRAINING = {"do_lower_case", "tasks", "tasks_of_pairs", "tasks_of_tags"}


def make(config, path, kinds, head=None, max_seq_length=None, chosen=None):
  """Returns the `Servable` of a trained model, and the path of its checkpoint.

  Args:
    config: `model_files.ModelFilesConfig`.
    path: str, as of `trained_models.open_with_tokenizer`.
    kinds: the same.
    head: one of `heads.SERVED`, or None for what the model was trained for.
    max_seq_length: int, most tokens of a text or pair; None: as trained, or as
      many as the model can.
    chosen: {option of the servable: value}; None is as trained.

  Raises:
    FileNotFoundError: there is no checkpoint, or no vocabulary.
    ValueError: the model, its files and the options do not fit together, or an
      option is needed that the training has not recorded.
  """
  trained, *files = trained_models.open_with_tokenizer(
    config, path, kinds, heads.MADE_OF.get(head, head), max_seq_length
  )
  if head in heads.MADE_OF:
    trained = dataclasses.replace(trained, head=head)
  servable = of_trained(trained, *files, kinds, max_seq_length, chosen)
  return servable, trained.path


def of_trained(
  trained, tokenizer, config, kinds, max_seq_length=None, chosen=None
):
  """Returns the `Servable` of a trained model that is open.

  Args:
    trained: `trained_models.TrainedModel`.
    tokenizer: of `tokenizers.load`.
    config: its `EncoderConfig`, or `StaticConfig`.
    kinds: as of `make`; so are max_seq_length and chosen.
    max_seq_length: int, or None.
    chosen: dict, or None.

  Raises:
    ValueError: as `make`.
  """
  head = trained.model.served_head or trained.head
  servable_class = next(k.servables[head] for k in kinds if head in k.servables)
  return servable_class(
    trained.model,
    tokenizer,
    max_seq_length
    or trained.recorded.get("max_seq_length")
    or config.max_sequence_length,
    **_arguments(chosen or {}, trained, servable_class),
  )


def _arguments(chosen, trained, servable_class):
  """Returns {name: value} for a servable, from flags and the training run.

  Raises:
    ValueError: a flag is for another head, or a required one is missing.
  """
  given = {name: v for name, v in chosen.items() if v is not None}
  known = servable_class.options
  for name in sorted(given):
    if name not in known:
      raise ValueError(
        f"--{name} must be left out for --head={trained.head}, which does not"
        " have it."
      )
  takes = inspect.signature(servable_class).parameters
  recorded = {
    name: trained.recorded[name]
    for name in (
      *known,
      *servable_class.recorded,
      *takes.keys() & _OF_TRAINING,
    )
    if trained.recorded.get(name) is not None
  }
  arguments = recorded | given
  if "text_pairs" in known and "text_pairs" not in arguments:
    raise ValueError(
      f"{trained.path} does not say whether it was trained on pairs of texts:"
      " give --text_pairs or --notext_pairs."
    )
  if "labels" in known and "labels" not in arguments:
    num_classes = trained.model.output["logits"].shape[-1]
    arguments["labels"] = description.default_labels(num_classes)
  follows = servable_class.of_training(trained.recorded | arguments)
  return follows | arguments
