"""Writes small made-up data under the names that the READMEs use.

    python tests/small_data.py

writes QNLI/dev.tsv, nsmc/ratings_train.txt and ratings_test.txt,
corpus/train.txt and corpus/held_out.txt into the current folder. What they ask
can be learned: the words of the reviews are in the corpus too, and some of them
tell the label. Scores say that the commands work, and nothing of a model. Needs
no package.
"""

import pathlib
import random

_CITIES = "Lisbon Oslo Seoul Quito Cairo Delhi Turin Dakar Lima Riga".split()
_THINGS = "bridge library tower museum harbour theatre station park".split()

_WHO = (
  "아이가 어머니가 친구가 선생님이 고양이가 강아지가 할머니가 학생이".split()
)
_WHERE = "집에서 학교에서 공원에서 시장에서 강가에서 도서관에서".split()
_WHAT = "책을 노래를 그림을 편지를 사과를 나무를".split()
_DOES = {
  "책을": ["읽었다", "빌렸다"],
  "노래를": ["불렀다", "들었다"],
  "그림을": ["그렸다", "보았다"],
  "편지를": ["썼다", "받았다"],
  "사과를": ["먹었다", "샀다"],
  "나무를": ["심었다", "보았다"],
}
_WHEN = "아침에 저녁에 오늘 어제 봄에 겨울에".split()

_FILM = "영화가 이야기가 연기가 음악이 화면이 결말이".split()
_GOOD = "정말 재미있다|아주 아름답다|참 감동적이다|매우 훌륭하다".split("|")
_BAD = "정말 지루하다|아주 엉망이다|참 실망스럽다|매우 어색하다".split("|")


def question_rows(rng, number):
  """Returns lines of QNLI: whether a sentence answers a question."""
  lines = ["index\tquestion\tsentence\tlabel"]
  for index in range(number):
    city, other = rng.sample(_CITIES, 2)
    thing, year = rng.choice(_THINGS), rng.randrange(1700, 2000)
    question = f"When was the {thing} of {city} built?"
    sentences = {
      "entailment": f"The {thing} of {city} was built in {year}.",
      "not_entailment": f"In {other} many people visit the old {thing}.",
    }
    label = rng.choice([*sentences])
    lines.append(f"{index}\t{question}\t{sentences[label]}\t{label}")
  return lines


def review_rows(rng, number):
  """Returns lines of NSMC: reviews of films, 1 for good ones."""
  lines = ["id\tdocument\tlabel"]
  for index in range(number):
    label = rng.randrange(2)
    judgement = rng.choice(_GOOD if label else _BAD)
    lines.append(f"{index}\t{rng.choice(_FILM)} {judgement}\t{label}")
  return lines


def korean_documents(rng, number):
  """Returns lines of text: a sentence each, a blank one after a document.

  Somebody does things at a place and says what a film was like.
  """
  lines = []
  for _ in range(number):
    who, where = rng.choice(_WHO), rng.choice(_WHERE)
    judgements = rng.choice((_GOOD, _BAD))
    for _ in range(rng.randrange(3, 7)):
      what = rng.choice(_WHAT)
      does = rng.choice(_DOES[what])
      lines.append(f"{rng.choice(_WHEN)} {who} {where} {what} {does}.")
    for _ in range(rng.randrange(1, 4)):
      lines.append(f"{rng.choice(_FILM)} {rng.choice(judgements)}.")
    lines.append("")
  return lines


def main():
  """Writes all files."""
  rng = random.Random(0)
  for name, lines in {
    "QNLI/dev.tsv": question_rows(rng, 1000),
    "nsmc/ratings_train.txt": review_rows(rng, 4000),
    "nsmc/ratings_test.txt": review_rows(rng, 200),
    "corpus/train.txt": korean_documents(rng, 1000),
    "corpus/held_out.txt": korean_documents(rng, 100),
  }.items():
    path = pathlib.Path(name)
    if path.exists():
      print(f"{name} is there and stays.")
      continue
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    print(f"{name}: {len(lines)} lines.")


if __name__ == "__main__":
  main()
