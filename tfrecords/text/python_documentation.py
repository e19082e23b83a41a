"""The default corpus: the documentation inside installed Python packages.

This English text is on every machine where this library runs: the docstrings of
the standard library, TensorFlow, Keras and NumPy. Sources are read with `ast`;
no package is imported. One module is one document.
"""

import ast
import collections
import importlib.util
import inspect
import os
import pathlib
import re
import sysconfig
import tokenize
import warnings
import zlib

from absl import logging

from keras_bert_impl import options, progress
from tfrecords.text import documents, sentences

PACKAGES = ("tensorflow", "keras", "numpy")
STANDARD_LIBRARY = "python"

_SKIPPED_FOLDERS = frozenset(
  ("__pycache__", "site-packages", "dist-packages", "test", "tests", "_api")
)
_MIN_SENTENCES = 3  # of a document
_MIN_WORDS = 3  # of a sentence
_MIN_LETTERS = 0.75  # share of a sentence
_MAX_REPEATS = 2  # of a paragraph
_MIN_LINES = 5  # of a text that is not a docstring

_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_BLOCKS = ("body", "handlers", "orelse", "finalbody")

_FENCE = re.compile(r"\s*(```|~~~)")
_UNDERLINE = re.compile(r"\s*([=\-~^\"'`#*+_])\1{2,}\s*$")
_CODE = re.compile(
  r"\s*(>>>|\.\.\. |\.\.\.$|\$ |@\w|#|import \w|from [\w.]+ import|def \w+\(|"
  r"class \w+[(:]|[\w.\[\]]+ = |[\w.]+\(.*\)$|\.\. |:\w+:|[|+])"
)
_HEADING = re.compile(r"\s*[A-Z][\w ]{0,30}:$")
_NUMPY_PARAMETER = re.compile(r"\s*\*{0,2}[\w, *`.]+ : ")
_BULLET = re.compile(r"^\s*([-*+\u2022]|\d+[.)])\s+")
_PARAMETER = re.compile(
  r"^\s*[`*'\"]{0,2}[\w.]+[`'\"]{0,2}( ?\([^)]*\))?(:| --| -) +(?=\S)"
)
_ROLE = re.compile(r":[\w:]+:(?=`)")
_COLUMNS = re.compile(r"\S {3,}\S|\t")
_LETTER_OR_SPACE = re.compile(r"[A-Za-z ]")


def write_corpus(output_dir, held_out_share=0.05):
  """Writes the corpus as text files: sentences, blank line between documents.

  Files are written under a temporary name and renamed; the result depends only
  on the installed packages.

  Args:
    output_dir: str, folder for the files; created if necessary.
    held_out_share: float in [0, 1), share of the documents set apart, chosen
      by a hash of the module's name.

  Returns:
    (train_files, held_out_files), lists of str paths.
  """
  options.check_numbers("[0, 1)", held_out_share=held_out_share)
  os.makedirs(output_dir, exist_ok=True)
  found = {"train": [], "held_out": []}
  for name, document in iter_modules():
    is_held_out = zlib.crc32(name.encode()) < held_out_share * 2**32
    found["held_out" if is_held_out else "train"].append(document)
  files = [], []
  for paths, (part, texts) in zip(files, found.items(), strict=True):
    if texts:
      path = os.path.join(output_dir, f"python_documentation_{part}.txt")
      documents.write_sentences(path, texts)
      paths.append(path)
  return files


def iter_modules():
  """Yields (module name, document) of every module with enough documentation.

  Packages come in their order here, modules by name. Only the first two
  occurrences of a paragraph are kept, because docstrings are copied from module
  to module.

  Yields:
    name: str, such as "keras.src.layers.layer".
    document: list of str sentences.
  """
  seen = collections.Counter()
  paths = [
    (package, root, path)
    for package, root in _roots()
    for path in _python_files(root)
  ]
  # Half a minute of work, and more on a busy machine.
  for package, root, path in progress.bar(
    "Documentation", iterable=paths, unit="file"
  ):
    name = ".".join((package, *path.relative_to(root).with_suffix("").parts))
    document = []
    for paragraph in module_paragraphs(path):
      seen[paragraph] += 1
      if seen[paragraph] <= _MAX_REPEATS:
        document += filter(_is_prose, sentences.split_sentences(paragraph))
    if len(document) >= _MIN_SENTENCES:
      yield name, document


def module_paragraphs(path):
  """Yields the paragraphs of prose in the docstrings of a Python file."""
  try:
    with tokenize.open(path) as file, warnings.catch_warnings():
      warnings.simplefilter("ignore")  # Invalid escapes in others' code.
      tree = ast.parse(file.read())
  except (SyntaxError, UnicodeDecodeError, ValueError) as error:
    # Templates and sources for other Python versions are part of packages.
    logging.debug("Skipping %s: %s", path, error)
    return
  for text in _documentation(tree):
    yield from prose_paragraphs(text)


