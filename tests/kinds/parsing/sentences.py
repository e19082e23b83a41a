"""Small files of dependency trees, and sentences whose trees can be learned."""

import random

from keras_bert_impl.kinds.parsing import parsing_files

# As in Universal Dependencies: a word of two, an empty node, and no DEPS.
CONLLU = """\
# newdoc id = n01
# sent_id = n01-1
# text = Vámonos al mar.
1-2	Vámonos	_	_	_	_	_	_	_	_
1	Vamos	ir	VERB	_	Mood=Imp	0	root	0:root	_
2	nos	nosotros	PRON	_	_	1	obj	_	_
3-4	al	_	_	_	_	_	_	_	_
3	a	a	ADP	_	_	5	case	_	_
4	el	el	DET	_	_	5	det	_	_
5	mar	mar	NOUN	_	_	1	obl:lmod	_	SpaceAfter=No
6	.	.	PUNCT	_	_	1	punct	_	_

# sent_id = n01-2
# text = Sue likes coffee and Bill tea
1	Sue	Sue	PROPN	_	_	2	nsubj	_	_
2	likes	like	VERB	_	_	0	root	_	_
3	coffee	coffee	NOUN	_	_	2	obj	_	_
4	and	and	CCONJ	_	_	5	cc	_	_
5	Bill	Bill	PROPN	_	_	2	conj	_	_
5.1	likes	like	VERB	_	_	_	_	2:conj	_
6	tea	tea	NOUN	_	_	5	orphan	_	_

"""

# As KLUE-DP's files begin.
KLUE = """\
## 토큰, 레이블 구분자 : \\t
## 주석 : ##
## 칼럼명 : INDEX\tWORD_FORM\tLEMMA\tPOS\tHEAD\tDEPREL
## klue-dp-v1_dev_00000_wikitree\t고양이가 작은 집을 본다.
1	고양이가	고양이 가	NNG+JKS	4	NP_SBJ
2	작은	작 은	VA+ETM	3	VP_MOD
3	집을	집 을	NNG+JKO	4	NP_OBJ
4	본다.	보 ㄴ다 .	VV+EF+SF	0	VP

## klue-dp-v1_dev_00001_wikitree\t강아지 나무
1	강아지	강아지	NNG	2	NP
2	나무	나무	NNG	0	NP
"""

NOUNS, VERBS, ADJECTIVES = ("cat", "dog", "bird"), ("sees", "finds"), ("old",)


def make(number, seed=0):
  """Returns sentences: "the old cat sees the bird", or the object first."""
  rng, found = random.Random(seed), []
  for _ in range(number):
    words, heads, relations = [], [], []
    order = ["nsubj", "root", "obj"]
    if rng.random() < 0.5:
      order = ["obj", "nsubj", "root"]
    places = {}
    for role in order:
      if role != "root":
        for adjective in rng.choices(ADJECTIVES, k=rng.randrange(3)):
          words.append(adjective)
          relations.append("amod")
      words.append(rng.choice(VERBS if role == "root" else NOUNS))
      relations.append(role)
      places[role] = len(words)
    for place, relation in enumerate(relations, start=1):
      after = (p for p in sorted(places.values()) if p > place)
      verb = places["root"] if relation != "root" else 0
      heads.append(next(after) if relation == "amod" else verb)
    found.append(
      parsing_files.ParsedSentence(
        tuple(words), tuple(heads), tuple(relations), origin=f"{len(found)}"
      )
    )
  return found


def write(path, sentences):
  """Writes sentences as CoNLL-U."""
  lines = []
  for each in sentences:
    lines += [*parsing_files.lines_of(each, each.heads, each.relations), ""]
  path.write_text("\n".join(lines) + "\n", encoding="utf-8")
  return str(path)


def records(sentences):
  """Returns sentences as the class for Python takes them."""
  return [
    {"words": x.words, "heads": x.heads, "relations": x.relations}
    for x in sentences
  ]
