"""Entities in raw text against those of the fine-tuning task."""

import collections
import itertools
import random
import unicodedata

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import models
from keras_bert_impl.kinds.tags import tag_rows, tag_scores, tag_servable
from keras_bert_impl.metrics import tagging
from keras_bert_impl.tasks.basics import example_types
from tests import slow
from tests.serving import toy
from tests.tokenizers import vocabularies

LABELS = ("O", "B-LOC", "I-LOC", "B-PER", "I-PER")
MAX_SEQ_LENGTH = 24
TEXTS = (
  *vocabularies.SENTENCES,
  "고양이가 매트 위에 앉았다.",
  unicodedata.normalize("NFD", "한국어 고양이, café"),
  "😀 the 😀😀 cat \U0001f9d1\u200d\U0001f680 sat",
  "a [SEP] b </s> [CLS] [MASK]",
  " \n\t\u3000 ",
  "",
  "the\u00a0\u2003 cat\r\n sat  \t",
)


def make(tokenizer, labels=LABELS, use_crf=False, **options):
  """Returns a servable of a tiny model that tags at random."""
  config = toy.config(tokenizer, max_position_embeddings=64)
  model = models.TokenClassifier(config, len(labels), use_crf=use_crf)
  rng = np.random.default_rng(0)
  for weight in model.weights:
    if weight.path.startswith("crf/"):
      weight.assign(rng.normal(0, 2, weight.shape))
  return tag_servable.TokenClassificationServable(
    model,
    tokenizer,
    MAX_SEQ_LENGTH,
    labels,
    **options,
  )


def play(servable, label_of_token):
  """Makes the model say the given labels, by the tokens of the vocabulary."""
  names = servable.tokenizer.vocabulary.tokens
  logits = np.zeros([len(names), len(servable.labels)], np.float32)
  for token, (label, height) in label_of_token.items():
    logits[names.index(token), servable.labels.index(label)] = height
  servable.load_model = lambda: (
    lambda inputs: {"logits": tf.gather(logits, inputs["input_ids"])}
  )


def tag(servable, texts):
  """Returns {output: list}, and [(label, start, end, text)] of each text."""
  answer = servable.answer(tf.constant(texts, tf.string))
  found = {name: value.numpy().tolist() for name, value in answer.items()}
  names = ("labels", "starts", "ends", "texts")
  entities = []
  for index, count in enumerate(found["num_entities"]):
    rows = [found[name][index] for name in names]
    entities.append(list(zip(*(row[:count] for row in rows))))
    # Beyond them is nothing.
    assert not any(any(row[count:]) for row in [*rows, found["scores"][index]])
  return found, entities


def tokens_of(servable, text):
  """Returns [(start, end)] of the tokens of a text."""
  if servable.token_unit == "character":
    starts = [i for i, c in enumerate(text) if not continues(c)]
    return list(itertools.pairwise([*starts, len(text)]))
  _, starts, ends = servable.tokenizer.split_words_with_offsets([text])
  return list(zip(starts[0].numpy().tolist(), ends[0].numpy().tolist()))


def continues(character):
  is_jamo = 0x1160 <= ord(character) <= 0x11FF  # a vowel or final
  return is_jamo or unicodedata.category(character)[0] == "M"


def expected(servable, texts):
  """Returns entities as tuples, by the task's code and the servable's model."""
  tokens = [tokens_of(servable, text) for text in texts]
  sentences = [
    example_types.TaggedSentence(
      tuple(text[start:end] for start, end in places)
    )
    for text, places in zip(texts, tokens)
  ]
  preprocessor = tag_rows.TagPreprocessor(
    MAX_SEQ_LENGTH,
    servable.labels,
    doc_stride=servable.doc_stride,
    token_unit=servable.token_unit,
  )
  counts = collections.Counter()
  rows = list(preprocessor.make_rows(sentences, servable.tokenizer, counts))
  columns = {name: [row[name] for row in rows] for name in preprocessor.columns}
  outputs = model_outputs(servable, rows)
  evaluator = tag_scores.TagEvaluator(servable.labels)
  predicted = evaluator.answers(sentences, columns, outputs)
  entities = []
  for text, tags, places in zip(texts, predicted, tokens):
    entities.append(
      [
        (e.type.encode(), start, end, text[start:end].encode())
        for e in tagging.entities_of(tags)
        for start, end in [(places[e.start][0], places[e.end - 1][1])]
      ]
    )
  return entities, counts


