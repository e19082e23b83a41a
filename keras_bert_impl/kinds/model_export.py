"""Exports Keras models: `kb.export`."""

import os
import typing

import numpy as np

from keras_bert_impl import calls, choices, heads, kinds
from keras_bert_impl.checkpoints.descriptions import description
from keras_bert_impl.metrics import tagging
from keras_bert_impl.models.encoders import encoder_model
from keras_bert_impl.serving import export as export_lib
from keras_bert_impl.serving import model_outputs, servables
from keras_bert_impl.serving.small import export as small
from keras_bert_impl.tokenizers.graph import tokenizer as tokenizer_lib


@calls.checked
def export(
  model: typing.Any,
  tokenizer: typing.Any = None,
  export_dir: str | os.PathLike[str] | None = None,
  *,
  max_seq_length: int | None = None,
  model_name: str | None = None,
  weights_dtype: str | None = None,
  compute_dtype: str = "float32",
  signature_names: str = choices.GOOGLE,
  **options: typing.Any,
) -> str:
  """Writes a SavedModel that takes strings, or a file of LiteRT or ONNX.

    kb.export(model, tokenizer, "served/stars")
    kb.export(model, tokenizer, "phone/stars", format="litert")

  Args:
    model: model of `kb` with a head, which is answered as `docs/serving.md`
      says; or any functional `keras.Model` on `encoder.input`, answered with
      its outputs by name; or a `Servable` alone: `kb.export(servable, path)`.
    tokenizer: of `kb.load_tokenizer`.
    export_dir: str, directory of the versions, made if need be.
    max_seq_length: int, most tokens of a text or pair; default: as many as the
      model can.
    model_name: as `serving.export.export`.
    weights_dtype: as `serving.export.export`.
    compute_dtype: as `serving.export.export`.
    signature_names: as `serving.export.export`.
    **options: of the servable of the head, such as labels and text_pairs; a
      model of your own has text_pairs. And format, "litert" or "onnx" for a
      file that takes ids, with fixed_length, as
      `serving.small.export.export`. Of a `SequenceClassifier` also
      multi_label=True: a text may have several labels.

  Returns:
    str, the directory of the new version.

  Raises:
    ValueError: as `serving.export.export`; the model is none of these, or does
      not fit the tokenizer; or there is no such option.
  """
  options |= {
    "weights_dtype": weights_dtype,
    "compute_dtype": compute_dtype,
    "signature_names": signature_names,
  }
  form = small.pop_form(options)
  if isinstance(model, servables.Servable):
    if (tokenizer is not None and export_dir is not None) or options:
      raise ValueError(
        "A servable has its tokenizer and options: kb.export(servable, path),"
        " and model_name and dtypes by name."
      )
    export_dir = tokenizer if export_dir is None else export_dir
    return small.export_as(model, export_dir, model_name, **form)
  if not isinstance(tokenizer, tokenizer_lib.Tokenizer):
    raise ValueError(
      f"tokenizer ({tokenizer!r}) must be one of kb.load_tokenizer:"
      " kb.export(model, tokenizer, export_dir)."
    )
  if export_dir is None:
    raise ValueError("export_dir is missing: name a folder.")
  export_lib.check_folder(export_dir)
  _check_finite(model)
  servable = make_servable(model, tokenizer, max_seq_length, **options)
  return small.export_as(servable, export_dir, model_name, **form)


def _check_finite(model):
  """Raises ValueError if a weight has values that are NaN or infinite."""
  for weight in model.weights:
    # Of what is finite the sum is, too: no copy of the weight is made.
    if "float" in weight.dtype and not np.isfinite(np.sum(np.asarray(weight))):
      raise ValueError(
        f"The model's weight {weight.path} has values that are NaN or infinite:"
        " train it again, with a lower learning rate."
      )


def make_servable(model, tokenizer, max_seq_length=None, **options):
  """Returns the `Servable` of a Keras model; arguments as `export`."""
  head = _head(model)
  of_texts = (heads.CLASSIFICATION, heads.REGRESSION)
  if head in of_texts and options.pop("multi_label", False):
    head = heads.MULTI_LABEL
  if head is None:
    make = model_outputs.ModelServable
  else:
    make = kinds.servables()[head]
    max_seq_length = max_seq_length or model.config.max_sequence_length
  known = make.options
  for name, value in options.items():
    if name not in known:
      raise ValueError(
        f"{name} ({value!r}) is no option of this model's export, which has"
        f" {', '.join(known) or 'none'}."
      )
  if "labels" in known and "labels" not in options:
    num_classes = model.output["logits"].shape[-1]
    options["labels"] = description.default_labels(num_classes)
    # Such names mark no entities.
    if "tag_scheme" in known:
      options.setdefault("tag_scheme", tagging.NO_SCHEME)
  return make(model, tokenizer, max_seq_length, **options)


def _head(model):
  """Returns the head that a model of ours is served as; None for others."""
  served_head = getattr(model, "served_head", None)
  if served_head:
    return served_head
  if not isinstance(model, encoder_model.EncoderModel) or not model.heads:
    return None
  head = model.heads[0]
  if head == heads.CLASSIFICATION and model.output["logits"].shape[-1] == 1:
    head = heads.REGRESSION
  return heads.USES.get(head, head)
