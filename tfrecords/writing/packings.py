"""Packings: functions that cut a chunk of documents into training instances.

All randomness comes from a `random.Random` that the caller seeds, so that the
same chunk gives the same instances anywhere.
"""

import bisect
import itertools

from keras_bert_impl import choices
from tfrecords.writing import instances

MIN_SEQ_LENGTH = 5  # [CLS] A [SEP] B [SEP]


def next_sentence(chunk, max_seq_length, short_seq_prob, dupe_factor, rng):
  """Returns pairs for next sentence prediction, in the order of the text.

  Each takes sentences until the target length is reached: `max_seq_length`
  less the special tokens or, with probability `short_seq_prob`, a random
  length. They are split at random into A and B; with probability 0.5, B is
  replaced by sentences of another document and its own are used again. Both are
  truncated to fit: tokens are removed from the longer one, at a random end.

  Differs from the original: random next sentences come from documents of the
  same chunk, not of the whole corpus, which need not fit into memory; the
  target is drawn per instance, as in the paper's text; and half of any few
  instances are random, including those that have no next sentence to choose
  (see `_Coin`).

  Args:
    chunk: TokenizedChunk of two documents or more.
    max_seq_length: int, longest [CLS] A [SEP] B [SEP].
    short_seq_prob: float.
    dupe_factor: int, how many times every document is made into instances.
    rng: random.Random.

  Returns:
    list of Instance, `label` 1 where B is random.

  Raises:
    ValueError: there is no other document to draw from.

  Source: Devlin et al. 2019, appendix A.2; google-research/bert,
  create_pretraining_data.py.
  """
  num_documents = len(chunk.document_splits) - 1
  if chunk.num_own and num_documents < 2:
    raise ValueError(one_document_message())
  offsets = chunk.sentence_splits.tolist()
  splits = chunk.document_splits.tolist()
  coin = _Coin(rng)

  def take(document, start, end, target):
    if end - start > 1:
      middle, is_random = start + rng.randrange(1, end - start), coin.toss()
    else:
      middle, is_random = end, coin.heads()
    first = offsets[start], offsets[middle]
    if not is_random:
      return (first, (offsets[middle], offsets[end]), 0), end
    room = target - (first[1] - first[0])
    b_start, b_end = _random_sentences(offsets, splits, document, room, rng)
    return (first, (offsets[b_start], offsets[b_end]), 1), middle

  return _pairs(chunk, max_seq_length, short_seq_prob, dupe_factor, rng, take)


def sentence_order(chunk, max_seq_length, short_seq_prob, dupe_factor, rng):
  """Returns pairs for sentence-order prediction, in the order of the text.

  As `next_sentence`, but A and B always follow each other in one document and
  half of the pairs are swapped.

  Differs from the original, which pairs a sentence without a next one with a
  random one of another document: here the sentence is split at a random token,
  so that the label keeps its meaning and a single document is enough. A
  sentence of one token is left out.

  Args:
    chunk: TokenizedChunk.
    max_seq_length: int, longest [CLS] A [SEP] B [SEP].
    short_seq_prob: float.
    dupe_factor: int, how many times every document is made into instances.
    rng: random.Random.

  Returns:
    list of Instance, `label` 1 where the segments are swapped.

  Source: Lan et al. 2020, section 3.1; google-research/albert,
  create_pretraining_data.py.
  """
  offsets = chunk.sentence_splits.tolist()
  coin = _Coin(rng)

  def take(unused_document, start, end, unused_target):
    middle = _middle(offsets, start, end, rng)
    if middle is None:
      return None, end
    first, second = (offsets[start], middle), (middle, offsets[end])
    if coin.toss():
      return (second, first, 1), end
    return (first, second, 0), end

  return _pairs(chunk, max_seq_length, short_seq_prob, dupe_factor, rng, take)


def full_sentences(chunk, max_seq_length, short_seq_prob, dupe_factor, rng):
  """Returns instances that cross the ends of documents.

  As `doc_sentences`, but where a document ends, the next one of the chunk
  follows as another segment: [CLS] ... [SEP] ... [SEP].

  Differs from the paper: the last instance of a chunk (4 MB of text) is not
  filled up with documents of the next chunk, because chunks are independent.

  Args:
    chunk: TokenizedChunk.
    max_seq_length: int, longest instance, all [SEP] included.
    short_seq_prob: float.
    dupe_factor: int, how many times the chunk is made into instances.
    rng: random.Random.

  Returns:
    list of Instance.

  Source: Liu et al. 2019, section 4.2, "FULL-SENTENCES".
  """
  return _singles(
    chunk, max_seq_length, short_seq_prob, dupe_factor, rng, crosses=True
  )


