"""SavedModels of a pre-trained model, and its predictions for [MASK]."""

import re

import tensorflow as tf
import tensorflow_text  # noqa: F401  Registers the ops of the tokenizer.
from absl import logging

from keras_bert_impl import models, tokenizers
from keras_bert_impl.serving import export
from keras_bert_impl.tokenizers.formats import vocabulary_files

_SENTINEL = re.compile(f"({vocabulary_files.SENTINEL}[0-9]+>)")


def export_heads(
  servables, heads, model, vocabulary, max_seq_length, folder, path_of
):
  """Writes a SavedModel for each head.

  Args:
    servables: function that returns {head: class of its `Servable`}.
    heads: iterable of their names.
    model: `keras.Model` with these heads, and its `config`.
    vocabulary: `Vocabulary`, loaded from a file.
    max_seq_length: int, maximum tokens of a text.
    folder: str, of the run, whose files say with what texts begin and end.
    path_of: callable, head -> folder for its versions.

  Returns:
    {"<head>_saved_model": path}.
  """
  tokenizer = tokenizers.load(vocabulary.origin, model.config.model_type)
  logging.info("Writing SavedModels.")
  verbosity = logging.get_verbosity()
  logging.set_verbosity(logging.WARNING)  # Saving logs each renamed input.
  paths = {}
  for head in heads:
    servable = servables()[head]
    options = servable.of_training({"folder": folder})
    if "max_new_tokens" in servable.options:
      # A prompt needs positions too, but where a decoder has its own.
      parts = 1 if model.config.num_decoder_layers else 2
      model = _of_all_places(model)
      options["max_new_tokens"] = max_seq_length // parts
    paths[f"{head}_saved_model"] = export.export(
      servable(model, tokenizer, max_seq_length, **options), path_of(head)
    )
  logging.set_verbosity(verbosity)
  return paths


def _of_all_places(model):
  """Returns a model of all tokens, where that of pre-training is of some."""
  if model.config.num_decoder_layers:
    return model
  whole = models.MaskedLanguageModel(model.config, dtype="float32")
  weights = {weight.path: weight for weight in model.weights}
  for weight in whole.weights:
    weight.assign(weights[weight.path])
  return whole


def fill_masks(saved_model, texts):
  """Yields (text, most probable tokens) for each [MASK] of the texts.

  Args:
    saved_model: str, path of an exported `FillMaskServable`.
    texts: sequence of str.
  """
  answer = tf.saved_model.load(saved_model).signatures["serving_default"](
    text=tf.constant(texts)
  )
  for text, tokens, scores in zip(
    texts, answer["tokens"].numpy(), answer["scores"].numpy(), strict=True
  ):
    for of_mask, scores_of_mask in zip(tokens, scores, strict=True):
      yield (
        text,
        "  ".join(
          f"{token.decode()} {score:.3f}"
          for token, score in zip(of_mask, scores_of_mask, strict=True)
          if token
        ),
      )


def generate(saved_model, texts):
  """Yields (text, what is generated of it) for each text.

  Args:
    saved_model: str, path of an exported `GenerationServable`.
    texts: sequence of str.
  """
  answer = tf.saved_model.load(saved_model).signatures["serving_default"](
    text=tf.constant(texts)
  )
  for text, generated in zip(texts, answer["text"].numpy(), strict=True):
    yield text, _filled(text, generated.decode())


def _filled(text, generated):
  """Returns a text with what T5 writes for its sentinels, or what is written.

  Args:
    text: str.
    generated: str, of T5 each sentinel with the span that it stands for.
  """
  parts = _SENTINEL.split(generated)
  spans = dict(zip(parts[-2::-2], parts[:0:-2], strict=True))  # The first ones.
  filled = _SENTINEL.sub(lambda mark: spans.get(mark[0], "").strip(), text)
  return filled if _SENTINEL.search(text) else generated
