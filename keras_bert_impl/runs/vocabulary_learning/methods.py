"""Methods of learning each kind of vocabulary.

The learners are imported when they are used, because the script's flags are
made from `METHODS`.
"""

import dataclasses
import re

from absl import logging
from etils import epy

from keras_bert_impl import choices
from keras_bert_impl.tokenizers.formats import (
  tokenizer_options,
  vocabulary_files,
)

with epy.lazy_imports():
  from keras_bert_impl.tokenizers.learning import (
    byte_pair_learner,
    sentence_piece_learner,
    wordpiece_learner,
  )

_HANGUL = re.compile("[\uac00-\ud7a3\u1100-\u11ff]")
# A word or two in another script's text change nothing.
_NOTABLE_HANGUL = 0.01


@dataclasses.dataclass(frozen=True)
class Method:
  """A method of learning one kind of vocabulary.

  Attributes:
    kind: str, of the file; see `vocabulary_files`.
    learner: module with `learn`; where words are counted, with `count_words`
      too, in place of which `learn` takes another `count`.
    options: what is normalised, unless flags say otherwise.
    arguments: tuple of the other flags that `learn` takes.
    counts_words: bool.
    settings: {name: value} of other arguments of `learn`.
  """

  kind: str
  learner: object
  options: object
  arguments: tuple[str, ...]
  counts_words: bool = False
  settings: dict = dataclasses.field(default_factory=dict)


def keep_hangul(options, sample):
  """Returns options that leave the Hangul of a text whole, and says so.

  Stripping accents as BERT does takes syllables apart into letters (jamo), of
  which Korean vocabularies are not made. A model of SentencePiece puts them
  together again.

  Args:
    options: of a `Method`.
    sample: list of str, sentences of the text.
  """
  text = "".join(sample)
  share = len(_HANGUL.findall(text)) / max(sum(map(str.isalpha, text)), 1)
  if share < _NOTABLE_HANGUL or not getattr(options, "strips_accents", False):
    return options
  logging.warning(
    "%.0f%% of the letters of the text are Hangul, whose syllables stay whole:"
    " compose_hangul is true. Give --compose_hangul=False to learn from the"
    " letters (jamo) that lower-casing takes them apart into.",
    100 * share,
  )
  return dataclasses.replace(options, compose_hangul=True)


_ALBERT = tokenizer_options.SentencePieceOptions(
  do_lower_case=True, keep_accents=False, remove_space=True
)
METHODS = {
  "wordpiece": Method(
    vocabulary_files.WORDPIECE,
    wordpiece_learner,
    tokenizer_options.WordPieceOptions(),
    ("min_frequency", "character_coverage"),
    counts_words=True,
  ),
  "byte_bpe": Method(
    vocabulary_files.BYTE_BPE,
    byte_pair_learner,
    tokenizer_options.BytePairOptions(add_prefix_space=True),
    ("min_frequency",),
  ),
} | {
  f"sentencepiece_{model_type}": Method(
    vocabulary_files.SENTENCEPIECE,
    sentence_piece_learner,
    _ALBERT,
    ("character_coverage",),
    counts_words=model_type == "bpe",
    settings={"model_type": model_type},
  )
  for model_type in choices.SENTENCE_PIECE_TYPES
}
