import itertools
import textwrap

import pytest

from tfrecords.text import documents, sources


def write(folder, text, name="text.txt"):
  path = folder / name
  path.write_bytes(text.encode("utf-8"))
  return str(path)


def read(*paths, input_format="auto"):
  return list(sources.iter_documents(paths, input_format))


@pytest.mark.parametrize(
  ("text", "expected"),
  [
    # A blank line separates documents.
    ("A one.\nA two.\n\nB one.\n", [["A one.", "A two."], ["B one."]]),
    # Marks of other systems and empty documents are dropped.
    ("\ufeff\r\nA.\r\n \t\r\n\r\n\r\n  B.  \r\n\r\n", [["A."], ["B."]]),
    # Sentences are taken as they are.
    ("A is. B is.\nC is.\nD is.\n", [["A is. B is.", "C is.", "D is."]]),
    # Lines of several sentences are paragraphs.
    (
      "A is. B is. C is.\nD is. E is. F is.\n\nG. H. I am.\n",
      [["A is.", "B is.", "C is.", "D is.", "E is.", "F is."], ["G. H. I am."]],
    ),
    ("", []),
    (" \n\n \n", []),
  ],
)
def test_documents_are_lists_of_sentences(tmp_path, text, expected):
  assert read(write(tmp_path, text)) == expected


def test_the_end_of_a_file_ends_a_document_without_a_newline(tmp_path):
  first = write(tmp_path, "A one.\nA two.", "1.txt")
  second = write(tmp_path, "B.", "2.txt")
  assert read(first, second) == [["A one.", "A two."], ["B."]]


def test_folders_and_patterns_stand_for_their_files(tmp_path):
  for name in ("b.txt", "a.txt", ".hidden"):
    write(tmp_path, f"From {name}\n", name)
  expected = [["From a.txt"], ["From b.txt"]]
  assert read(tmp_path) == expected
  assert read(tmp_path / "*.txt") == expected


BOOK = """\ufeffThe Project Gutenberg EBook of A Book

*** START OF THIS PROJECT GUTENBERG EBOOK
A BOOK ***



CHAPTER I

[Illustration: A boat]

It was the best of
times. It was the
worst of times.

So it
began.



CHAPTER II

It went on.


End of the Project Gutenberg EBook of A Book

*** END OF THIS PROJECT GUTENBERG EBOOK A BOOK ***

Licence.
"""


def test_a_published_book_becomes_chapters_of_whole_sentences(tmp_path):
  sentences = (
    "It was the best of times.|It was the worst of times.|So it began."
  )
  assert read(write(tmp_path, BOOK.replace("\n", "\r\n"))) == [
    ["CHAPTER I", *sentences.split("|")],
    ["CHAPTER II", "It went on."],
  ]


def test_hard_wrapped_lines_are_recognised_without_a_licence(tmp_path):
  words = "the quick brown fox jumps over the lazy dog and runs. Then it rests "
  path = write(tmp_path, textwrap.fill(words * 40))
  assert read(path)[0][1] == (
    "Then it rests the quick brown fox jumps over the lazy dog and runs."
  )


def test_korean_lines_are_joined_with_and_han_without_a_space():
  assert documents.join_lines(["한국어", "문장"]) == "한국어 문장"
  assert documents.join_lines(["日本", "語"]) == "日本語"
  assert documents.join_lines(["日本", "is Japan"]) == "日本 is Japan"


@pytest.mark.parametrize("input_format", ["sentences", "prose"])
def test_any_number_of_chunks_holds_every_document_once(tmp_path, input_format):
  separator = "\n\n" if input_format == "sentences" else "\n\n\n\n"
  paths = [
    write(
      tmp_path,
      separator.join(
        "\n".join(f"File {f} document {d} line {i}." for i in range(1 + d % 7))
        for d in range(40)
      ),
      f"{f}.txt",
    )
    for f in range(3)
  ]
  files = documents.open_files(paths, input_format)
  whole = list(documents.read_chunk(files))
  assert len(whole) == 120
  for num_chunks in (1, 2, 5, 33, 1000):
    chunks = documents.plan_chunks(files, num_chunks)
    assert len(chunks) == num_chunks
    found = itertools.chain.from_iterable(map(documents.read_chunk, chunks))
    assert list(found) == whole


