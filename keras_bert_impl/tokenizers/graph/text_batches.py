"""Batches of texts, of a size that makes tokenization fast."""

# Enough to make the overhead of the ops small; they need about fifty bytes for
# each character.
_CHARACTERS = 1_000_000


def of_texts(texts):
  """Yields lists of `texts` (iterable of str or bytes), in order."""
  batch, size = [], 0
  for text in texts:
    batch.append(text)
    size += len(text) + 1
    if size >= _CHARACTERS:
      yield batch
      batch, size = [], 0
  if batch:
    yield batch