def doc_sentences(chunk, max_seq_length, short_seq_prob, dupe_factor, rng):
  """Returns instances of one segment each, in the order of the text.

  Each takes as many whole sentences as fit into the target length (see
  `next_sentence`); a longer sentence continues in the next instance. No token
  is lost.

  Args:
    chunk: TokenizedChunk.
    max_seq_length: int, longest [CLS] A [SEP].
    short_seq_prob: float.
    dupe_factor: int, how many times every document is made into instances.
    rng: random.Random.

  Returns:
    list of Instance.

  Source: Liu et al. 2019, section 4.2, "DOC-SENTENCES".
  """
  return _singles(
    chunk, max_seq_length, short_seq_prob, dupe_factor, rng, crosses=False
  )


def documents(chunk, max_seq_length, short_seq_prob, dupe_factor, rng):
  """Returns instances of one text without end, all equally long.

  The documents of a chunk follow each other, each with [SEP] at its end, and
  rows are cut where they are full; they have no [CLS]. The last one of a chunk
  is shorter. The last segment has no [SEP], and may be empty.

  Args:
    chunk: TokenizedChunk.
    max_seq_length: int, tokens of an instance.
    short_seq_prob: float, without meaning here.
    dupe_factor: int, how many times the chunk is made into instances.
    rng: random.Random; the first row of each further time begins elsewhere.

  Returns:
    list of Instance.

  Source: Radford et al. 2019, section 2.3; t5, preprocessors.py,
  reduce_concat_tokens and split_tokens.
  """
  del short_seq_prob
  ends = chunk.sentence_splits[chunk.document_splits[: chunk.num_own + 1]]
  made = []
  for time in range(dupe_factor):
    room = rng.randint(1, max_seq_length) if time else max_seq_length
    segments = []
    for start, stop in itertools.pairwise(ends.tolist()):
      while stop - start >= room:  # There is no room for [SEP].
        segments.append((start, start + room))
        made.append(instances.Instance(tuple(segments)))
        segments, start, room = [], start + room, max_seq_length
      segments.append((start, stop))
      room -= stop - start + 1
      if not room:
        made.append(instances.Instance((*segments, (stop, stop))))
        segments, room = [], max_seq_length
    if segments:
      made.append(instances.Instance((*segments, (stop, stop))))
  return made


def following_sentences(
  chunk, max_seq_length, short_seq_prob, dupe_factor, rng
):
  """Returns each sentence with the one after it in its document.

  A longer one than [CLS] A [SEP] has room for is cut.

  Args:
    chunk: TokenizedChunk.
    max_seq_length: int, longest of either.
    short_seq_prob: float, without meaning here.
    dupe_factor: int, how many times each pair is taken.
    rng: random.Random, not used.

  Returns:
    list of Instance.

  Source: Kiros et al. 2015, section 2; Logeswaran and Lee 2018, section 3.
  """
  del short_seq_prob, rng
  offsets = chunk.sentence_splits.tolist()
  splits = chunk.document_splits[: chunk.num_own + 1].tolist()

  def cut(sentence):
    start, stop = offsets[sentence : sentence + 2]
    return start, min(stop, start + max_seq_length - 2)

  made = [
    instances.Instance((cut(sentence), cut(sentence + 1)))
    for first, end in itertools.pairwise(splits)
    for sentence in range(first, end - 1)
  ]
  return made * dupe_factor


# The values of --packing.
PACKINGS = {
  "next_sentence": next_sentence,
  "sentence_order": sentence_order,
  "full_sentences": full_sentences,
  "doc_sentences": doc_sentences,
  choices.DOCUMENTS: documents,
  choices.FOLLOWING_SENTENCES: following_sentences,
}


def one_document_message():
  """Returns the error message for a corpus of a single document."""
  return (
    "the corpus is a single document, so no sentence of another one can be "
    "drawn for next sentence prediction: separate documents by a blank line "
    "(prose: by three), add files, or make instances that need no other one "
    "(--packing=doc_sentences)."
  )


def _pairs(chunk, max_seq_length, short_seq_prob, dupe_factor, rng, take):
  """Returns pairs of segments, in the order of the text.

  `take` is called with (document, start, end, target), the sentences from which
  about `target` tokens are to be taken. It returns a pair (segment, segment,
  label) or None, and the sentence where the next pair starts.
  """
  offsets = chunk.sentence_splits.tolist()
  splits = chunk.document_splits.tolist()
  max_tokens = max_seq_length - 3
  made = []
  for document in [*range(chunk.num_own)] * dupe_factor:
    start, stop = splits[document], splits[document + 1]
    while start < stop:
      target = _draw_target(max_tokens, short_seq_prob, rng)
      end = _reach(offsets, start, stop, target)
      pair, start = take(document, start, end, target)
      if pair:
        first, second, label = pair
        bounds = _truncate_pair(*first, *second, max_tokens, rng)
        made.append(instances.Instance((bounds[:2], bounds[2:]), label))
  return made


