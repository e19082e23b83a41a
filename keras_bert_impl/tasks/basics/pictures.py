"""Pictures, drawn without a display: PNG files, and SVG inside of pages."""

import html
import io
import re
import warnings

import numpy as np
from absl import logging

from keras_bert_impl import files

# One hue, as a share of it: legible on white and on black.
_HUE = (0.20, 0.50, 0.85)
_MOST_OPAQUE = 0.75
# Fonts with the letters that matplotlib's own lacks; the first one is taken.
_FONTS = (
  "Noto Sans CJK KR",
  "Noto Sans CJK JP",
  "Noto Sans KR",
  "NanumGothic",
  "Apple SD Gothic Neo",
  "Malgun Gothic",
  "Microsoft YaHei",
  "WenQuanYi Zen Hei",
)
_STYLE = {"svg.fonttype": "none", "svg.hashsalt": "page"}
# Addresses, names of fonts, which the page has, and of parts, which are the
# same in every picture.
_NOISE = re.compile(
  r"<metadata>.*?</metadata>|font-family: [^;\"]*;? ?|"
  r" id=\"[A-Za-z0-9.]+_\d+\"",
  re.DOTALL,
)
_POINTS_PER_PIXEL = 0.75


def new_figure(width, height):
  """Returns an empty matplotlib figure; sizes in hundreds of pixels."""
  # Late and without pyplot: no display, no global state, no start-up cost.
  from matplotlib import figure

  return figure.Figure(figsize=(width, height), dpi=100)


def save(canvas, path):
  """Writes a figure atomically as PNG; tells if no font has its letters."""
  content = io.BytesIO()
  _take_literally(canvas)
  with warnings.catch_warnings(record=True) as found:
    warnings.simplefilter("always")
    canvas.tight_layout()
    canvas.savefig(content, format="png")
  files.write_atomically(path, content.getvalue())
  if any("missing from font" in str(each.message) for each in found):
    _tell_of_fonts(path)


def _tell_of_fonts(path):
  import matplotlib

  logging.warning(
    "%s shows letters as boxes: install a font that has them (one of %s; on"
    " Debian fonts-nanum or fonts-noto-cjk) and remove fontlist*.json, where"
    " matplotlib remembers the old ones, from %s.",
    path,
    ", ".join(_FONTS),
    matplotlib.get_cachedir(),
  )


def to_svg(canvas, title, colors):
  """Returns a figure as an SVG element for a page, str.

  It has no background. Text stays text, in the page's fonts, which have the
  letters of its language. The same figure gives the same element.

  Args:
    canvas: figure.
    title: str, what a screen reader says.
    colors: {colour of the figure, such as "#000000": the page's, in CSS}.
  """
  import matplotlib

  content = io.StringIO()
  _take_literally(canvas)
  with matplotlib.rc_context(_STYLE), warnings.catch_warnings():
    # The page's fonts have the letters that matplotlib's own does not.
    warnings.filterwarnings("ignore", "Glyph .* missing from font")
    canvas.savefig(content, format="svg", transparent=True)
  text = _NOISE.sub("", content.getvalue())
  for color, name in colors.items():
    text = text.replace(color, name)
  opening, _, body = text[text.index("<svg") :].partition(">")
  box = re.search(r'viewBox="([^"]*)"', opening).group(1)
  width = float(box.split()[2]) / _POINTS_PER_PIXEL
  return (
    f'<svg viewBox="{box}" role="img" aria-label="{html.escape(title)}"'
    f' style="width: {width:.0f}px">{body.strip()}'
  )


def _take_literally(canvas):
  """Makes labels mean what they say, in any script, not formulas: "$a_$"."""
  from matplotlib import font_manager, text

  installed = {font.name for font in font_manager.fontManager.ttflist}
  others = [name for name in _FONTS if name in installed]
  for label in canvas.findobj(text.Text):
    label.set_parse_math(False)
    families = dict.fromkeys([*label.get_fontfamily(), *others[:1]])
    label.set_fontfamily([*families])


def shaded(shares):
  """Returns the colours of cells, float [..., 4]: the more, the stronger.

  Args:
    shares: float [...], from 0 to 1.
  """
  shares = np.asarray(shares)
  hue = np.broadcast_to(_HUE, (*shares.shape, 3))
  return np.concatenate([hue, _MOST_OPAQUE * shares[..., None]], axis=-1)
