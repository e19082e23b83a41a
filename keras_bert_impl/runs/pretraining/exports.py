"""SavedModels of a pre-trained model, and its predictions for [MASK]."""

import tensorflow as tf
import tensorflow_text  # noqa: F401  Registers the ops of the tokenizer.
from absl import logging

from keras_bert_impl import tokenizers
from keras_bert_impl.serving import export


def export_heads(servables, heads, model, vocabulary, max_seq_length, path_of):
  """Writes a SavedModel for each head.

  Args:
    servables: function that returns {head: class of its `Servable`}.
    heads: iterable of their names.
    model: `keras.Model` with these heads, and its `config`.
    vocabulary: `Vocabulary`, loaded from a file.
    max_seq_length: int, maximum tokens of a text.
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
    paths[f"{head}_saved_model"] = export.export(
      servable(model, tokenizer, max_seq_length), path_of(head)
    )
  logging.set_verbosity(verbosity)
  return paths


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
