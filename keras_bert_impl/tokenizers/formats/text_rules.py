"""How texts become what a model looks up: steps, added tokens and framing.

A tokenizer.json says it itself; for the other files, options do (`of_options`).
"""

import dataclasses
import hashlib

from keras_bert_impl.families import family
from keras_bert_impl.tokenizers.formats import (
  characters,
  tokenizer_options,
  vocabulary_files,
)

# Ends a word; no valid UTF-8 contains it.
CUT = b"\xff"


class NotInGraphError(ValueError):
  """What a tokenizer.json asks for, the graph cannot do, but the library can.

  The message is one line with the value, the file and what the graph can do.
  """


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
    single_word: bool, whether it must be no part of a longer word.
  """

  content: str
  index: int
  lstrip: bool = False
  rstrip: bool = False
  normalized: bool = False
  special: bool = False
  single_word: bool = dataclasses.field(default=False, repr=False)


@dataclasses.dataclass(frozen=True)
class TextRules:
  """How texts become what a model looks up.

  The names of a step are those in `graph/steps.py`.

  Attributes:
    normalizers: tuple of steps (name, *arguments), how texts are normalised.
    added_tokens: tuple of `AddedToken`.
    framing: `families.family.Framing`; None if it is the family's.
    outside: frozenset of ids of the tokens that the model does not know.
    add_prefix: bool, put a blank before a text that has none.
    split_white_space: bool, whether white space is left out, not only blanks
      (SentencePiece).
    split_at_blanks: bool, whether no piece goes on after a blank
      (SentencePiece).
    max_word_characters: int, longer words are unknown (WordPiece).
    unk_id: int, the token of a byte or character that has none of its own; -1
      leaves it out (BPE).
    fuse_unk: bool, whether such bytes or characters in a row are one token.
    content: bytes, a whole tokenizer.json.
    words: tuple of steps, how normalised texts are split into words.
    split_digit_commas: bool, as `SentencePieceOptions`.
    cuts: tuple of steps after `words`, which put `CUT` between words (BPE); ()
      where GPT-2's pattern splits bytes.
    byte_fallback: bool, whether an unknown character is the tokens of its
      bytes, such as <0xE0> (BPE of characters).
    ignore_merges: bool, whether a word that is a token is not merged (BPE).
    decoder: tuple of steps from tokens to text, as in `graph/decoding.py`; ()
      is the usual decoder of the kind.
    not_in_graph: str, what the graph cannot do, the message of a
      `NotInGraphError`; "" if it can all.
  """

  normalizers: tuple = ()
  added_tokens: tuple[AddedToken, ...] = ()
  framing: family.Framing | None = None
  outside: frozenset = frozenset()
  add_prefix: bool = False
  split_white_space: bool = False
  split_at_blanks: bool = True
  max_word_characters: int = 0
  # Fingerprints of vocabularies are made of the others.
  content: bytes = dataclasses.field(default=b"", repr=False, compare=False)
  words: tuple = dataclasses.field(default=(), repr=False)
  unk_id: int = dataclasses.field(default=-1, repr=False)
  fuse_unk: bool = dataclasses.field(default=False, repr=False)
  split_digit_commas: bool = dataclasses.field(default=False, repr=False)
  cuts: tuple = dataclasses.field(default=(), repr=False)
  byte_fallback: bool = dataclasses.field(default=False, repr=False)
  ignore_merges: bool = dataclasses.field(default=False, repr=False)
  decoder: tuple = dataclasses.field(default=(), repr=False)
  not_in_graph: str = dataclasses.field(default="", repr=False)

  @property
  def prepends(self):
    """Whether each text gets a mark before it, even one that begins with it."""
    return any(name == "prepend" for name, *_ in self.normalizers)


def later_fields(rules):
  """Returns what rules say in fields that older fingerprints lack, tuple."""
  single_words = [t.index for t in rules.added_tokens if t.single_word]
  fields = single_words, rules.unk_id + 1, rules.fuse_unk
  framing = rules.framing or family.Framing()
  # A file of which the graph knows only a part is what it is.
  whole = rules.not_in_graph and hashlib.sha256(rules.content).hexdigest()
  last = (
    *(rules.cuts, rules.byte_fallback, rules.ignore_merges, rules.decoder),
    *(not framing.begin, not framing.end, whole),
  )
  return (*fields, last) if any(last) else fields


def of_options(options):
  """Returns the `TextRules` of a vocabulary that is no tokenizer.json.

  Args:
    options: its options, as `tokenizer_options.resolve` returns them.
  """
  if isinstance(options, tokenizer_options.BytePairOptions):
    add_prefix = options.add_prefix_space
    words = prefix(" ") if add_prefix else ()
    return TextRules(add_prefix=add_prefix, words=words)
  if isinstance(options, tokenizer_options.SentencePieceOptions):
    return TextRules(
      tuple(_of_albert(options)), split_digit_commas=options.split_digit_commas
    )
  has_ideographs = options.tokenize_chinese_chars
  apart = characters.SINGLE if has_ideographs else characters.PUNCTUATION
  return TextRules(
    tuple(_of_bert(options)),
    max_word_characters=options.max_input_chars_per_word,
    words=(("set_apart", apart),),
  )


def prefix(*starts):
  """Returns the steps that put a blank before texts without any of `starts`."""
  return (("prefix", *(start.encode("utf-8") for start in starts)),)


def _of_bert(options):
  """Yields the steps of `WordPieceOptions`.

  Source: google-research/bert, tokenization.py, BasicTokenizer.
  """
  yield "replace", characters.DELETED, ""
  if options.do_lower_case:
    yield ("lower_words",)
  if options.strips_accents:
    yield "unicode", "NFD"
    yield ("strip_nonspacing",)
    if options.compose_hangul:
      yield "unicode", "NFC"


def _of_albert(options):
  """Yields the steps of `SentencePieceOptions`.

  Source: google-research/albert, tokenization.py, preprocess_text.
  """
  if options.remove_space:
    yield "replace", f"{characters.PYTHON_SPACE}+", " "
    yield "strip", True, True
    yield "replace", "``|''", '"'
  if not options.keep_accents:
    yield "unicode", "NFKD"
    yield "replace", f"{characters.combining()}+", ""
    if options.compose_hangul:
      yield "unicode", "NFC"
  if options.do_lower_case:
    # Differs from the original: drops NUL, where lower-casing would stop.
    yield "replace", r"\x00", ""
    yield ("lower_words",)


def words_of_pieces(add_prefix, split_white_space):
  """Returns the steps that split texts for a SentencePiece model."""
  start, steps = vocabulary_files.WORD_START, ()
  if split_white_space:
    steps += (
      ("replace", f"{characters.SPACE}+", " "),
      ("strip", True, True),
    )
  if add_prefix:
    steps += prefix(" ", start)
  if split_white_space:
    # A word has one, its own or this.
    steps += (("replace", f" {start}", start),)
  return steps
