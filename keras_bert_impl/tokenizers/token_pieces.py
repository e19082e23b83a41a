"""Pieces of texts that come as tokens, each with a label of its own.

Every token is looked up by itself, so its pieces belong to it alone. A token is
a word, with a blank before it in byte-level BPE (SentencePiece puts one there
itself); or, in files with one character a line, a part of one.
"""

import numpy as np

from keras_bert_impl.tokenizers import vocabulary as vocabulary_lib
from keras_bert_impl.tokenizers import vocabulary_files

WORD, CHARACTER = "word", "character"
UNITS = (WORD, CHARACTER)

_TOKENS_AT_ONCE = 10_000


def tokenize(tokenizer, sentences, unit=WORD):
  """Returns the pieces of each token.

  Of characters, those after white space, punctuation and ideographs (whatever
  the normalisation sets apart) begin a word. The others get pieces that
  continue one, such as "##x", where the vocabulary has them; a character that
  it knows at the beginning of words only gets that piece.

  Args:
    tokenizer: of `tokenizers.load`.
    sentences: list of lists of str, the tokens.
    unit: WORD or CHARACTER, what a token is.

  Returns:
    list of lists of int32 [pieces]; white space and what the normalisation
    deletes has none.
  """
  if unit == WORD:
    keys = [[(token, None) for token in tokens] for tokens in sentences]
  else:
    keys = _continued(tokenizer, sentences)
  distinct = list(dict.fromkeys(key for row in keys for key in row))
  pieces = {}
  for start in range(0, len(distinct), _TOKENS_AT_ONCE):
    some = distinct[start : start + _TOKENS_AT_ONCE]
    pieces.update(zip(some, _look_up(tokenizer, some), strict=True))
  return [[pieces[key] for key in row] for row in keys]


def _continued(tokenizer, sentences):
  """Returns lists of (token, its text if it continues a word, else None)."""
  distinct = list(dict.fromkeys(t for tokens in sentences for t in tokens))
  shown = distinct
  if tokenizer.vocabulary.kind == vocabulary_files.WORDPIECE and distinct:
    # Blanks stand around whatever is a word of its own.
    normalized = tokenizer.normalize(distinct).numpy()
    shown = [text.decode("utf-8") for text in normalized]
  shown = dict(zip(distinct, shown, strict=True))
  keys = []
  for tokens in sentences:
    in_word, row = False, []
    for token in tokens:
      text = shown[token]
      continues = in_word and not text[:1].isspace()
      row.append((token, text if continues else None))
      if text:  # Else it is deleted, and its neighbours are neighbours.
        in_word = not text[-1].isspace()
    keys.append(row)
  return keys


def _look_up(tokenizer, keys):
  """Returns list of int32 [pieces] of what `_continued` returns."""
  vocabulary = tokenizer.vocabulary
  is_byte_bpe = vocabulary.kind == vocabulary_files.BYTE_BPE
  if is_byte_bpe:
    texts = [f" {token}" if text is None else token for token, text in keys]
    rows = tokenizer.tokenize_normalized(texts)
  else:
    rows = tokenizer.tokenize([token for token, _ in keys])
  splits, ids = rows.row_splits.numpy(), rows.flat_values.numpy()
  pieces = []
  for index, (token, text) in enumerate(keys):
    row = ids[splits[index] : splits[index + 1]]
    if not token.strip():
      row = row[:0]
    elif text is not None and len(row) and not is_byte_bpe:
      row = _continuing(vocabulary, text, row)
    pieces.append(np.array(row, np.int32))
  return pieces


def _continuing(vocabulary, text, ids):
  """Returns the ids of text at the beginning of a word as inside of one."""
  first = vocabulary.tokens[ids[0]]
  if vocabulary.kind == vocabulary_files.WORDPIECE:
    prefix = vocabulary_lib.CONTINUATION_PREFIX
  else:
    prefix = ""
    if first == vocabulary_lib.WORD_START and len(ids) > 1:
      return ids[1:]
    first = first.removeprefix(vocabulary_lib.WORD_START)
  # The whole of it may be known inside of words only.
  if prefix + text in vocabulary.ids:
    return [vocabulary.ids[prefix + text]]
  return [vocabulary.ids.get(prefix + first, ids[0]), *ids[1:]]
