"""Where each piece of a text stands in the text as it was given.

Byte-level BPE changes nothing, so the lengths of its pieces are enough. The
other kinds look their pieces up in normalised text, which may be shorter or
longer than the original. White space is what no normalisation reaches across:
every different stretch between blanks is normalised once, and aligned with what
it was, character with its combining marks by character. Along the bytes of the
normalised stretches then run the pieces.

Terms: a stretch has no blanks in the original, a word none in the normalised
text ("don't" is one stretch and three words); a unit is a character together
with what combines with it.
"""

import difflib
import functools
import re
import unicodedata
from typing import NamedTuple

import numpy as np
import sentencepiece

from keras_bert_impl.tokenizers import (
  vocabulary,
  vocabulary_files,
  white_space,
)

_BATCH = 1024
# Other control characters are deleted or belong to a stretch.
_BLANKS = " \t\n\r" + "".join(
  chr(code) for code in white_space.CODE_POINTS if code >= 0xA0
)
_STRETCH = re.compile(f"[^{_BLANKS}]+")
# What forms a syllable with the character before it: vowels and final
# consonants of Hangul, and the half-width sound marks of Katakana.
_ATTACHED = (
  *range(0x1160, 0x1200),
  *range(0xD7B0, 0xD800),
  *range(0xFF9E, 0xFFA0),
)


class TextPieces(NamedTuple):
  """The pieces of one text.

  Attributes:
    ids: int32 [n], without special tokens.
    starts: int32 [n], where in the text, in characters of the Python str, a
      piece begins, without a blank before it.
    ends: int32 [n], the character after its last one; equal to the start for
      what stands for nothing but a blank.
  """

  ids: np.ndarray
  starts: np.ndarray
  ends: np.ndarray


class _Stretch(NamedTuple):
  """Normalised text of a stretch, N bytes without blanks.

  Attributes:
    text: bytes.
    starts: int [N], the first of the characters that each byte came from,
      counted from the beginning of the stretch.
    ends: int [N], the character after the last of them.
    word_ends: int [N], the byte after the last one of its word.
  """

  text: bytes
  starts: np.ndarray
  ends: np.ndarray
  word_ends: np.ndarray


def tokenize_with_offsets(tokenizer, texts):
  """Returns the pieces of texts and where they stand in them.

  A piece that is a part of a character, or of one with its marks, has all of
  it; what the tokenizer deletes belongs to no piece but one around it. [UNK] is
  a whole word or, in SentencePiece, what the pieces around it leave of it.

  Args:
    tokenizer: of `tokenizers.load`, any kind.
    texts: list of str.

  Returns:
    list of `TextPieces`; the ids are those of `tokenizer.tokenize`.
  """
  is_bytes = tokenizer.vocabulary.kind == vocabulary_files.BYTE_BPE
  find = _find_bytes if is_bytes else _find_normalized
  # Lone surrogates, which JSON may hold, are in no encoding.
  encoded = [text.encode("utf-8", "ignore") for text in texts]
  ids = []
  for start in range(0, len(texts), _BATCH):
    rows = tokenizer.tokenize(encoded[start : start + _BATCH])
    flat = rows.flat_values.numpy()
    ids += np.split(flat, rows.row_splits.numpy()[1:-1])
  return find(tokenizer, texts, ids)


def _find_bytes(tokenizer, texts, ids):
  """Returns the `TextPieces` of byte-level BPE."""
  tokens = tokenizer.token_texts
  lengths = np.array([len(token) for token in tokens])
  num_blanks = np.array(
    [len(token) - len(token.lstrip(b" ") or token) for token in tokens]
  )
  found = []
  for text, pieces in zip(texts, ids, strict=True):
    characters = _characters_of_bytes(text)
    ends = np.cumsum(lengths[pieces])
    # The tokenizer may have put a blank before the text.
    num_added = int(ends[-1]) - len(characters) if len(pieces) else 0
    starts = ends - lengths[pieces] + num_blanks[pieces] - num_added
    found.append(
      _text_pieces(pieces, starts, ends - num_added, characters, characters + 1)
    )
  return found


