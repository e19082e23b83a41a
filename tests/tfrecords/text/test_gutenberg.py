"""Books of Project Gutenberg keep their text and nothing else."""

import pytest

from tfrecords.text import documents, gutenberg, sources

SMALL_PRINT = """\
The Project Gutenberg Etext of A Book, by A. Writer

Copyright laws are changing all over the world, be sure to check yours.

***START**THE SMALL PRINT!**FOR PUBLIC DOMAIN ETEXTS**START***
Why is this "Small Print!" statement here? You know: lawyers.

*END*THE SMALL PRINT! FOR PUBLIC DOMAIN ETEXTS*Ver.04.29.93*END*
"""
STORY = "It was the best of\ntimes. It was the\nworst of times."
SENTENCES = ["It was the best of times.", "It was the worst of times."]


def read(folder, text, input_format="auto"):
  path = folder / "book.txt"
  path.write_bytes(text.replace("\n", "\r\n").encode("utf-8"))
  return list(sources.iter_documents([path], input_format))


def book(text, end="*** END OF THIS PROJECT GUTENBERG EBOOK A BOOK ***\nNo."):
  start = "*** START OF THIS PROJECT GUTENBERG EBOOK A BOOK ***"
  return f"The Project Gutenberg EBook\n\n{start}\n\n\n{text}\n\n\n{end}"


@pytest.mark.parametrize(
  "credit",
  [
    "This etext was prepared by A. Price, email ap007@example.ac.uk\n"
    "from the 1890 edition.",
    "Scanned and proofed by A. Reader",
    "Transcribed from the 1892 edition by A. Price",
    "Produced by A. Reader and the Online Distributed\n"
    "Proofreading Team at http://www.example.net",
    "HTML version by A. Reader.",
    "A. Reader, reader@example.org",
  ],
)
def test_small_print_and_credits_stand_before_the_text(tmp_path, credit):
  text = f"{SMALL_PRINT}\n\n{credit}\n\n\n{STORY}\n\n\n"
  last_words = "End of The Project Gutenberg Etext of A Book, by A. Writer\n"
  assert read(tmp_path, text + last_words) == [SENTENCES]
  assert read(tmp_path, book(f"{credit}\n\n{STORY}")) == [SENTENCES]


def test_small_print_may_stand_at_the_end_and_a_credit_after_the_title(
  tmp_path,
):
  print_start = SMALL_PRINT.index("***START**")
  end = "End of the Project Gutenberg Etext\n\n" + SMALL_PRINT[print_start:]
  assert read(tmp_path, book(STORY, end)) == [SENTENCES]
  text = f"A BOOK\n\nProduced by A. Reader <reader@example.org>\n\n{STORY}"
  assert read(tmp_path, book(text)) == [["A BOOK", *SENTENCES]]


@pytest.mark.parametrize(
  "paragraph",
  [
    "Produced by heat, the picture fades.",
    "Write to the editor@example.org of the times.",
    "Transcribed from memory, it is what the old man said.",
  ],
)
def test_what_only_begins_like_a_credit_is_text(tmp_path, paragraph):
  text = f"{STORY}\n\n{paragraph}"
  assert read(tmp_path, book(text)) == [[*SENTENCES, paragraph]]


@pytest.mark.parametrize(
  "note",
  [
    "Transcriber's Note: obvious errors were corrected.",
    "[Transcriber’s note: the map is missing.]",
    "    Original Transcriber's Note: of the edition\n    of 1887.\n\n"
    "    It has end-notes.",
  ],
)
def test_a_note_of_the_transcriber_is_left_out(tmp_path, note):
  for text in (f"{note}\n\n{STORY}", f"{STORY}\n\n{note}"):
    assert read(tmp_path, book(text)) == [SENTENCES]


def test_a_note_under_a_heading_ends_at_the_next_gap(tmp_path):
  note = "Transcriber’s Notes\n\nPage 3, “teh” changed to “the”.\n\nPage 4."
  expected = [SENTENCES]
  assert read(tmp_path, book(f"{note}\n\n\n{STORY}")) == expected
  assert read(tmp_path, book(f"{STORY}\n\n\n{note}")) == expected
  assert read(tmp_path, book(f"{STORY}\n\n\n\n{note}")) == expected
  assert read(tmp_path, book(f"{note}\n\nCHAPTER I\n\n{STORY}")) == [
    ["CHAPTER I", *SENTENCES]
  ]


def test_a_note_in_a_paragraph_leaves_the_next_one_alone(tmp_path):
  note = "  (Transcriber's Note: small capitals.)\n\n  A 300"
  assert read(tmp_path, book(f"{STORY}\n\n{note}")) == [[*SENTENCES, "A 300"]]


def test_the_marks_of_pages_are_left_out():
  marked = "The [p. 17]house{pg 18} of [Pg 9] the [Transcriber's Note: sic] man"
  assert gutenberg.drop_marks(marked) == "The house of the man"


@pytest.mark.parametrize(
  "heading",
  ["[p.16]CHAPTER II.", "Chapter the Last", "STAVE IV: THE END", "PART TWO"],
)
def test_two_blank_lines_and_a_heading_begin_a_document(tmp_path, heading):
  text = f"CHAPTER I\n\n{STORY}\n\n\n{heading}\n\nIt went on."
  first, second = read(tmp_path, book(text))
  assert first == ["CHAPTER I", *SENTENCES]
  assert second[0] in heading
  assert second[-1] == "It went on."
  assert len(read(tmp_path, book(text.replace(heading, "Chapters.")))) == 1


def test_a_chunk_may_begin_with_a_heading(tmp_path):
  chapters = [f"CHAPTER {i}\n\nThis is\nchapter {i}." for i in range(1, 90)]
  path = tmp_path / "book.txt"
  path.write_text("\n\n\n".join(chapters) + "\n")
  files = documents.open_files([str(path)], "prose")
  parts = [
    list(documents.read_chunk(chunk))
    for chunk in documents.plan_chunks(files, 9)
  ]
  assert all(parts)
  assert sum(parts, []) == [
    [f"CHAPTER {i}", f"This is chapter {i}."] for i in range(1, 90)
  ]
