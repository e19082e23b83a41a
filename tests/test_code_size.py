"""Functions, classes and scripts stay small, and imports go one way."""

from tests import code_size


def test_functions_classes_and_scripts_are_small():
  assert not sum(code_size.above_limits().values(), [])


def test_the_forward_pass_runs_through_few_files_and_functions():
  functions = code_size.forward_functions()
  files = {path for path, _ in functions}
  assert len(files) <= code_size.MOST_FORWARD_FILES
  assert len(functions) <= code_size.MOST_FORWARD_FUNCTIONS


def test_neither_files_nor_folders_import_in_circles():
  assert code_size.file_circles() == []
  assert code_size.package_circles() == []


def test_circles_are_found():
  graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set()}
  assert code_size.circles(graph) == [["a", "b", "c"]]