def test_an_endless_document_is_cut_at_a_line(tmp_path, monkeypatch):
  monkeypatch.setattr(documents, "_SAMPLE_BYTES", 100)
  monkeypatch.setattr(documents, "_LONGEST_DOCUMENT_BYTES", 200)
  lines = [f"This is line {i}." for i in range(300)]
  path = write(tmp_path, "\n".join(lines))
  files = documents.open_files([path], "sentences")
  chunks = documents.plan_chunks(files, 4)
  parts = [list(documents.read_chunk(chunk)) for chunk in chunks]
  assert all(len(part) == 1 and len(part[0]) > 50 for part in parts)
  assert [line for part in parts for line in part[0]] == lines
  assert documents.count_documents(files, at_most=5) == 1


def test_written_sentences_are_read_back_and_counted(tmp_path):
  path = str(tmp_path / "out.txt")
  written = [["A."], ["B.", "B."], ["C."]]
  documents.write_sentences(path, written)
  assert read(path, input_format="sentences") == written
  files = documents.open_files([path])
  assert documents.count_documents(files, at_most=2) == 2
  assert documents.count_documents(files, at_most=9) == 3


def test_failing_while_writing_leaves_the_old_file(tmp_path):
  path = write(tmp_path, "Old.\n")

  def failing():
    yield ["New."]
    raise OSError("disk full")

  with pytest.raises(OSError, match="disk full"):
    documents.write_sentences(path, failing())
  assert read(path) == [["Old."]]
  assert [p.name for p in tmp_path.iterdir()] == ["text.txt"]


def test_wrong_input_is_named(tmp_path):
  with pytest.raises(FileNotFoundError, match="absent.txt does not exist"):
    read(tmp_path / "absent.txt")
  with pytest.raises(ValueError, match="match no file"):
    read(tmp_path / "*.absent")
  with pytest.raises(ValueError, match="input_format .'prosa'."):
    read(tmp_path, input_format="prosa")
  with pytest.raises(ValueError, match="must be a list"):
    list(sources.iter_documents("text.txt"))


@pytest.mark.parametrize(
  ("content", "message"),
  [
    ("text".encode("utf-16"), "is UTF-16"),
    (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0", "is a binary file.*UTF-8"),
    ("한국어 문장이다.\n".encode("euc-kr"), "is not UTF-8 text"),
  ],
)
def test_a_file_that_is_no_text_is_refused(tmp_path, content, message):
  path = tmp_path / "text.txt"
  path.write_bytes(content)
  with pytest.raises(ValueError, match=f"text.txt {message}"):
    read(path)


def test_bytes_that_are_not_utf8_are_left_out_and_told_once(tmp_path, caplog):
  path = tmp_path / "text.txt"
  line = "La plage était belle et nous avons bien mangé, tous.\n"
  path.write_text(line * 3, encoding="latin-1")
  left = "La plage tait belle et nous avons bien mang, tous."
  assert read(path) == read(path) == [[left] * 3]
  [message] = caplog.messages
  assert message.startswith(f"{path}: 6 of its first 159 bytes are not UTF-8")


def test_a_character_cut_by_the_sample_is_text(tmp_path, monkeypatch, caplog):
  monkeypatch.setattr(documents, "_SAMPLE_BYTES", 40)
  text = "가나다라마바사아자차카타파하"
  assert read(write(tmp_path, text)) == [[text]]
  assert not caplog.messages


@pytest.mark.parametrize("word", ["word", "말"])
def test_an_endless_line_is_cut_at_blanks_or_between_characters(
  tmp_path, monkeypatch, word
):
  monkeypatch.setattr(documents, "_LONGEST_LINE", 50)
  for name in ("_BLOCK_BYTES", "_SAMPLE_BYTES", "_LONGEST_DOCUMENT_BYTES"):
    monkeypatch.setattr(documents, name, 64)
  words = [f"{word}{i}" for i in range(1000)]
  path = write(tmp_path, " ".join(words))
  files = documents.open_files([path], "sentences")
  for num_chunks in (1, 7):
    chunks = documents.plan_chunks(files, num_chunks)
    sentences = [
      sentence
      for chunk in chunks
      for document in documents.read_chunk(chunk)
      for sentence in document
    ]
    assert max(map(len, sentences)) <= 50
    assert " ".join(sentences).split(" ") == words
  # An endless word is cut between characters.
  path = write(tmp_path, word * 1000)
  assert "".join(read(path, input_format="sentences")[0]) == word * 1000