def _characters_of_bytes(text):
  """Returns int [bytes], the character of `text` that each byte is of."""
  codes = np.array([ord(character) for character in text], np.int64)
  lengths = 1 + sum((codes >= limit) for limit in (0x80, 0x800, 0x10000))
  lengths = np.where((codes >= 0xD800) & (codes < 0xE000), 0, lengths)
  return np.repeat(np.arange(len(text)), lengths)


def _find_normalized(tokenizer, texts, ids):
  """Returns the `TextPieces` of WordPiece and SentencePiece."""
  places = [list(_STRETCH.finditer(text)) for text in texts]
  stretches = _normalized_stretches(
    tokenizer, {match[0] for row in places for match in row}
  )
  tokens = _pieces_without_blanks(tokenizer)
  continues = tokenizer.vocabulary.is_continuation
  found = []
  for matches, pieces in zip(places, ids, strict=True):
    whole = _join(
      [stretches[m[0]] for m in matches], [m.start() for m in matches]
    )
    begins, stops = _walk(whole, pieces.tolist(), tokens, continues)
    found.append(_text_pieces(pieces, begins, stops, whole.starts, whole.ends))
  return found


def _text_pieces(ids, begins, stops, starts, ends):
  """Returns `TextPieces` of ids from byte `begins` to `stops` [n].

  Args:
    ids: int32 [n].
    begins: int [n].
    stops: int [n].
    starts: int [N], the character that each byte of the text begins with.
    ends: int [N], the one it ends before.
  """
  if not len(starts):
    nothing = np.zeros(len(ids), np.int32)
    return TextPieces(ids, nothing, nothing)
  begins, stops = np.maximum(begins, 0), np.asarray(stops)
  is_inside = begins < len(starts)
  first = starts[np.minimum(begins, len(starts) - 1)]
  first = np.where(is_inside, first, ends[-1])
  last = np.where(stops > begins, ends[stops - 1], first)
  return TextPieces(ids, first.astype(np.int32), last.astype(np.int32))


def _pieces_without_blanks(tokenizer):
  """Returns the bytes of each piece, None for the unknown one."""
  tokens = [token.replace(b" ", b"") for token in tokenizer.token_texts]
  if tokenizer.vocabulary.kind == vocabulary_files.WORDPIECE:
    prefix = vocabulary.CONTINUATION_PREFIX.encode()
    tokens = [token.removeprefix(prefix) for token in tokens]
  tokens[tokenizer.vocabulary.unk_id] = None
  return tokens


def _walk(stretch, pieces, tokens, continues):
  """Returns where in a text its pieces begin and stop.

  Args:
    stretch: `_Stretch` of the whole text.
    pieces: list of n ids.
    tokens: list of V bytes, None for the unknown piece.
    continues: bool [V], whether a piece continues a word.

  Returns:
    int [n], [n]: places of bytes.
  """
  text = stretch.text
  known = [tokens[piece] for piece in pieces]
  if None not in known and b"".join(known) == text:
    stops = np.cumsum([len(token) for token in known], dtype=np.int64)
    return stops - [len(token) for token in known], stops
  begins, stops, place = [], [], 0
  for index, token in enumerate(known):
    if token is None:
      stop = place
      if place < len(text):
        following = pieces[index + 1 : index + 2]
        word_end = int(stretch.word_ends[place])
        stop = word_end
        if following and continues[following[0]] and known[index + 1]:
          stop = text.find(known[index + 1], place + 1, word_end)
          stop = word_end if stop < 0 else stop
    else:
      # Only a model that has no piece for the blank makes it go on.
      place = max(text.find(token, place), place)
      stop = min(place + len(token), len(text))
    begins.append(place)
    stops.append(stop)
    place = stop
  return np.array(begins, np.int64), np.array(stops, np.int64)


def _join(stretches, places):
  """Returns the `_Stretch` of a whole text.

  Args:
    stretches: list of those of the text.
    places: list of int, where they begin.
  """
  sizes = [len(stretch.text) for stretch in stretches]
  shifts = np.repeat(np.array(places, np.int64), sizes)
  bytes_before = np.repeat(np.cumsum(sizes, dtype=np.int64) - sizes, sizes)
  starts, ends, word_ends = (
    np.concatenate([np.zeros(0, np.int64), *(s[field] for s in stretches)])
    for field in (1, 2, 3)
  )
  return _Stretch(
    b"".join(stretch.text for stretch in stretches),
    starts + shifts,
    ends + shifts,
    word_ends + bytes_before,
  )


