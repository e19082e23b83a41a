"""TriviaQA's own files, written as its archive has them."""

import json
import re

import pytest

from keras_bert_impl.kinds.answers import squad_files

LONG = "word " * 399


def entry(name, value, aliases, **pages):
  return {
    "Answer": {"Value": value, "Aliases": aliases, "Type": "FreeForm"},
    "Question": f"Which {name}?",
    "QuestionId": name,
    **{
      key: [{"Filename": file, "Title": f"Title of {file}"} for file in files]
      for key, files in pages.items()
    },
  }


def write(folder, texts, *entries):
  """Writes an archive of one file of questions; returns its path."""
  for name, text in texts.items():
    path = folder / "evidence" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
  (folder / "qa").mkdir()
  path = folder / "qa" / "wikipedia-train.json"
  content = {"Data": list(entries), "Domain": "Wikipedia", "Version": 1.0}
  path.write_text(json.dumps(content), encoding="utf-8")
  return str(path)


def test_texts_that_hold_an_answer_are_examples(tmp_path):
  path = write(
    tmp_path,
    {
      "wikipedia/Paris.txt": "Comparisons aside,\n\nPARIS is old. Paris!",
      "wikipedia/Rome.txt": "Rome is older.",
      "wikipedia/Long.txt": f"{LONG}Paris Paris",
      "wikipedia/a.txt": "He was in Paris, France, then.",
      "web/1/2.txt": "서울은 수도이고, 서울 은 크다.",
    },
    entry(
      "city",
      "Paris",
      ["Paris, France", "Ville (lumière)"],
      EntityPages=["Paris.txt", "Rome.txt", "Long.txt", "No.txt", "a.txt"],
    ),
    entry("capital", "서울", [], SearchResults=["1/2.txt"]),
  )
  first, cut, long, korean = squad_files.read(path)
  assert first.id == "city--wikipedia/Paris.txt"
  assert first.question == "Which city?"
  assert first.title == "Title of Paris.txt"
  assert first.answers == (("PARIS", 20),)
  assert first.context[20:25] == "PARIS"
  # The 400th word is the last.
  assert cut.context == f"{LONG}Paris"
  assert cut.answers == (("Paris", len(LONG)),)
  # The longest answer at a place is taken.
  assert long.answers == (("Paris, France", 10),)
  # The answer is a word of its own.
  assert korean.answers == (("서울", 10),)


def test_mistakes_are_told_with_their_place(tmp_path):
  path = write(
    tmp_path,
    {"wikipedia/a.txt": "Nothing."},
    entry("city", "Paris", [], EntityPages=["a.txt"]),
  )
  with pytest.raises(ValueError, match="none of its 1 texts in .*evidence"):
    squad_files.read(path)
  other = tmp_path / "elsewhere" / "qa" / "train.json"
  other.parent.mkdir(parents=True)
  other.write_text(open(path, encoding="utf-8").read(), encoding="utf-8")
  with pytest.raises(
    FileNotFoundError, match=re.escape(str(tmp_path / "elsewhere/evidence"))
  ):
    squad_files.read(str(other))
  other.write_text('{"Data": [{"Question": "q"}]}', encoding="utf-8")
  (tmp_path / "elsewhere" / "evidence").mkdir()
  with pytest.raises(ValueError, match=r"Data\[0\] has no Answer"):
    squad_files.read(str(other))
