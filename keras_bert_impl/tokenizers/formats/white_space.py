"""Characters of white space: Unicode's, and more that Python counts."""

from keras_bert_impl.tokenizers.formats import re2

# RE2's \s is ASCII only; here are the others too.
CODE_POINTS = (
  *range(0x9, 0xE),
  0x20,
  0x85,
  0xA0,
  0x1680,
  *range(0x2000, 0x200B),
  0x2028,
  0x2029,
  0x202F,
  0x205F,
  0x3000,
)
# str.split() also splits at these.
PYTHON_ONLY = (0x1C, 0x1D, 0x1E, 0x1F)

# Matches one of them.
ANY = re2.any_of(CODE_POINTS)
# Matches what Python counts as white space.
PYTHON = re2.any_of((*CODE_POINTS, *PYTHON_ONLY))
