"""Reads files of questions, texts and answers.

  SQuAD 1.1 and 2.0, XQuAD, KorQuAD 1.0, others in this layout:
    {"data": [{"title", "paragraphs": [{"context", "qas": [{"id", "question",
    "answers": [{"text", "answer_start"}], "is_impossible"}]}]}]}
  CMRC 2018, as published in that layout or as
    [{"title", "context_text", "qas": [{"query_id", "query_text",
    "answers": [text]}]}]
    where nothing says at which character an answer begins.
  TriviaQA's own layout, {"Data": [...]}; see `triviaqa_files`.

A question without "answers" is to be predicted. One with an empty list, or with
"is_impossible", has no answer.
"""

from keras_bert_impl import files
from keras_bert_impl.kinds.answers import question_rows, triviaqa_files
from keras_bert_impl.tasks.basics import example_types

# {key of the other layout of CMRC: SQuAD's}.
_KEYS = {"context_text": "context", "query_id": "id", "query_text": "question"}
_UNKNOWN_START = -1  # as CMRC has it


def read(path, name="train_file"):
  """Reads the questions of a file, list of `QuestionExample`.

  Args:
    path: str, local or gs://..., UTF-8.
    name: str, what a message calls the file if it does not exist.

  Raises:
    FileNotFoundError: there is no such file.
    ValueError: it is of none of these layouts; names file and place.
  """
  data = files.read_json(path, (dict, list), name=name)
  if isinstance(data, dict) and triviaqa_files.KEY in data:
    return triviaqa_files.read(data, path)
  if isinstance(data, dict):
    place = f"{path}: data"
    entries = files.field(data, "data", list, path)
  else:
    place, entries = f"{path}: ", data
  examples = []
  for i, entry in enumerate(entries):
    entry_place = f"{place}[{i}]"
    entry = _renamed(entry, entry_place)
    title = str(entry.get("title", i))
    paragraphs, paragraphs_place = [entry], ""
    if "context" not in entry:
      paragraphs = files.field(entry, "paragraphs", list, entry_place)
      paragraphs_place = ".paragraphs[{}]"
    for j, paragraph in enumerate(paragraphs):
      paragraph_place = entry_place + paragraphs_place.format(j)
      context = files.field(paragraph, "context", str, paragraph_place)
      questions = files.field(paragraph, "qas", list, paragraph_place)
      for k, question in enumerate(questions):
        examples.append(
          _example(question, context, title, f"{paragraph_place}.qas[{k}]")
        )
  if not examples:
    raise ValueError(
      f"{path} has no questions: give a JSON file in SQuAD's format."
    )
  return examples


def check_ids(examples):
  """Checks that ids of questions are unique, because predictions use them.

  Raises:
    ValueError: two have; names their places.
  """
  origins = {}
  for example in examples:
    if example.id in origins:
      raise ValueError(
        f"{example.origin} has the id {example.id!r} of "
        f"{origins[example.id]}, but every id must be unique."
      )
    origins[example.id] = example.origin


def check_located(examples, path):
  """Checks that some answers are in their texts; others are not trained on.

  Args:
    examples: list of `QuestionExample`, those of a file.
    path: str, the file.

  Raises:
    ValueError: there are answers and none does; names the first.
  """
  answered = [example for example in examples if example.answers]
  for example in answered:
    text, start = example.answers[0]
    if question_rows.locate(example.context, text, start):
      return
  if answered:
    first = answered[0]
    raise ValueError(
      f"{path}: none of the {len(answered)} answers is in its text, so there is"
      f" nothing to train on; the first is {first.answers[0][0]!r} in"
      f" {first.origin}. Check that texts and answers belong together."
    )


def split_off_articles(examples, number):
  """Splits off the last articles: returns two lists of examples.

  Args:
    examples: list of `QuestionExample`, those of an article together.
    number: int, articles (titles) of the second part.

  Raises:
    ValueError: there are no more articles than that.
  """
  titles = list(dict.fromkeys(example.title for example in examples))
  if not 0 < number < len(titles):
    raise ValueError(
      f"dev_articles ({number}) must be at least 1 and below the number of "
      f"articles in train_file, {len(titles)}."
    )
  held_out = frozenset(titles[-number:])
  return (
    [e for e in examples if e.title not in held_out],
    [e for e in examples if e.title in held_out],
  )


def _example(question, context, title, place):
  """Returns the `QuestionExample` of an entry of "qas"."""
  question = _renamed(question, place)
  answers = files.field(question, "answers", list, place, None)
  if files.field(question, "is_impossible", bool, place, False):
    answers = []
  if answers is not None:
    answers = tuple(
      _answer(answer, f"{place}.answers[{i}]")
      for i, answer in enumerate(answers)
    )
  return example_types.QuestionExample(
    id=str(files.field(question, "id", (str, int), place)),
    question=files.field(question, "question", str, place),
    context=context,
    answers=answers,
    title=title,
    origin=place,
  )


def _answer(answer, place):
  """Returns (text, first character or None)."""
  if isinstance(answer, str):
    return answer, None
  text = files.field(answer, "text", str, place)
  start = files.field(answer, "answer_start", int, place, None)
  return text, None if start == _UNKNOWN_START else start


def _renamed(values, place):
  """Returns an object with the keys of SQuAD."""
  files.check_type(values, dict, place)
  return {_KEYS.get(key, key): value for key, value in values.items()}
