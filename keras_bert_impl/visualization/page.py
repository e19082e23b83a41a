"""One HTML file that shows attention: no network, no other files.

The numbers are in the file as base64 of deflate, which a browser undoes. A
probability is stored as a multiple of 2^-19, so that none is off by more than
1e-6; the bytes of equal weight stand together, so that the high ones, which are
mostly 0, take next to nothing. About 14 bits are left of each number; no
encoding that keeps all digits takes much less.
"""

import base64
import hashlib
import html
import json
import pathlib
import string
import zlib

import numpy as np

MOST_BYTES = 400_000
_UNIT = 2.0**19
_DIR = pathlib.Path(__file__).parent / "page"


def render(content, attention, above=""):
  """Returns the text of the file.

  Args:
    content: JSON value, as page/attention.js reads it.
    attention: float [G, N, L, L] from 0 to 1.
    above: str, HTML to be put before all else; it gets no other style or script
      than the page's own.
  """
  style, script = (_read(f"attention.{kind}") for kind in ("css", "js"))
  return string.Template(_read("attention.html")).substitute(
    title=html.escape(f"Attention: {content['name']}"),
    style=style,
    style_hash=_hash(style),
    script=script,
    script_hash=_hash(script),
    above=above,
    content=_pack(json.dumps(content, ensure_ascii=False).encode("utf-8")),
    attention=_pack(_planes(attention).tobytes()),
  )


def _planes(attention):
  """Returns uint8 [3, all numbers], the low bytes first."""
  numbers = np.rint(attention.astype(np.float64) * _UNIT).astype(np.uint32)
  flat = numbers.ravel()
  return np.stack([flat & 255, flat >> 8 & 255, flat >> 16]).astype(np.uint8)


def _pack(data):
  return base64.b64encode(zlib.compress(data, 9)).decode("ascii")


def _hash(text):
  """Returns the hash by which a policy of the page allows a text."""
  digest = hashlib.sha256(text.encode("utf-8")).digest()
  return f"sha256-{base64.b64encode(digest).decode('ascii')}"


def _read(name):
  return (_DIR / name).read_text(encoding="utf-8")
