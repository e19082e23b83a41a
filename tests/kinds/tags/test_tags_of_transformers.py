"""Tags of raw texts against those of the pipeline of transformers.

Expected ones are stored; `tests/data/tagged/make.py` has made them.
"""

import functools
import itertools
import json
import pathlib

import pytest
import tensorflow as tf

import keras_bert_impl as kb
from keras_bert_impl.checkpoints import reading
from keras_bert_impl.kinds.tags import tag_servable
from keras_bert_impl.serving import text_tokens
from tests import slow

FOLDER = pathlib.Path(__file__).parents[2] / "data/tagged"
FAMILIES = sorted(path.parent.name for path in FOLDER.glob("*/config.json"))


@pytest.fixture(
  scope="module", params=slow.all_but(("roberta", "xlm_roberta"), FAMILIES)
)
def family(request):
  return request.param


@pytest.fixture(scope="module")
def make(family):
  """Returns what makes the servable of a family of options."""
  folder = FOLDER / family
  return functools.partial(
    tag_servable.TokenClassificationServable,
    kb.from_checkpoint(folder, heads=True),
    kb.load_tokenizer(folder),
    122,
    reading.open_checkpoint(folder).described().labels,
  )


@pytest.fixture(scope="module")
def expected(family):
  lines = (FOLDER / family / "expected.jsonl").read_text("utf-8").splitlines()
  return [json.loads(line) for line in lines]


def answers(servable, texts):
  """Returns [(label, start, end)] of each text, as served."""
  answer = servable.answer(tf.constant(texts))
  answer = {name: values.numpy().tolist() for name, values in answer.items()}
  assert not any(answer["is_cut"])
  rows = zip(*(answer[n] for n in ("labels", "starts", "ends")), strict=True)
  return [
    [
      (label.decode(), start, end)
      for label, start, end in zip(*row, strict=True)
      if label
    ]
    for row in rows
  ]


@pytest.mark.integration
def test_every_piece_has_the_label_it_has_there(make, expected):
  servable = make()
  framing = servable.tokenizer.framing
  texts = tf.constant([row["text"] for row in expected])
  tokens = text_tokens.read(servable.tokenizer, texts, servable.trained_on)
  assert tokens.ids.to_list() == [row["ids"] for row in expected]
  inputs, _ = servable.assemble(tokens.ids)
  logits = servable.answer_ids(**inputs)["logits"]
  for row, mask, of_row in zip(expected, inputs["input_mask"], logits):
    labels = tf.argmax(of_row[mask == 1], -1).numpy()[framing.num_before :]
    labels = [servable.labels[label] for label in labels[: -framing.num_after]]
    assert labels == row["labels"]


def words_there(tokenizer, row):
  """Returns [(label, start, end)] of the words there, characters as here.

  Of a word that begins within a character, a place that is none.
  """
  _, starts, ends = tokenizer.tokenize_with_offsets(row["text"])
  words = []
  for start, end, label, goes_on in zip(
    starts.numpy().tolist(),
    ends.numpy().tolist(),
    row["labels"],
    row["goes_on"],
    strict=True,
  ):
    if goes_on and words:
      words[-1] = (*words[-1][:2], end)
    else:
      words.append((label, start, end))
  return words[:1] + [
    (label, start, end) if start >= before[2] else (label, -1, -1)
    for before, (label, start, end) in itertools.pairwise(words)
  ]


def test_words_and_entities_are_those_there_if_grouped_alike(make, expected):
  servable = make()
  texts = [row["text"] for row in expected]
  words = answers(make(tag_scheme="none"), texts)
  entities = answers(servable, texts)
  num_words = num_texts = 0
  for row, ours, found in zip(expected, words, entities, strict=True):
    theirs = words_there(servable.tokenizer, row)
    # Mere blanks are words there too.
    spans = [word[1:] for word in theirs]
    alike = [word for word in ours if spans.count(word[1:]) == 1]
    assert {*alike} <= {*theirs}
    num_words += len(alike)
    if len(alike) == len(ours) == len(theirs):
      num_texts += 1
      assert found == [
        # Theirs may begin with the blank before them.
        (label, start + (row["text"][start] == " "), end)
        for label, start, end in row["entities"]
      ]
  assert num_words > 60
  assert num_texts >= 3
