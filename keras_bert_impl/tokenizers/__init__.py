"""In-graph tokenizers, vocabularies and their learners.

Attributes:
  WordPieceTokenizer: of `wordpiece.py`, loaded at first use: training reads
    vocabularies without tensorflow_text.
"""

from keras_bert_impl.tokenizers.vocabulary import TokenizerOptions, Vocabulary

__all__ = ["TokenizerOptions", "Vocabulary", "WordPieceTokenizer"]


def __getattr__(name):
  if name == "WordPieceTokenizer":
    from keras_bert_impl.tokenizers.wordpiece import WordPieceTokenizer

    return WordPieceTokenizer
  raise AttributeError(f"module {__name__!r} has no attribute {name!r}.")
