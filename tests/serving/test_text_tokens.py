import tensorflow as tf

from keras_bert_impl import tokenizers
from keras_bert_impl.serving import text_tokens
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
  tokens, pieces = zip(*grouped(tokenizer, text), strict=True)
  assert tokens == ("in", "1987,", "고양이")  # "7," is in one piece.
  # Versions of sentencepiece learn " 1" or " 1987,".
  for token, piece in zip(tokens, pieces, strict=True):
    assert piece.strip()
    assert token.startswith(piece.strip())
  assert [piece for _, piece in grouped(tokenizer, text, "words")] == [
    " ",
    " 1",
    " ",
    " ",
  ]
