"""Which words of a document the tokens of a query matched, by MaxSim."""

import numpy as np
import tensorflow as tf

from keras_bert_impl import features
from keras_bert_impl.tokenizers.graph import late_interaction, prompts


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
  prompt = texts.prompts.get(kind, "")
  inputs = encoder.inputs(tf.constant([text]), kind)
  ids, compared = (
    inputs[name][0].numpy()
    for name in (features.INPUT_IDS, features.POOLING_MASK)
  )
  folded = prompts.fold([prompt + text], texts.do_lower_case)
  pieces, starts, ends = tokenizer.tokenize_with_offsets(folded)
  numbers = tokenizer.word_ids(pieces)[0].numpy()
  starts, ends = (x[0].numpy() - len(prompt) for x in (starts, ends))
  marker = texts.late.marker(tokenizer.vocabulary, kind)
  first = tokenizer.framing.num_before + len(marker)
  names = (tokenizer.token_texts[k].decode("utf-8", "replace") for k in ids)
  tokens = [(name, None, None) for name in names]
  words = [*tokens]
  room = len(ids) - first - tokenizer.framing.num_after
  for place in range(min(len(numbers), room)):
    if starts[place] < 0:  # of the prompt
      continue
    own = numbers == numbers[place]
    begin, end = max(0, starts[own].min()), ends[own].max()
    words[first + place] = text[begin:end], int(begin), int(end)
    begin, end = int(starts[place]), int(ends[place])
    tokens[first + place] = text[begin:end], begin, end
  kept = np.flatnonzero(compared)
  return [tokens[k] for k in kept], [words[k] for k in kept]
