"""Running text of Wikipedia, without titles, headings, lists and tables.

A dump is a file `<wiki>-<date>-pages-articles.xml.bz2` as Wikimedia publishes
it, of any language whose sentences end in a stop. Redirects and pages that are
no articles are left out.

Source: Devlin et al. 2019, section 3.1: "we extract only the text passages and
ignore lists, tables, and headers".
"""

import bz2
import contextlib
import re
from xml.etree import ElementTree

from keras_bert_impl import files
from tfrecords.text import sentences

# Names of its articles in TensorFlow Datasets.
DATA_SETS = ("wikipedia", "wiki40b")

_DUMP = re.compile(r"pages-articles[^/*?]*\.xml(?:-p\d+p\d+)?(?:\.bz2)?$")
# Keys of the namespaces whose links show no text.
_FILE, _CATEGORY = "6", "14"
_ARTICLES = "0"
_LIST_ITEM = re.compile(r"^[ \t]*[*#:;].*$", re.MULTILINE)
# A table that holds no other.
_TABLE = re.compile(
  r"^[ \t:]*\{\|(?:(?!^[ \t:]*\{\|).)*?^[ \t]*\|\}",
  re.MULTILINE | re.DOTALL,
)
# Tags whose content is no part of the text.
_LEFT_OUT = frozenset(
  "ref references table gallery math chem code syntaxhighlight timeline score"
  " imagemap ul ol dl".split()
)
# A paragraph of wikitext goes on in the next line.
_WRAP = re.compile(r"(?<=\S)[ \t]*\n[ \t]*(?=\S)")


def is_dump(name):
  """Returns whether `name` is that of a dump."""
  return bool(_DUMP.search(name))


def is_data_set(name):
  """Returns whether a data set of TensorFlow Datasets holds Wikipedia."""
  return re.split(r"[/:]", name)[0] in DATA_SETS


def iter_documents(path):
  """Yields the articles of a dump in their order.

  Memory does not depend on the size of the dump.

  Args:
    path: str, local or gs://...

  Yields:
    non-empty list of str sentences.

  Raises:
    ValueError: the file is damaged, or no dump, and names it; or
      mwparserfromhell is not installed.
  """
  parse = _import_parser()
  with contextlib.closing(files.open_binary(path)) as file:
    stream = bz2.open(file) if path.endswith(".bz2") else file
    try:
      for text, hidden in _pages(stream):
        document = split_passages(_plain_text(parse(_blank(text)), hidden))
        if document:
          yield document
    except (ElementTree.ParseError, EOFError, OSError) as error:
      raise ValueError(
        f"{path} is damaged, or no dump of Wikipedia ({error}): fetch it again."
      ) from error


def split_passages(text):
  """Returns the sentences of the lines that are running text, list of str.

  Such a line ends as a sentence does; headings and items of lists do not.

  Args:
    text: str, a line for each paragraph, heading or item.
  """
  return [
    sentence
    for line in text.split("\n")
    if sentences.ends_sentence(line) and "|" not in line
    for sentence in sentences.split_sentences(line)
  ]


def _import_parser():
  """Returns the parser of wikitext."""
  try:
    import mwparserfromhell
  except ImportError as error:
    raise ValueError(
      "A dump of Wikipedia needs mwparserfromhell, which is not installed:"
      " pip install 'keras-bert-impl[wikipedia]'."
    ) from error
  return mwparserfromhell.parse


def _pages(stream):
  """Yields (wikitext, pattern of links without text) of the articles."""
  names, hidden = ["File", "Image", "Category"], None
  events = ElementTree.iterparse(stream, events=("start", "end"))
  _, root = next(events)
  for event, element in events:
    if event == "start":
      continue
    tag = _name(element)
    if tag == "namespace" and element.get("key") in (_FILE, _CATEGORY):
      names.append(element.text or "")
    elif tag == "page":
      hidden = hidden or re.compile(
        rf"\s*(?:{'|'.join(map(re.escape, filter(None, names)))})\s*:",
        re.IGNORECASE,
      )
      text = _article(element)
      root.clear()
      if text:
        yield text, hidden


def _article(page):
  """Returns the wikitext of a page, "" if it is no article."""
  fields = {_name(child): child for child in page.iter()}
  is_article = fields["ns"].text == _ARTICLES and "redirect" not in fields
  return (fields["text"].text or "") if is_article else ""


def _name(element):
  """Returns the tag of an element without its namespace."""
  return element.tag.rpartition("}")[2]


def _blank(text):
  """Returns wikitext without tables and items of lists."""
  found = True
  while found:
    text, found = _TABLE.subn("", text)
  return _LIST_ITEM.sub("", text)


def _plain_text(code, hidden):
  """Returns the text of parsed wikitext, a line for each paragraph."""
  from mwparserfromhell import nodes

  for node in code.filter(
    recursive=True,
    matches=lambda node: (
      isinstance(node, nodes.Heading)
      or isinstance(node, nodes.Tag)
      and str(node.tag).strip().lower() in _LEFT_OUT
      or isinstance(node, nodes.Wikilink)
      and hidden.match(str(node.title))
    ),
  ):
    # One inside of another is gone with it.
    with contextlib.suppress(ValueError):
      code.remove(node)
  return _WRAP.sub(" ", code.strip_code())
