"""Which words of a document the tokens of a query matched, by MaxSim."""

import numpy as np
import tensorflow as tf

from keras_bert_impl import features
from keras_bert_impl.tokenizers.graph import late_interaction


def find(encoder, query, document):
  """Returns the matches of `MultiVectorEncoder.highlight`, list of dicts.

  Args:
    encoder: `MultiVectorEncoder`.
    query: str.
    document: str.
  """
  found = encoder.encode_query(query) @ encoder.encode_document(document).T
  tokens, _ = _spans(encoder, late_interaction.QUERY, query)
  _, words = _spans(encoder, late_interaction.DOCUMENT, document)
  return [
    {
      **dict(zip(("token", "start", "end"), token, strict=True)),
      **dict(zip(("word", "word_start", "word_end"), words[k], strict=True)),
      "similarity": float(row[k]),
    }
    for token, row in zip(tokens, found, strict=True)
    for k in [int(np.argmax(row))]
  ]


def _spans(encoder, kind, text):
  """Returns the compared tokens of a text, and the words that they are of.

  Returns:
    two lists of (str, start, end), one for each vector; the places are None
    of what is not in the text.
  """
  tokenizer, texts = encoder.tokenizer, encoder.texts
  inputs = encoder.inputs(tf.constant([text]), kind)
  ids, compared = (
    inputs[name][0].numpy()
    for name in (features.INPUT_IDS, features.POOLING_MASK)
  )
  prompt, lower = texts.prompt_of(kind), texts.do_lower_case
  spans = texts.late.spans(tokenizer, [text], kind, prompt, len(ids), lower)
  starts, ends = (x[0].numpy() for x in spans)
  numbers = tokenizer.word_ids(tf.RaggedTensor.from_tensor(ids[None]))
  numbers = numbers[0].numpy()
  tokens, words = [], []
  for place in np.flatnonzero(compared):
    if starts[place] < 0:
      name = tokenizer.token_texts[ids[place]].decode("utf-8", "replace")
      tokens.append((name, None, None))
      words.append(tokens[-1])
      continue
    own = (numbers == numbers[place]) & (starts >= 0)
    for found, is_part in ((tokens, place), (words, own)):
      start, end = int(starts[is_part].min()), int(ends[is_part].max())
      found.append((text[start:end], start, end))
  return tokens, words