def _documentation(tree):
  """Yields the docstrings of a module in the order of the source.

  Long texts in calls and tables at module level count as well: NumPy and the
  language reference keep documentation there.
  """
  stack = [tree]
  top_level = set(map(id, tree.body))
  while stack:
    node = stack.pop()
    if isinstance(node, _DOCUMENTED):
      docstring = ast.get_docstring(node, clean=False)
      if docstring:
        yield docstring
    elif isinstance(node, ast.Expr | ast.Assign):
      if id(node) in top_level:
        yield from _long_strings(node)
      continue
    blocks = (getattr(node, name, ()) for name in _BLOCKS)
    stack += reversed([child for block in blocks for child in block])


def _long_strings(node):
  """Yields the string literals of several lines in a statement."""
  if isinstance(node.value, ast.Constant):
    return  # A docstring, or a comment in the form of one.
  for child in ast.walk(node):
    if isinstance(child, ast.Constant) and isinstance(child.value, str):
      if child.value.count("\n") >= _MIN_LINES:
        yield child.value


def prose_paragraphs(docstring):
  """Returns the paragraphs of a docstring that are prose, unwrapped.

  Headings and their underlines, code (fenced, doctest, or indented after a
  colon), directives and columns are dropped. Entries of parameters and lists
  keep only their descriptions.

  Args:
    docstring: str, in Google, NumPy or plain style.
  """
  paragraphs, current = [], []
  for line, starts_paragraph in _prose_lines(inspect.cleandoc(docstring)):
    if starts_paragraph and current:
      paragraphs.append(documents.join_lines(current))
      current = []
    if line:
      current.append(line)
  if current:
    paragraphs.append(documents.join_lines(current))
  return paragraphs


def _prose_lines(docstring):
  """Yields (stripped line or "", whether a new paragraph starts with it)."""
  lines = docstring.split("\n")
  in_fence = in_doctest = False
  code_indent = None  # Deeper lines than this are a block of code.
  last_indent = 0
  previous = ""  # The last line that was not blank.
  for line, next_line in zip(lines, [*lines[1:], ""], strict=True):
    indent = len(line) - len(line.lstrip())
    if _FENCE.match(line):
      in_fence = not in_fence
      yield "", True
      continue
    in_doctest = bool(line.strip()) and (in_doctest or ">>>" in line)
    if in_fence or in_doctest:
      continue
    if not line.strip():
      if previous.endswith(":") and not _HEADING.match(previous):
        code_indent = last_indent
      yield "", True
      continue
    if code_indent is not None and indent > code_indent:
      continue
    code_indent = last_indent if previous.endswith("::") else None
    previous = line.rstrip()
    is_deeper = indent > last_indent
    is_shallower = indent < last_indent
    last_indent = indent
    if code_indent is not None and is_deeper:
      continue
    if _is_layout(line) or _UNDERLINE.match(next_line):
      yield "", True
      continue
    text, is_entry = _without_label(line)
    yield text.strip(), is_entry or is_shallower


def _is_layout(line):
  return bool(
    _UNDERLINE.match(line)
    or _HEADING.match(line)
    or _CODE.match(line)
    or _NUMPY_PARAMETER.match(line)
    or _COLUMNS.search(line.strip())
  )


def _without_label(line):
  """Returns (line without bullet and parameter name, whether it had one)."""
  text = _BULLET.sub("", line, count=1)
  text = _PARAMETER.sub("", text, count=1)
  return _ROLE.sub("", text), text != line


def _is_prose(sentence):
  """Returns whether a sentence has enough words and is mostly letters."""
  letters = len(_LETTER_OR_SPACE.findall(sentence))
  return (
    sentence.count(" ") >= _MIN_WORDS - 1
    and letters >= _MIN_LETTERS * len(sentence)
    and not sentence.endswith("::")
  )


def _roots():
  """Yields (name, folder) of the installed packages, in a fixed order."""
  yield STANDARD_LIBRARY, pathlib.Path(sysconfig.get_path("stdlib"))
  for package in PACKAGES:
    spec = importlib.util.find_spec(package)
    for folder in (spec and spec.submodule_search_locations) or ():
      yield package, pathlib.Path(folder)


def _python_files(root):
  """Yields the Python files under `root` in the order of their names."""
  for folder, folders, names in os.walk(root):
    folders[:] = sorted(f for f in folders if f not in _SKIPPED_FOLDERS)
    for name in sorted(names):
      if name.endswith(".py") and not name.endswith("_test.py"):
        yield pathlib.Path(folder, name)
