"""Files in the layouts of SQuAD and CMRC, good and bad."""

import json

import pytest

from keras_bert_impl.kinds.answers import squad_files

QUESTION = {
  "id": "q1",
  "question": "Where?",
  "answers": [
    {"text": "Paris", "answer_start": 3},
    {"text": "in Paris", "answer_start": 0},
  ],
}


def _write(tmp_path, content):
  path = tmp_path / "file.json"
  if not isinstance(content, (bytes, str)):
    content = json.dumps(content, ensure_ascii=False)
  if isinstance(content, str):
    content = content.encode("utf-8")
  path.write_bytes(content)
  return str(path)


def _squad(*questions, context="in Paris", **paragraph):
  paragraphs = [{"context": context, "qas": list(questions), **paragraph}]
  return {"version": "2.0", "data": [{"title": "T", "paragraphs": paragraphs}]}


def test_squad_is_read(tmp_path):
  text = json.dumps(_squad(QUESTION, {**QUESTION, "id": "q2"}))
  # A byte-order mark does not matter.
  path = _write(tmp_path, "\ufeff" + text)
  first, second = squad_files.read(path)
  assert (first.id, second.id) == ("q1", "q2")
  assert (first.question, first.context) == ("Where?", "in Paris")
  assert first.answers == (("Paris", 3), ("in Paris", 0))
  assert first.title == "T"
  assert second.origin == f"{path}: data[0].paragraphs[0].qas[1]"


def test_no_answer_and_an_unknown_one_are_told_apart(tmp_path):
  impossible = {**QUESTION, "is_impossible": True, "plausible_answers": []}
  empty = {**QUESTION, "answers": []}
  unknown = {"id": 7, "question": "Who?"}
  path = _write(tmp_path, _squad(impossible, empty, unknown))
  assert [e.answers for e in squad_files.read(path)] == [(), (), None]
  assert squad_files.read(path)[2].id == "7"


def test_both_layouts_of_cmrc_are_read(tmp_path):
  like_squad = _squad(
    {**QUESTION, "answers": [{"text": "巴黎", "answer_start": -1}]},
    context="在巴黎",
    id="DEV_0",
  )
  [example] = squad_files.read(_write(tmp_path, like_squad))
  assert example.answers == (("巴黎", None),)
  question = {"query_id": "TRAIN_0", "query_text": "哪里？"}
  question["answers"] = ["巴黎", "在巴黎"]
  flat = {"title": "法国", "context_text": "在巴黎", "qas": [question]}
  path = _write(tmp_path, [flat])
  [example] = squad_files.read(path)
  assert example.id == "TRAIN_0"
  assert (example.context, example.question) == ("在巴黎", "哪里？")
  assert example.answers == (("巴黎", None), ("在巴黎", None))
  assert (example.title, example.origin) == ("法国", f"{path}: [0].qas[0]")


def _without(key):
  return {k: v for k, v in QUESTION.items() if k != key}


@pytest.mark.parametrize(
  "content, message",
  [
    ("{", r"file.json is not JSON \(Expecting"),
    (b"\xff\xfe{}", r"file.json:1 is not UTF-8"),
    ("7", "must be an object or a list, not 7"),
    ({"date": []}, "file.json has no 'data', but 'date'"),
    ({"data": []}, "has no questions"),
    ({"data": {}}, "data in .*file.json must be a list, not {}"),
    ({"data": [7]}, r"data\[0\] must be an object, not 7"),
    ({"data": [{"title": "T"}]}, r"data\[0\] has no 'paragraphs', but 'title'"),
    (_squad(_without("id")), r"paragraphs\[0\].qas\[0\] has no 'id', but"),
    (_squad(QUESTION, _without("question")), r"qas\[1\] has no 'question'"),
    (_squad(QUESTION, context=None), r"context in .*paragraphs\[0\] must be"),
    (_squad({**QUESTION, "answers": "Paris"}), "answers in .*not 'Paris'"),
    (
      _squad({**QUESTION, "answers": [{"answer_start": 1}]}),
      r"qas\[0\].answers\[0\] has no 'text', but 'answer_start'",
    ),
    (
      _squad({**QUESTION, "answers": [{"text": "a", "answer_start": "1"}]}),
      r"start in .*answers\[0\] must be an integer, not '1'",
    ),
    (_squad({**QUESTION, "is_impossible": "no"}), "impossible in .*not 'no'"),
  ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path, content, message):
  with pytest.raises(ValueError, match=message):
    squad_files.read(_write(tmp_path, content))


def test_a_missing_file_and_two_questions_with_one_id_are_refused(tmp_path):
  with pytest.raises(FileNotFoundError, match="predict_file .*none.json"):
    squad_files.read(str(tmp_path / "none.json"), "predict_file")
  examples = squad_files.read(_write(tmp_path, _squad(QUESTION, QUESTION)))
  with pytest.raises(ValueError, match=r"qas\[1\] has the id 'q1' of .*\[0\],"):
    squad_files.check_ids(examples)


def test_a_file_none_of_whose_answers_is_in_its_text_is_refused(tmp_path):
  impossible = {**QUESTION, "is_impossible": True}
  path = _write(tmp_path, _squad(impossible, QUESTION, context="in Rome"))
  with pytest.raises(
    ValueError, match=rf"{path}: none of the 1 answers .*'Paris' in .*qas\[1\]"
  ):
    squad_files.check_located(squad_files.read(path), path)
  # One answer in its text, or none at all, is enough.
  elsewhere = {**QUESTION, "answers": [{"text": "Rome", "answer_start": 0}]}
  for questions in ([elsewhere, QUESTION], [{**QUESTION, "answers": []}]):
    path = _write(tmp_path, _squad(*questions))
    squad_files.check_located(squad_files.read(path), path)


def test_the_last_articles_are_split_off(tmp_path):
  articles = []
  for title in "ABC":
    questions = ({**QUESTION, "id": f"{title}{i}"} for i in range(2))
    [article] = _squad(*questions)["data"]
    articles.append({**article, "title": title})
  examples = squad_files.read(_write(tmp_path, {"data": articles}))
  train, dev = squad_files.split_off_articles(examples, 2)
  assert [e.id for e in train] == ["A0", "A1"]
  assert [e.id for e in dev] == ["B0", "B1", "C0", "C1"]
  for number in (0, 3):
    with pytest.raises(
      ValueError, match=rf"dev_articles \({number}\).*file, 3"
    ):
      squad_files.split_off_articles(examples, number)
