"""Reads TriviaQA's own files as questions to train on, in SQuAD's manner.

A file such as `triviaqa-rc/qa/wikipedia-train.json` names texts in
`triviaqa-rc/evidence/wikipedia` and, if its domain is the Web, in
`triviaqa-rc/evidence/web`. Nobody marked the answers in them: each text that
holds one of them makes an example, with its first occurrence as the answer.

Source: Joshi et al. 2017 (TriviaQA); Devlin et al. 2019, section 4.2, footnote:
the first 400 tokens of a document, if they hold an answer.
"""

import os
import re

from absl import logging

from keras_bert_impl import files
from keras_bert_impl.tasks.basics import example_types

KEY = "Data"
MAX_WORDS = 400

_EVIDENCE = "evidence"
_WORD = re.compile(r"\S+")
# Lists of texts of an entry, and the folders of these.
_PAGES = {"EntityPages": "wikipedia", "SearchResults": "web"}


def read(data, path):
  """Returns the examples of a file, list of `QuestionExample`.

  Args:
    data: dict, content of the file.
    path: str, the file, local or gs://...

  Raises:
    ValueError: it is not laid out so, has no answers, or no text holds one.
    FileNotFoundError: the folder of the texts is not there.
  """
  # The folder above is found from a bare file name too.
  whole = path if files.is_remote(path) else os.path.abspath(path)
  folder = os.path.join(os.path.dirname(os.path.dirname(whole)), _EVIDENCE)
  if not files.exists(folder):
    raise FileNotFoundError(
      f"{path}: its texts must be in {folder}, as TriviaQA's archive has them."
    )
  entries = files.field(data, KEY, list, path)
  examples, num_texts = [], 0
  for index, entry in enumerate(entries):
    place = f"{path}: {KEY}[{index}]"
    pattern = _pattern(entry, place)
    for title, name in _texts(entry, place):
      num_texts += 1
      text = _beginning(os.path.join(folder, name))
      found = text and pattern.search(text)
      if found:
        examples.append(
          example_types.QuestionExample(
            id=f"{files.field(entry, 'QuestionId', str, place)}--{name}",
            question=files.field(entry, "Question", str, place),
            context=text,
            answers=((found.group(), found.start()),),
            title=title,
            origin=place,
          )
        )
  logging.info(
    "%s: %d of %d texts hold an answer in their first %d words.",
    path,
    len(examples),
    num_texts,
    MAX_WORDS,
  )
  if not examples:
    raise ValueError(
      f"{path}: none of its {num_texts} texts in {folder} holds an answer in"
      f" its first {MAX_WORDS} words. Check that both are of one archive."
    )
  return examples


def _pattern(entry, place):
  """Returns a pattern of whole words for all answers to a question."""
  if "Answer" not in entry:
    raise ValueError(
      f"{place} has no Answer: files without answers are not for training."
    )
  answer = files.field(entry, "Answer", dict, place)
  answers = {
    files.field(answer, "Value", str, place),
    *files.field(answer, "Aliases", list, place, ()),
  }
  # The longest of those that begin at one place.
  ordered = sorted(filter(None, answers), key=lambda text: (-len(text), text))
  choices = "|".join(map(re.escape, ordered))
  return re.compile(rf"(?<!\w)(?:{choices})(?!\w)", re.IGNORECASE)


def _texts(entry, place):
  """Yields (title, path below the folder of the texts) of an entry."""
  for key, folder in _PAGES.items():
    for page in files.field(entry, key, list, place, ()):
      name = files.field(page, "Filename", str, place)
      title = files.field(page, "Title", str, place, name)
      yield title, os.path.join(folder, name)


def _beginning(path):
  """Returns the first words of a text; "" if the file does not exist."""
  if not files.exists(path):
    return ""  # The archive lacks some of what its files name.
  text = files.read_text(path)
  words = list(_WORD.finditer(text))[:MAX_WORDS]
  return text[: words[-1].end()] if words else ""
