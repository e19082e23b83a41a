"""Counts what keeps the code readable: sizes of functions, classes, scripts.

    python tests/code_size.py

prints the figures and everything above its limit. `tests/test_code_size.py`
holds the limits.
"""

import ast
import functools
import pathlib
import sys
from typing import NamedTuple

ROOT = pathlib.Path(__file__).parents[1]
PACKAGES = ("keras_bert_impl", "tfrecords", "official_tasks")

MOST_BODY_LINES = 50  # of a function, without its docstring
MOST_ARGUMENTS = 8  # of a function; constructors of layers may have more
MOST_CLASS_LINES = 250
MOST_METHODS = 15
MOST_SCRIPT_LINES = 220
MOST_FORWARD_FILES = 14  # that run while BERT is built and called
MOST_FORWARD_FUNCTIONS = 127  # in these


class Count(NamedTuple):
  """A place in the code and how much there is of something."""

  where: str
  size: int


def source_files():
  """Returns the paths of the source, without that of the tests."""
  return [
    path for top in PACKAGES for path in sorted((ROOT / top).rglob("*.py"))
  ]


@functools.cache
def parsed(path):
  """Returns the syntax tree of a file."""
  return ast.parse(path.read_text(encoding="utf-8"))


def body_lines(function):
  """Returns the number of lines of a function after its docstring."""
  body = function.body
  if len(body) > 1 and ast.get_docstring(function, clean=False) is not None:
    body = body[1:]
  return body[-1].end_lineno - body[0].lineno + 1


def num_arguments(function):
  """Returns the number of arguments, without self and cls."""
  arguments = function.args
  names = [
    argument.arg
    for argument in (
      *arguments.posonlyargs,
      *arguments.args,
      *arguments.kwonlyargs,
    )
  ]
  return len(names) - (bool(names) and names[0] in ("self", "cls"))


def num_lines(definition):
  """Returns the number of lines of a class."""
  return definition.end_lineno - definition.lineno + 1


def num_methods(definition):
  """Returns the number of methods of a class."""
  return sum(isinstance(each, ast.FunctionDef) for each in definition.body)


def num_file_lines(path):
  """Returns the number of lines of a file."""
  return len(path.read_text(encoding="utf-8").splitlines())


def definitions(*kinds):
  """Yields (where, node) for every definition of these kinds of nodes."""
  for path in source_files():
    for node in ast.walk(parsed(path)):
      if isinstance(node, kinds):
        yield f"{path.relative_to(ROOT)}:{node.lineno} {node.name}", node


def above_limits():
  """Returns {what: list of `Count`} of all that is larger than it may be."""
  functions = [*definitions(ast.FunctionDef, ast.AsyncFunctionDef)]
  constructors = [
    (where, node)
    for where, node in functions
    if node.name == "__init__" and "/layers/" in where
  ]
  others = [each for each in functions if each not in constructors]
  classes = [*definitions(ast.ClassDef)]
  scripts = [
    (path.name, path) for path in sorted((ROOT / "official_tasks").glob("*.py"))
  ]
  limits = (
    ("functions", "lines", MOST_BODY_LINES, functions, body_lines),
    ("functions", "arguments", MOST_ARGUMENTS, others, num_arguments),
    ("classes", "lines", MOST_CLASS_LINES, classes, num_lines),
    ("classes", "methods", MOST_METHODS, classes, num_methods),
    ("scripts", "lines", MOST_SCRIPT_LINES, scripts, num_file_lines),
  )
  return {
    f"{kind} above {limit} {unit}": [
      Count(where, size(each)) for where, each in found if size(each) > limit
    ]
    for kind, unit, limit, found, size in limits
  }


def forward_functions():
  """Returns the functions of the library that BERT runs through, in training.

  Returns:
    set of (file, line), while it is built and called once. Functions that the
    library calls once for all, such as imports, are left out.
  """
  import numpy as np

  import keras_bert_impl as kb

  config = kb.EncoderConfig.preset("bert_tiny", vocab_size=100)
  kb.TransformerEncoder(config)
  library, found = str(ROOT / "keras_bert_impl"), set()

  def note(frame, event, argument):
    code = frame.f_code
    if code.co_filename.startswith(library):
      found.add((code.co_filename, code.co_firstlineno))

  ids = np.ones((2, 8), "int32")
  inputs = {"input_ids": ids, "input_mask": ids, "segment_ids": 0 * ids}
  sys.setprofile(note)
  try:
    kb.TransformerEncoder(config)(inputs, training=True)
  finally:
    sys.setprofile(None)
  return found


def module_name(path):
  """Returns the dotted name of a source file."""
  parts = path.relative_to(ROOT).with_suffix("").parts
  return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports():
  """Returns {module: set of modules of the source that it imports}."""
  modules = {module_name(path): path for path in source_files()}
  found = {}
  for name, path in modules.items():
    named = set()
    for node in ast.walk(parsed(path)):
      if isinstance(node, ast.Import):
        named.update(alias.name for alias in node.names)
      elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
          full = f"{node.module}.{alias.name}"
          named.add(full if full in modules else node.module)
    found[name] = (named & modules.keys()) - {name}
  return found


def package_of(module):
  """Returns the folder of a module; a module beside folders is its own."""
  folder = module.rpartition(".")[0]
  return module if folder in ("", *PACKAGES[:2]) else folder


def circles(graph):
  """Returns groups of nodes that reach each other, list of sorted lists."""
  reach = {}
  for start in graph:
    seen, todo = set(), [start]
    while todo:
      for node in graph.get(todo.pop(), ()):
        if node not in seen:
          seen.add(node)
          todo.append(node)
    reach[start] = seen
  groups = {
    tuple(sorted(b for b in reach[a] if a in reach.get(b, ()))) for a in graph
  }
  return [list(group) for group in sorted(groups) if len(group) > 1]


def file_circles():
  """Returns the groups of modules that import each other."""
  return circles(imports())


def package_circles():
  """Returns the groups of folders that import each other."""
  graph = {}
  for module, others in imports().items():
    own = package_of(module)
    graph.setdefault(own, set()).update(
      package_of(other) for other in others if package_of(other) != own
    )
  return circles(graph)


def main():
  """Prints the figures."""
  functions = forward_functions()
  num_files = len({path for path, _ in functions})
  print(f"BERT built and called: {num_files} files, {len(functions)} functions")
  for title, counts in above_limits().items():
    print(f"{title}: {len(counts)}")
    for count in sorted(counts, key=lambda count: -count.size):
      print(f"  {count.size:5} {count.where}")
  for title, groups in (
    ("circles of files", file_circles()),
    ("circles of folders", package_circles()),
  ):
    print(f"{title}: {len(groups)}")
    for group in groups:
      print(f"  {' '.join(group)}")


if __name__ == "__main__":
  main()