def _singles(chunk, max_seq_length, short_seq_prob, dupe_factor, rng, crosses):
  """Returns instances without pairs, which may cross ends of documents."""
  offsets = chunk.sentence_splits.tolist()
  bounds = chunk.sentence_splits[chunk.document_splits[: chunk.num_own + 1]]
  made = []
  for _ in range(dupe_factor):
    segments = []
    for start, stop in itertools.pairwise(bounds.tolist()):
      while start < stop:
        if not segments:
          room = _draw_target(max_seq_length - 2, short_seq_prob, rng)
        end = _whole_sentences(offsets, start, stop, room)
        if end == start and not segments:
          end = min(start + room, stop)
        if end > start:
          segments.append((start, end))
          room -= end - start + 1  # the [SEP] before the next document
          start = end
        if start < stop or not crosses:
          made.append(instances.Instance(tuple(segments)))
          segments = []
    if segments:
      made.append(instances.Instance(tuple(segments)))
  return made


class _Coin:
  """A coin that shows heads for exactly half of any few tosses.

  Tosses are drawn without replacement from a few of each side. Forced heads are
  drawn from the same ones: otherwise instances without a next sentence would
  raise the share of random ones to 53-57 %.
  """

  _FEW = 8

  def __init__(self, rng):
    self._rng = rng
    self._heads = self._tails = 0

  def toss(self):
    """Returns whether it shows heads."""
    if not self._heads + self._tails:
      self._add()
    if self._rng.randrange(self._heads + self._tails) < self._heads:
      return self.heads()
    self._tails -= 1
    return False

  def heads(self):
    """Forces heads and returns True."""
    if not self._heads:
      self._add()
    self._heads -= 1
    return True

  def _add(self):
    self._heads += self._FEW
    self._tails += self._FEW


def _draw_target(max_tokens, short_seq_prob, rng):
  if rng.random() < short_seq_prob:
    return rng.randint(min(2, max_tokens), max_tokens)
  return max_tokens


def _reach(offsets, start, stop, target):
  """Returns the first sentence boundary `target` tokens after `start`.

  At least one sentence after `start`, at most `stop`.
  """
  return bisect.bisect_left(offsets, offsets[start] + target, start + 1, stop)


def _random_sentences(offsets, splits, document, target, rng):
  """Returns (start, end), sentences of another document than `document`."""
  other = rng.randrange(len(splits) - 2)
  other += other >= document
  start = rng.randrange(splits[other], splits[other + 1])
  return start, _reach(offsets, start, splits[other + 1], target)


def _whole_sentences(offsets, start, stop, room):
  """Returns the end of the whole sentences that fit into `room` tokens.

  `start` if none fits; at most `stop`.
  """
  whole = offsets[bisect.bisect_right(offsets, start + room) - 1]
  return min(max(whole, start), stop)


def _middle(offsets, start, end, rng):
  """Returns a random token at which to split sentences `start` to `end`.

  Between sentences or, in a single one, between tokens; None if it has only one
  token.
  """
  if end - start > 1:
    return offsets[start + rng.randrange(1, end - start)]
  if offsets[end] - offsets[start] > 1:
    return rng.randrange(offsets[start] + 1, offsets[end])
  return None


def _truncate_pair(a_start, a_stop, b_start, b_stop, max_tokens, rng):
  """Returns the four bounds, cut so that A and B have `max_tokens` at most."""
  a_length, b_length = a_stop - a_start, b_stop - b_start
  if a_length + b_length <= max_tokens:
    return a_start, a_stop, b_start, b_stop
  # The lengths that remain when tokens are removed one by one from the longer
  # segment, or from B where both are equally long.
  a_kept, b_kept = max_tokens - max_tokens // 2, max_tokens // 2
  if b_length <= b_kept:
    a_kept, b_kept = max_tokens - b_length, b_length
  elif a_length <= a_kept:
    a_kept, b_kept = a_length, max_tokens - a_length
  a_start += _front_share(a_length - a_kept, rng)
  b_start += _front_share(b_length - b_kept, rng)
  return a_start, a_start + a_kept, b_start, b_start + b_kept


def _front_share(removed, rng):
  """Returns how many of `removed` tokens to remove at the front, by coins."""
  return rng.getrandbits(removed).bit_count() if removed else 0
