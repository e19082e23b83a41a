"""Patterns of RE2, the regular expressions of TensorFlow's ops."""


def any_of(code_points):
  """Returns a class that matches one of these characters, ints."""
  return "[" + "".join(rf"\x{{{code:x}}}" for code in code_points) + "]"


def literal(text):
  """Returns the pattern of a text."""
  return "".join(
    rf"\x{{{ord(c):x}}}" if ord(c) < 128 and not c.isalnum() else c
    for c in text
  )
