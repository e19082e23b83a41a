import itertools

import pytest
import tensorflow as tf

from keras_bert_impl import tokenizers
from keras_bert_impl.serving import text_tokens
from tests.serving import toy
from tests.serving.heads.test_token_classification import TEXTS
from tests.tokenizers import vocabularies


def grouped(tokenizer, text, trained_on="text"):
  """Returns [(token, its first piece)] of a text."""
  found = text_tokens.read(tokenizer, tf.constant([text]), trained_on)
  pieces = [tokenizer.token_texts[index].decode() for index in found.ids[0]]
  return [
    (text[start:end], pieces[first])
    for start, end, first in zip(
      found.starts[0].numpy(),
      found.ends[0].numpy(),
      found.first.numpy(),
      strict=True,
    )
  ]


@pytest.mark.parametrize("kind", toy.KINDS)
def test_no_piece_is_in_two_tokens_and_the_first_of_each_is_known(
  kind, tokenizer_of
):
  tokenizer = tokenizer_of(kind)
  texts = [*TEXTS, "hello world's cat", "\u200bthe", "(the)cat, 87, 7,?", " "]
  found = text_tokens.read(tokenizer, tf.constant(texts), "text")
  assert found.ids.to_list() == tokenizer.tokenize(texts).to_list()
  _, begins, stops = tokenizer.tokenize_with_offsets(texts)
  first = iter(found.first.numpy().tolist())
  places = itertools.count()
  for row in range(len(texts)):
    tokens = list(zip(*(x[row].numpy() for x in found[:2]), strict=True))
    of_tokens = {token: [] for token in tokens}
    for begin, stop, place in zip(
      begins[row].numpy(), stops[row].numpy(), places
    ):
      around = [t for t in tokens if t[0] < stop and begin < t[1]]
      shown = texts[row][begin:stop].strip().strip("\u200b")
      assert len(around) == bool(shown)
      if around:
        of_tokens[around[0]].append(place)
    assert [pieces[0] for pieces in of_tokens.values()] == list(
      itertools.islice(first, len(tokens))
    )


def test_a_word_ends_at_blanks_and_punctuation_but_in_no_piece(tmp_path):
  merges = (*vocabularies.MERGES, '. "', "Ġ (")
  tokenizer = tokenizers.load(vocabularies.write_byte_bpe(tmp_path, merges))
  text = "the cat's (cat).\" the"
  assert grouped(tokenizer, text) == [
    ("the", "t"),
    ("cat", " cat"),
    ("'s", "'s"),
    ("(", " ("),
    ("cat", "c"),
    (")", ")"),
    ('."', '."'),
    ("the", " the"),
  ]
  assert grouped(tokenizer, text, "words")[:4] == [
    ("the", " the"),
    ("cat", " cat"),
    ("'", " "),
    ("s", " "),
  ]


def test_a_blank_is_no_first_piece_of_raw_text(tokenizer_of):
  tokenizer = tokenizer_of("sentencepiece")
  text = "in 1987, 고양이"
  assert grouped(tokenizer, text) == [
    ("in", "in"),
    # "7," is one piece.
    ("1987,", " 1"),
    ("고양이", "고"),
  ]
  assert [piece for _, piece in grouped(tokenizer, text, "words")] == [
    " ",
    " 1",
    " ",
    " ",
  ]
