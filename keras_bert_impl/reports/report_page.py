"""One self-contained HTML page of sections, light and dark."""

import html
import os
import urllib.parse
from typing import NamedTuple

from keras_bert_impl import files
from keras_bert_impl.tasks.basics import pictures

NAME = "report.html"

# Texts of users stand in the page: nothing in it can run or load anything.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_STYLE = """
:root { color-scheme: light dark; --paper: #ffffff; --ink: #1b1f24;
  --quiet: #57606a; --line: #d0d7de; --field: #f6f8fa; --link: #0a58a8;
  --series-1: #1f6fb2; --series-2: #b35900; --series-3: #1d7d3f }
@media (prefers-color-scheme: dark) { :root { --paper: #14181d; --ink: #e8ecf1;
  --quiet: #a8b3bf; --line: #3d454f; --field: #1f252c; --link: #7cb8f5;
  --series-1: #6cb2f5; --series-2: #f0a15e; --series-3: #6cc48a } }
* { box-sizing: border-box }
body { background: var(--paper); color: var(--ink); margin: 0 auto;
  font: 1rem/1.5 system-ui, "Apple SD Gothic Neo", "Malgun Gothic",
  "Noto Sans KR", "NanumGothic", sans-serif; max-width: 64rem; padding: 1rem;
  overflow-wrap: anywhere; word-break: keep-all }
h1 { font-size: 1.5rem; margin: 0 }
h2 { border-bottom: 1px solid var(--line); font-size: 1.2rem;
  margin: 2rem 0 0.75rem }
h3 { font-size: 1rem; margin: 1.25rem 0 0.5rem }
p, figcaption, .quiet { color: var(--quiet); margin: 0.25rem 0 }
a { color: var(--link) }
.wide { overflow-x: auto; overflow-wrap: break-word }
table { border-collapse: collapse; font-variant-numeric: tabular-nums }
th, td { border-bottom: 1px solid var(--line); text-align: left;
  padding: 0.25rem 0.75rem 0.25rem 0; vertical-align: top }
th { color: var(--quiet); font-weight: 600 }
.numbers :is(th, td):not(:first-child) { text-align: right;
  white-space: nowrap }
.figures { display: flex; flex-wrap: wrap; gap: 1rem }
figure { margin: 0; max-width: 100% }
svg { height: auto; max-width: 100% }
svg text { fill: currentColor }
article { background: var(--field); border-radius: 0.4rem; margin: 0.5rem 0;
  padding: 0.5rem 0.75rem }
blockquote { margin: 0 0 0.25rem; max-height: 10rem; overflow-y: auto;
  white-space: pre-wrap }
blockquote + blockquote { border-top: 1px dashed var(--line);
  padding-top: 0.25rem }
dl { display: grid; gap: 0 0.75rem; grid-template-columns: max-content 1fr;
  margin: 0.25rem 0 0 }
dt { color: var(--quiet) }
dd { margin: 0 }
pre { background: var(--field); border-radius: 0.4rem; margin: 0;
  padding: 0.5rem 0.75rem; white-space: pre-wrap }
summary { cursor: pointer }
"""
# Colours of pictures that the style replaces: the default ones of matplotlib,
# black and the first of its cycle.
_COLORS = {
  "#000000": "currentColor",
  "#1f77b4": "var(--series-1)",
  "#ff7f0e": "var(--series-2)",
  "#2ca02c": "var(--series-3)",
}


class Html(str):
  """Text that is markup already, which `text` leaves alone."""


class Section(NamedTuple):
  """A part of a page.

  Attributes:
    title: str.
    body: str, HTML.
  """

  title: str
  body: str


def write(folder, title, sections):
  """Writes report.html into a folder, local or remote, atomically.

  The same sections give the same bytes.

  Args:
    folder: str.
    title: str.
    sections: iterable of `Section`; those with an empty body are left out.

  Returns:
    str, its path.
  """
  path = os.path.join(folder, NAME)
  files.write_atomically(path, to_html(title, sections))
  return path


def to_html(title, sections):
  """Returns the page as str; see `write`."""
  parts = [
    f"<section><h2>{text(section.title)}</h2>\n{section.body}\n</section>"
    for section in sections
    if section.body
  ]
  return "\n".join(
    (
      '<!doctype html><html lang="en"><head><meta charset="utf-8">',
      f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
      '<meta name="viewport" content="width=device-width, initial-scale=1">',
      f"<title>{text(title)}</title><style>{_STYLE}</style></head>",
      f"<body><h1>{text(title)}</h1>",
      *parts,
      "</body></html>\n",
    )
  )


def text(value):
  """Returns a value as `Html`: nothing in it is markup."""
  if isinstance(value, Html):
    return value
  # Half a character cannot be written, and can come from a user's JSON.
  value = str(value).encode("utf-8", "replace").decode("utf-8")
  return Html(html.escape(value))


def note(value):
  """Returns a paragraph of explanation."""
  return f"<p>{text(value)}</p>"


def heading(value):
  """Returns a title inside of a section."""
  return f"<h3>{text(value)}</h3>"


def link(address, value):
  """Returns a link to a file, by its path from the page."""
  address = urllib.parse.quote(os.fsencode(address), safe="/=")
  return Html(f'<a href="{text(address)}">{text(value)}</a>')


def table(header, rows, is_numeric=True):
  """Returns a table; "" without rows.

  Args:
    header: tuple of str; empty for none.
    rows: iterable of tuples of values, `Html` or any other.
    is_numeric: bool, whether all columns but the first are aligned right.
  """
  lines = [_row("td", row) for row in rows]
  if not lines:
    return ""
  if header:
    lines.insert(0, _row("th", header))
  kind = ' class="numbers"' if is_numeric else ""
  body = "\n".join(lines)
  return f'<div class="wide"><table{kind}>\n{body}\n</table></div>'


def pairs(values):
  """Returns a table of (name, value); "" of none."""
  return table((), values, is_numeric=False)


def folded(title, body):
  """Returns a section that is closed until its title is clicked."""
  return f"<details><summary>{text(title)}</summary>\n{body}\n</details>"


def svg(figure, title):
  """Returns a matplotlib figure as SVG in the colours of the page."""
  return pictures.to_svg(figure, title, _COLORS)


def figures(pairs_of_figures):
  """Returns matplotlib figures side by side.

  Args:
    pairs_of_figures: iterable of (title, figure, or SVG as str).
  """
  shown = [
    f"<figure>{figure if isinstance(figure, str) else svg(figure, title)}"
    f"<figcaption>{text(title)}</figcaption></figure>"
    for title, figure in pairs_of_figures
  ]
  return f'<div class="figures">{"".join(shown)}</div>' if shown else ""


def _row(kind, cells):
  shown = "".join(f"<{kind}>{text(cell)}</{kind}>" for cell in cells)
  return f"<tr>{shown}</tr>"
