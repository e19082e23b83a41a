import textwrap

import pytest

from tfrecords.text import python_documentation, sources

GOOGLE_DOCSTRING = """Returns the sum of its
  two arguments. It never fails.

  Example:

  ```python
  add(1, 2)  # this is code
  ```

  >>> add(1, 2)
  3

  It is used like this, for example:

      add(3, 4)

  Args:
    first: The number to start
      with, an `int`.
    second (int): The number to add.

  Returns:
    The sum of both numbers.
  """


def test_prose_is_what_stays_of_a_google_docstring():
  assert python_documentation.prose_paragraphs(GOOGLE_DOCSTRING) == [
    "Returns the sum of its two arguments. It never fails.",
    "It is used like this, for example:",
    "The number to start with, an `int`.",
    "The number to add.",
    "The sum of both numbers.",
  ]


def test_prose_is_what_stays_of_a_numpy_docstring():
  docstring = """
    Add the arguments.

    Parameters
    ----------
    first : array_like
        The number that
        comes first.

    See Also
    --------
    :func:`subtract`

    * A point of
      two lines.
    * Another point with :class:`Name`.
    """
  assert python_documentation.prose_paragraphs(docstring) == [
    "Add the arguments.",
    "The number that comes first.",
    "A point of two lines.",
    "Another point with `Name`.",
  ]


@pytest.fixture(name="package")
def fixture_package(tmp_path, monkeypatch):
  """A package of 40 modules that must not be imported."""
  root = tmp_path / "package"
  (root / "tests").mkdir(parents=True)
  for i in range(40):
    source = f'''\
      """Module number {i} has documentation.

      It says a few things about {i}. They are all true of {i}.
      """
      raise RuntimeError("imported")

      def function():
        """Does what number {i} does best.

        This paragraph is copied everywhere.
        """
    '''
    (root / f"module{i:02}.py").write_text(textwrap.dedent(source))
  (root / "broken.py").write_text('"""Half a module')
  (root / "tests" / "module.py").write_text(
    '"""One a b. Two a b. Three a b."""'
  )
  monkeypatch.setattr(
    python_documentation, "_roots", lambda: [("package", root)]
  )
  return root


def test_a_module_is_a_document_in_the_order_of_the_source(package):
  modules = dict(python_documentation.iter_modules())
  assert list(modules) == [f"package.module{i:02}" for i in range(40)]
  assert modules["package.module07"] == [
    "Module number 7 has documentation.",
    "It says a few things about 7.",
    "They are all true of 7.",
    "Does what number 7 does best.",
  ]
  sentences = [s for document in modules.values() for s in document]
  assert sentences.count("This paragraph is copied everywhere.") == 2


def test_held_out_documents_are_set_apart(package, tmp_path):
  out = tmp_path / "out"
  train, held_out = python_documentation.write_corpus(out, 0.25)
  train_documents = list(sources.iter_documents(train))
  held_out_documents = list(sources.iter_documents(held_out))
  assert len(train_documents) + len(held_out_documents) == 40
  assert 3 <= len(held_out_documents) <= 20
  again = python_documentation.write_corpus(tmp_path / "again", 0.25)
  assert list(sources.iter_documents(again[1])) == held_out_documents
  train, held_out = python_documentation.write_corpus(tmp_path / "out", 0)
  assert (len(train), held_out) == (1, [])
  with pytest.raises(ValueError, match="held_out_share .1.5."):
    python_documentation.write_corpus(tmp_path, 1.5)


def test_texts_in_tables_and_calls_count_as_documentation(package):
  (package / "newdocs.py").write_text(
    "from x import add_newdoc\n"
    "add_newdoc('f', '''\nGive back the number.\n\nIt is the number given.\n"
    "\nNothing else is done to it.\n''')\n"
  )
  modules = dict(python_documentation.iter_modules())
  assert len(modules["package.newdocs"]) == 3
