"""The alphabet of byte-level vocabularies: a character for each byte.

Each of the 256 bytes is one printable character, so that any bytes become a
string without blanks or control characters: printable Latin-1 characters stand
for themselves, the others follow from U+0100 on ("Ġ" is the blank).

Source: Radford et al. 2019; openai/gpt-2, encoder.py.
"""

_PRINTABLE = frozenset(
  [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
)


def _characters():
  """Returns the character of each byte, a str of 256."""
  others = iter(range(0x100, 0x200))
  return "".join(
    chr(byte if byte in _PRINTABLE else next(others)) for byte in range(256)
  )


CHARACTERS = _characters()
BLANK = CHARACTERS[ord(" ")]

_BYTES = {character: byte for byte, character in enumerate(CHARACTERS)}


def to_bytes(token):
  """Returns the bytes of a token, or None if it is not in the alphabet.

  Special tokens such as "<s>" are in the alphabet too: do not ask for them.
  """
  try:
    return bytes(_BYTES[character] for character in token)
  except KeyError:
    return None
