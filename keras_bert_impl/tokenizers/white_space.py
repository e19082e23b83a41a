"""Which characters are white space: Unicode's, and Python's, which has more."""

# RE2's \s is ASCII only, so each tool gets the others from here.
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
# Where str.split() splits besides.
PYTHON_ONLY = (0x1C, 0x1D, 0x1E, 0x1F)


def pattern(code_points):
  """Returns an RE2 class of characters, one at a time."""
  return "[" + "".join(rf"\x{{{code:x}}}" for code in code_points) + "]"


# Of what Python takes for white space.
PYTHON = pattern((*CODE_POINTS, *PYTHON_ONLY))
