"""What a tokenizer.json says of texts, besides the vocabulary."""

import dataclasses

from keras_bert_impl.families import family


@dataclasses.dataclass(frozen=True)
class AddedToken:
  """A token that is found in texts as it is, before the model sees them.

  Attributes:
    content: str.
    index: int, its id.
    lstrip: bool, whether it takes the white space before it.
    rstrip: bool, whether it takes the white space after it.
    normalized: bool, whether it is looked for in normalised text.
    special: bool, whether it is no text, such as [SEP].
  """

  content: str
  index: int
  lstrip: bool = False
  rstrip: bool = False
  normalized: bool = False
  special: bool = False


@dataclasses.dataclass(frozen=True)
class TextRules:
  """What a tokenizer.json says of texts, besides the vocabulary.

  Attributes:
    normalizers: tuple of (name of a function in `normalizers`, *arguments), how
      texts are normalised, in order.
    added_tokens: tuple of `AddedToken`.
    framing: `families.family.Framing`; None if the file does not say it.
    outside: frozenset of ids of the tokens that the model does not know.
    add_prefix: bool, put a blank before a text that has none.
    split_white_space: bool, whether white space is left out, not only blanks
      (SentencePiece).
    split_at_blanks: bool, whether no piece goes on after a blank
      (SentencePiece).
    max_word_characters: int, longer words are unknown (WordPiece).
    content: bytes, the whole file.
  """

  normalizers: tuple = ()
  added_tokens: tuple[AddedToken, ...] = ()
  framing: family.Framing | None = None
  outside: frozenset = frozenset()
  add_prefix: bool = False
  split_white_space: bool = False
  split_at_blanks: bool = True
  max_word_characters: int = 0
  content: bytes = dataclasses.field(default=b"", repr=False, compare=False)
