"""Tokenizers in the TensorFlow graph, vocabularies, and learning them.

Attributes:
  WordPieceTokenizer: of `graph/wordpiece.py`, for vocab.txt (BERT, ELECTRA).
  BytePairTokenizer: of `graph/byte_pair.py`, for vocab.json (RoBERTa).
  SentencePieceTokenizer: of `graph/sentence_piece.py`, for *.model (ALBERT).

The tokenizers are loaded at first use: training reads vocabularies without
tensorflow_text.
"""

import importlib
import os
import typing

from absl import logging

from keras_bert_impl import calls
from keras_bert_impl.tokenizers.formats import (
  text_rules,
  vocabularies,
  vocabulary_files,
)
from keras_bert_impl.tokenizers.formats.tokenizer_options import (
  BytePairOptions,
  SentencePieceOptions,
  WordPieceOptions,
)
from keras_bert_impl.tokenizers.formats.vocabularies import Vocabulary

if typing.TYPE_CHECKING:
  from keras_bert_impl.tokenizers.graph.tokenizer import Tokenizer

# {class: (its module, kinds of its vocabularies)}.
_CLASSES = {
  "WordPieceTokenizer": (
    "wordpiece",
    (vocabulary_files.WORDPIECE, vocabulary_files.WORD_LEVEL),
  ),
  "BytePairTokenizer": (
    "byte_pair",
    (vocabulary_files.BYTE_BPE, vocabulary_files.CHARACTER_BPE),
  ),
  "SentencePieceTokenizer": (
    "sentence_piece",
    (vocabulary_files.SENTENCEPIECE,),
  ),
}

__all__ = [
  "BytePairOptions",
  "SentencePieceOptions",
  "Vocabulary",
  "WordPieceOptions",
  "load",
  *_CLASSES,
]


@calls.checked
def load(
  path: str | os.PathLike[str],
  default_family: str | None = None,
  **options: typing.Any,
) -> "Tokenizer":
  """Returns the tokenizer that the files of a model describe.

  Warns if it does not know the words of a sample in its own script.

  Args:
    path: str, a vocabulary (tokenizer.json, vocab.txt, vocab.json with
      merges.txt beside it, or `*.model`), the folder that holds one, or the
      name of a model, such as "klue/bert-base"; see `hub`.
    default_family: as `options.resolve`.
    **options: by name, in place of those stored beside the vocabulary; None
      leaves them. The option `family` says how sequences are framed: needed
      where neither tokenizer_config.json nor a config.json beside the
      vocabulary says it, and it is not as in BERT.

  Returns:
    `WordPieceTokenizer`, `BytePairTokenizer` or `SentencePieceTokenizer`; where
    tensorflow-text is not installed, or a tokenizer.json asks for what only the
    `tokenizers` library does, `LibraryTokenizer`, as a warning says.

  Raises:
    FileNotFoundError: if there is no vocabulary.
    ValueError: if it is unusable, its kind has no such option, or there is no
      such family.
  """
  return make(*vocabularies.find(path, default_family, **options))


def make(vocabulary, options):
  """Returns the tokenizer of a vocabulary; as `load`.

  Args:
    vocabulary: `Vocabulary` of a file.
    options: as `options.resolve` returns them.
  """
  kind = vocabulary.kind
  [name] = (name for name in _CLASSES if kind in _CLASSES[name][1])
  try:
    tokenizer = __getattr__(name)(vocabulary, **vars(options))
  except (ImportError, text_rules.NotInGraphError) as error:
    reason = str(error).removesuffix(".")
    if isinstance(error, ImportError):
      reason += " (pip install tensorflow-text)"
    logging.warning(
      "%s: text is tokenized by the tokenizers library, for training and"
      " predict; an export from strings needs the graph.",
      reason,
    )
    library = importlib.import_module(f"{__name__}.library_tokenizer")
    tokenizer = library.LibraryTokenizer(vocabulary, options, reason)
  importlib.import_module(f"{__name__}.agreement").warn_of_unknown(tokenizer)
  return tokenizer


def __getattr__(name):
  if name in _CLASSES:
    module = importlib.import_module(f"{__name__}.graph.{_CLASSES[name][0]}")
    return getattr(module, name)
  raise AttributeError(f"module {__name__!r} has no attribute {name!r}.")