def _normalized_stretches(tokenizer, stretches):
  """Returns {stretch: `_Stretch`} of different str."""
  units = {stretch: _units(stretch) for stretch in stretches}
  different = list({*stretches, *(u for row in units.values() for u in row)})
  words = dict(zip(different, _words(tokenizer, different), strict=True))
  found = {}
  for stretch, row in units.items():
    # What stays as it is needs no unit: marks may be pieces of their own.
    row = [part for u in row for part in ([*u] if words[u] == [u] else [u])]
    alone = ["".join(words.get(u, [u])) for u in row]
    found[stretch] = _align(words[stretch], row, alone)
  return found


def _words(tokenizer, texts):
  """Returns the words in which the pieces of each of `texts` are looked up."""
  normalized = []
  for start in range(0, len(texts), _BATCH):
    batch = [t.encode("utf-8", "ignore") for t in texts[start : start + _BATCH]]
    normalized += tokenizer.normalize(batch).numpy().tolist()
  normalized = [text.decode("utf-8") for text in normalized]
  if tokenizer.vocabulary.kind == vocabulary_files.SENTENCEPIECE:
    model = sentencepiece.SentencePieceProcessor(
      model_proto=tokenizer.vocabulary.model
    )
    blank = vocabulary.WORD_START
    normalized = [t.replace(blank, " ") for t in model.normalize(normalized)]
  return [_STRETCH.findall(text) for text in normalized]


def _align(words, units, normalized_units):
  """Returns the `_Stretch` of units whose normalised text is `words`.

  Args:
    words: list of str.
    units: list of str, which together are the stretch.
    normalized_units: list of str, each normalised by itself.
  """
  ends = np.cumsum([len(unit) for unit in units])
  starts = ends - [len(unit) for unit in units]
  owner = np.repeat(np.arange(len(units)), [len(u) for u in normalized_units])
  text, alone = "".join(words), "".join(normalized_units)
  first, last = owner, owner
  if text != alone:
    first, last = _owners_by_difference(text, alone, owner)
  sizes = [len(character.encode("utf-8")) for character in text]
  word_sizes = [len(word.encode("utf-8")) for word in words]
  return _Stretch(
    text.encode("utf-8"),
    np.repeat(starts[first], sizes),
    np.repeat(ends[last], sizes),
    np.repeat(np.cumsum(word_sizes, dtype=np.int64), word_sizes),
  )


def _owners_by_difference(text, alone, owner):
  """Returns the first and last unit that each character of `text` came from.

  Where units normalised together give something else than each by itself (the
  sigma at the end of a word, a word that is too long), the units of what is
  different stand for it.

  Args:
    text: str, the units normalised together.
    alone: str, the units normalised by themselves, joined.
    owner: int [len(alone)], the unit of each of its characters.

  Returns:
    int [len(text)], [len(text)].
  """
  first, last = np.zeros([2, len(text)], np.int64)
  if not alone:
    return first, last
  matcher = difflib.SequenceMatcher(None, alone, text, autojunk=False)
  for name, i, j, start, stop in matcher.get_opcodes():
    if name == "equal":
      first[start:stop] = last[start:stop] = owner[i:j]
    else:
      # What came from nothing gets the unit before it.
      first[start:stop] = owner[i] if j > i else owner[max(i - 1, 0)]
      last[start:stop] = owner[max(j - 1, 0)]
  return first, last


def _units(stretch):
  """Returns the units of a stretch, list of str."""
  if stretch.isascii():
    return list(stretch)
  units = []
  for character in stretch:
    if units and _is_attached(character):
      units[-1] += character
    else:
      units.append(character)
  return units


@functools.cache
def _is_attached(character):
  return (
    unicodedata.category(character).startswith("M")
    or ord(character) in _ATTACHED
  )
