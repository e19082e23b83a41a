"""Methods of learning each kind of vocabulary.

The learners are imported when they are used, because the script's flags are
made from `METHODS`.
"""

import collections.abc
import dataclasses
import functools

from etils import epy

from keras_bert_impl import choices
from keras_bert_impl.tokenizers.formats import (
  tokenizer_options,
  vocabularies,
  vocabulary_files,
)

with epy.lazy_imports():
  from keras_bert_impl.tokenizers.learning import (
    byte_pair_learner,
    sentence_piece_learner,
    wordpiece_learner,
  )


def _learn_wordpiece(texts, vocab_size, options, origin, **arguments):
  tokens = wordpiece_learner.learn(
    texts,
    vocab_size,
    do_lower_case=options.do_lower_case,
    compose_hangul=options.compose_hangul,
    **arguments,
  )
  return vocabularies.Vocabulary(tuple(tokens), origin)


def _learn_byte_bpe(texts, vocab_size, options, origin, **arguments):
  return byte_pair_learner.learn(
    texts, vocab_size, options, origin=origin, **arguments
  )


def _learn_sentencepiece(texts, vocab_size, options, origin, **arguments):
  return sentence_piece_learner.learn(
    texts, vocab_size, options, origin=origin, **arguments
  )


@dataclasses.dataclass(frozen=True)
class Method:
  """A method of learning one kind of vocabulary.

  Attributes:
    kind: str, of the file; see `vocabulary_files`.
    learn: callable (texts, vocab_size, options, origin, **arguments) ->
      Vocabulary.
    options: what is normalised, unless flags say otherwise.
    arguments: tuple of the other flags that `learn` takes.
    counter: module whose `count_words` makes what is learned from, and in place
      of which `learn` takes another `count`; None if words are not counted.
  """

  kind: str
  learn: collections.abc.Callable
  options: object
  arguments: tuple[str, ...]
  counter: object = None


_ALBERT = tokenizer_options.SentencePieceOptions(
  do_lower_case=True, keep_accents=False, remove_space=True
)
METHODS = {
  "wordpiece": Method(
    vocabulary_files.WORDPIECE,
    _learn_wordpiece,
    tokenizer_options.WordPieceOptions(),
    ("min_frequency", "character_coverage"),
    wordpiece_learner,
  ),
  "byte_bpe": Method(
    vocabulary_files.BYTE_BPE,
    _learn_byte_bpe,
    tokenizer_options.BytePairOptions(add_prefix_space=True),
    ("min_frequency",),
  ),
} | {
  f"sentencepiece_{model_type}": Method(
    vocabulary_files.SENTENCEPIECE,
    functools.partial(_learn_sentencepiece, model_type=model_type),
    _ALBERT,
    ("character_coverage",),
    sentence_piece_learner if model_type == "bpe" else None,
  )
  for model_type in choices.SENTENCE_PIECE_TYPES
}