def model_outputs(servable, rows):
  """Returns {output: list of arrays [n, C]} of the task's rows."""
  ids = tf.ragged.constant([row["input_ids"] for row in rows], dtype=tf.int32)
  mask = tf.ones_like(ids).to_tensor()
  outputs = servable.answer_ids(ids.to_tensor(), mask, tf.zeros_like(mask))
  lengths = ids.row_lengths().numpy()
  logits = [x[:n] for x, n in zip(outputs["logits"].numpy(), lengths)]
  return {**outputs, "logits": logits}


# The pieces of WordPiece do not depend on the blank before a word.
@pytest.fixture(
  scope="module",
  params=slow.all_but(
    [("wordpiece", "text", "crf")],
    [
      ("byte_bpe", "words"),
      ("sentencepiece", "characters"),
      ("kobart", "words"),
      ("llama2", "words"),
      ("t5", "words"),
      ("wordpiece", "text", "crf"),
    ],
    mark=pytest.mark.integration,
  ),
  ids="-".join,
)
def servable(request, tokenizer_of):
  kind, trained_on, *crf = request.param
  return make(tokenizer_of(kind), use_crf=bool(crf), trained_on=trained_on)


def test_entities_are_those_of_the_task(servable):
  rng = random.Random(0)
  texts = [" ".join(rng.sample(TEXTS, 3)) for _ in range(6)] + list(TEXTS)
  found, entities = tag(servable, texts)
  # No file has a sentence without tokens.
  is_text = [bool(tokens_of(servable, text)) for text in texts]
  assert not any(itertools.compress(entities, np.logical_not(is_text)))
  wanted, counts = expected(servable, list(itertools.compress(texts, is_text)))
  entities = itertools.compress(entities, is_text)
  assert list(entities) == wanted
  assert not any(found["is_cut"])
  # The texts are such that there is something to go wrong.
  assert sum(map(len, wanted)) > 20
  assert counts["sentences cut into windows"] >= 6
  if servable.token_unit == "character":
    assert sum(text.count(" ") for text in texts) > 100


@pytest.fixture(scope="module")
def words(tokenizer_of):
  return make(tokenizer_of("wordpiece"))


def test_an_entity_has_its_words_and_all_between_them(words):
  play(
    words,
    {
      "hello": ("B-PER", 2.0),
      "world": ("I-PER", 3.0),
      "cls": ("B-LOC", 4.0),
    },
  )
  found, entities = tag(
    words, ["Hello\n WORLD, world hello CLS hello  ", "cls"]
  )
  hello, world, cls = (
    np.exp(height) / (np.exp(height) + 4) for height in (2, 3, 4)
  )
  assert entities == [
    [
      (b"PER", 0, 12, b"Hello\n WORLD"),
      # An entity may begin with I.
      (b"PER", 14, 19, b"world"),
      (b"PER", 20, 25, b"hello"),
      (b"LOC", 26, 29, b"CLS"),
      (b"PER", 30, 35, b"hello"),
    ],
    [(b"LOC", 0, 3, b"cls")],
  ]
  np.testing.assert_allclose(
    found["scores"],
    [[(hello + world) / 2, world, hello, cls, hello], [cls, 0, 0, 0, 0]],
    rtol=1e-5,
  )


def test_characters_without_pieces_are_inside_of_what_goes_on(tokenizer_of):
  servable = make(tokenizer_of("wordpiece"), trained_on="characters")
  play(
    servable,
    {
      "a": ("B-PER", 2.0),
      "b": ("I-PER", 3.0),
      "c": ("B-LOC", 4.0),
      "d": ("I-LOC", 4.0),
      "##d": ("I-LOC", 4.0),
    },
  )
  found, entities = tag(
    servable, [" a  b a c\u00ad\u00add  ", "a d", "a \u200b"]
  )
  assert entities == [
    [
      (b"PER", 1, 5, b"a  b"),
      (b"PER", 6, 7, b"a"),
      (b"LOC", 8, 12, "c\u00ad\u00add".encode()),
    ],
    [(b"PER", 0, 1, b"a"), (b"LOC", 2, 3, b"d")],
    [(b"PER", 0, 1, b"a")],
  ]
  # A character without pieces has no probability.
  ab = np.exp([2.0, 3.0]) / (np.exp([2.0, 3.0]) + 4)
  np.testing.assert_allclose(found["scores"][0][0], ab.mean(), rtol=1e-5)


@pytest.mark.parametrize(
  "labels",
  [("O", "B", "I"), ("B-X", "I-X"), ("O", "B-X", "I-X", "E-X", "S-X", "I-Y")],
)
def test_entities_are_conllevals_whatever_the_labels_are(tokenizer_of, labels):
  servable = make(tokenizer_of("wordpiece"), labels=labels)
  letters = "abcdefghij"[: len(labels)]
  play(servable, dict(zip(letters, ((label, 1.0) for label in labels))))
  rng = random.Random(0)
  texts = [" ".join(rng.choices(letters, k=12)) for _ in range(12)]
  _, entities = tag(servable, texts)
  for text, row in zip(texts, entities):
    tags = [labels[letters.index(letter)] for letter in text.split()]
    assert [(e[0].decode(), e[1], e[2]) for e in row] == [
      (entity.type or "entity", 2 * entity.start, 2 * entity.end - 1)
      for entity in tagging.entities_of(tags)
    ]


def test_tags_of_no_scheme_are_one_for_each_token(tokenizer_of):
  labels = ("O", "B", "I", "NN")
  servable = make(tokenizer_of("wordpiece"), labels, tag_scheme="none")
  play(servable, dict(zip("abcd", ((label, 1.0) for label in labels))))
  _, entities = tag(servable, ["a b c \u200b d d", ""])
  assert entities == [
    [
      (b"O", 0, 1, b"a"),
      (b"B", 2, 3, b"b"),
      (b"I", 4, 5, b"c"),
      (b"NN", 8, 9, b"d"),
      (b"NN", 10, 11, b"d"),
    ],
    [],
  ]


def test_bytes_that_are_no_utf8_do_not_count(words):
  play(words, {"hello": ("B-PER", 2.0)})
  _, entities = tag(words, [b"\xff\xe4a \xf0\x9fhel\x80lo\xed\xa0\x80"])
  assert entities == [[(b"PER", 2, 7, b"hello")]]


def test_what_is_beyond_the_windows_is_not_read(tokenizer_of):
  servable = make(tokenizer_of("wordpiece"), max_windows=2)
  play(servable, {"hello": ("B-PER", 2.0)})
  # A window has 22 pieces, the next begins 11 further on.
  texts = ["a " * n + "hello" for n in (21, 32, 33)]
  found, entities = tag(servable, texts)
  assert found["is_cut"] == [False, False, True]
  assert [len(row) for row in entities] == [1, 1, 0]


@pytest.mark.integration
@pytest.mark.parametrize("kind", ["byte_bpe", "sentencepiece"])
def test_raw_text_of_many_windows_is_found_where_it_stands(tokenizer_of, kind):
  servable = make(tokenizer_of(kind))
  cat = {"byte_bpe": "Ġcat", "sentencepiece": "▁cat"}[kind]
  play(servable, {cat: ("B-PER", 2.0)})
  text = "the cat, (cat) 한국어 " * 20
  found, [entities] = tag(servable, [text])
  assert found["is_cut"] == [False]
  # In brackets it is another piece.
  assert [e[1:] for e in entities] == [
    (19 * number + 4, 19 * number + 7, b"cat") for number in range(20)
  ]


def test_what_does_not_fit_is_refused(words):
  model, tokenizer = words._model(), words.tokenizer
  without_scheme = ("O", "B-LOC", "I-LOC", "PER", "I-PER")
  for labels, options, message in (
    (("O", "B-PER"), {}, r"labels \(O, B-PER\) must be 5"),
    (without_scheme, {}, "labels: the tag 'PER'"),
    (LABELS, {"trained_on": "line"}, r"trained_on \('line'\) .*text, words"),
    (LABELS, {"doc_stride": -1}, r"doc_stride \(-1\) must be in"),
    (LABELS, {"max_windows": 0}, r"max_windows \(0\) must be in"),
  ):
    with pytest.raises(ValueError, match=message):
      tag_servable.TokenClassificationServable(
        model, tokenizer, 16, labels, **options
      )


def test_decomposed_text_has_the_same_entities(tokenizer_of):
  # Decomposed as macOS writes it; the vocabulary has whole syllables.
  servable = make(tokenizer_of("wordpiece"), trained_on="characters")
  texts = ["한국어 hello 中文 café", "é" * 40, "\u0301the", ""]
  composed = [unicodedata.normalize("NFC", text) for text in texts]
  decomposed = [unicodedata.normalize("NFD", text) for text in texts]
  assert composed != decomposed
  _, ours = tag(servable, decomposed)
  _, theirs = tag(servable, composed)
  assert any(theirs)
  for text, found, wanted in zip(decomposed, ours, theirs, strict=True):
    shown = [text[start:end] for _, start, end, _ in found]
    assert shown == [entity.decode() for *_, entity in found]
    assert [unicodedata.normalize("NFC", entity) for entity in shown] == [
      entity.decode() for *_, entity in wanted
    ]
    assert [e[0] for e in found] == [e[0] for e in wanted]
