"""What models in files say of spans of texts: entities and answers, in numpy.

Long texts are read in windows, as `tasks.basics.windows` makes them; the places
of tokens are characters of the text.
"""

import bisect
import functools
import itertools
import re
import unicodedata

import numpy as np

from keras_bert_impl import features
from keras_bert_impl.metrics import tagging
from keras_bert_impl.serving import request_names as names
from keras_bert_impl.serving.small import answers, text_rows
from keras_bert_impl.tokenizers.formats import characters

_BLANKS = frozenset(map(chr, characters.PYTHON_SPACES))
# Kinds of characters: white space, words of their own, deleted, all others.
_BLANK, _SINGLE, _DELETED, _LETTER = " 1-w"
_WORD = re.compile("1|w(?:[w-]*w)?")
_IDEOGRAPH = re.compile(
  re.sub(r"\\x\{(\w+)\}", lambda x: chr(int(x[1], 16)), characters.IDEOGRAPH)
)


class Answers(answers.Head):
  """Spans of texts that answer questions."""

  example = {
    names.TEXT: ["Where did the cat sit?"],
    names.TEXT_PAIR: ["The cat sat on the mat."],
  }

  def __init__(self, model, rows):
    super().__init__(model, rows)
    self.inputs[names.TEXT_PAIR] = 1
    self.outputs |= {
      "answer": (answers.TEXT,),
      "start": (answers.INT,),
      "end": (answers.INT,),
      "score": (answers.FLOAT,),
      "null_score": (answers.FLOAT,),
    }
    longest, room = self.about["max_query_length"], rows.room(2)
    if room <= longest:
      raise ValueError(
        f"its rows have room for {room} tokens, but max_query_length is"
        f" {longest}: export it with a larger fixed_length."
      )

  def answer(self, text, text_pair):
    """Answers questions; see `answers.Head`."""
    contexts = answers.decoded(text_pair)
    longest = self.about["max_query_length"]
    read = self.rows.library
    questions = [x[:longest] for x in read.pieces(answers.decoded(text))]
    found = [
      (question, *pieces, context)
      for question, pieces, context in zip(
        questions, read.align(contexts), contexts, strict=True
      )
    ]
    windows, are_cut = self._windows(found)
    rows, _ = self.rows.assemble(
      [found[index][0] for index, _, _ in windows],
      [found[index][1][start:end] for index, start, end in windows],
    )
    outputs = text_rows.map_rows(self._run, rows)
    best = self._best(found, windows, rows, outputs)
    return self._told(best, contexts) | {names.IS_CUT: np.array(are_cut, bool)}

  def _windows(self, found):
    """Returns (text, start, end) of all windows; which texts are cut."""
    windows, are_cut = [], []
    for index, (question, ids, *_) in enumerate(found):
      spans, is_cut = slide(
        len(ids),
        self.rows.room(2) - len(question),
        self.about["doc_stride"],
        self.about["max_windows"],
      )
      windows += [(index, *span) for span in spans]
      are_cut.append(is_cut)
    return windows, are_cut

  def _best(self, found, windows, rows, outputs):
    """Returns (score, first, last + 1 character, null score) of each text."""
    best = [(-np.inf, 0, 0, np.inf)] * len(found)
    framing = self.rows.framing
    lengths = rows[features.INPUT_MASK].sum(axis=1)
    spans_of = [[] for _ in found]
    for index, start, end in windows:
      spans_of[index].append((start, end))
    for number, (index, start, end) in enumerate(windows):
      _, _, starts, ends, context = found[index]
      after = lengths[number] - framing.num_after
      place = slice(after - (end - start), after)
      first, last = (
        outputs[f"{side}_logits"][number].astype(np.float64)
        for side in ("start", "end")
      )
      begins = best_window(spans_of[index], len(starts))[start:end]
      is_own = begins == spans_of[index].index((start, end))
      span = _best_span(
        first[place],
        last[place],
        np.where(is_own, _begins(context, starts[start:end]), -1),
        np.array(_stops(context, ends[start:end]), int),
        self.about["max_answer_length"],
      )
      cls = framing.cls_place(lengths[number])
      null = min(best[index][3], first[cls] + last[cls])
      # Of equal spans the first and the shortest.
      least = min(best[index][:3], span, key=lambda x: (-x[0], *x[1:]))
      best[index] = (*least, null)
    return best

  def _told(self, best, contexts):
    """Returns the answers to the best spans of texts."""
    threshold = self.about.get("null_score_diff_threshold")
    rows = []
    for (score, start, end, null), context in zip(best, contexts, strict=True):
      is_answer = np.isfinite(score)
      score = score if is_answer else 0.0
      is_answer &= threshold is None or null - score <= threshold
      place = (start, end) if is_answer else (-1, -1)
      text = context[start:end] if is_answer else ""
      rows.append((text.encode("utf-8"), *place, score, null))
    kinds = ("answer", "start", "end", "score", "null_score")
    columns = zip(*rows, strict=True) if rows else [[]] * len(kinds)
    return {
      name: np.array(values, self.outputs[name][0])
      for name, values in zip(kinds, columns, strict=True)
    }


class Tags(answers.Head):
  """Entities of texts: label, text, place and score of each."""

  example = {names.TEXT: ["Ada Lovelace lived in London."]}

  def __init__(self, model, rows):
    super().__init__(model, rows)
    self.outputs |= {
      "num_entities": (answers.INT,),
      "labels": (answers.TEXT, None),
      "texts": (answers.TEXT, None),
      "starts": (answers.INT, None),
      "ends": (answers.INT, None),
      "scores": (answers.FLOAT, None),
    }
    self._labels = self.about["labels"]
    self._is_alone = self.about.get("tag_scheme") == tagging.NO_SCHEME

  def answer(self, text):
    """Finds the entities; see `answers.Head`."""
    texts = answers.decoded(text)
    read = [self._tokens(x) for x in texts]
    size = self.rows.max_seq_length - 2
    windows, owners, are_cut = [], [], []
    for index, (ids, _) in enumerate(read):
      spans, is_cut = slide(
        len(ids), size, self.about["doc_stride"], self.about["max_windows"]
      )
      are_cut.append(is_cut)
      windows.append((len(owners), spans))
      # The last window is shifted left, so that it is full.
      owners += [(index, max(end - size, 0), end) for _, end in spans]
    rows, _ = self.rows.assemble([read[k][0][a:b] for k, a, b in owners])
    logits = text_rows.map_rows(self._run, rows)["logits"]
    found = []
    for text, (ids, tokens), (first, spans) in zip(
      texts, read, windows, strict=True
    ):
      best = best_window(spans, len(ids))
      labelled = [
        (start, end, self._label(logits, owners, first, best, piece))
        for start, end, piece in tokens
      ]
      found.append(self._entities(text, labelled))
    return self._told(found) | {names.IS_CUT: np.array(are_cut, bool)}

  def _tokens(self, text):
    """Returns the ids of a text; (start, end, piece or None) of its tokens."""
    words = split_words(text)
    if self.about.get("trained_on", "text") == "text":
      [(ids, begins, stops)] = self.rows.library.align([text])
      return ids, group(words, begins, stops)
    pieces = self.rows.library.words([text[a:b] for a, b in words])
    places = itertools.accumulate(map(len, pieces), initial=0)
    tokens = [
      (*word, place if own else None)
      for word, own, place in zip(words, pieces, places, strict=False)
    ]
    return [*itertools.chain(*pieces)], tokens

  def _label(self, logits, owners, first, best, piece):
    """Returns the label of a token and its share; None: it has no piece."""
    if piece is None or best[piece] < 0:
      return None
    row = first + best[piece]
    place = piece - owners[row][1] + self.rows.framing.num_before
    shares = answers.softmax(logits[row, place])
    label = int(shares.argmax())
    return self._labels[label], shares[label]

  def _entities(self, text, tokens):
    """Returns (label, text, start, end, score) of the entities of a text."""
    tags = [label and label[0] for _, _, label in tokens]
    if self._is_alone:
      found = [
        tagging.Entity(k, k + 1, tag)
        for k, tag in enumerate(tags)
        if tag is not None
      ]
    else:
      found = tagging.entities_of(_filled(tags))
    entities = []
    for first, last, kind in found:
      own = tokens[first:last]
      start, end = own[0][0], own[-1][1]
      score = np.mean([label[1] for _, _, label in own if label])
      entity = kind or tagging.NO_TYPE, text[start:end], start, end, score
      entities.append(entity)
    return entities

  def _told(self, found):
    kinds = ("labels", "texts", "starts", "ends", "scores")
    encode = (str.encode, str.encode, int, int, float)
    columns = {
      name: text_rows.padded(
        [[convert(one[k]) for one in row] for row in found],
        b"" if convert is str.encode else 0,
        self.outputs[name][0],
      )
      for k, (name, convert) in enumerate(zip(kinds, encode, strict=True))
    }
    counts = np.array([*map(len, found)], np.int32)
    return {"num_entities": counts} | columns


def _filled(tags):
  """Returns the tags of tokens where those without a label have None.

  Such a token is inside of an entity that goes on after it, if there is one,
  and else outside.
  """
  known = [k for k, tag in enumerate(tags) if tag is not None]
  for before, after in itertools.pairwise(known):
    if _is_one_entity(tags[before], tags[after]):
      tags[before + 1 : after] = [tags[after]] * (after - before - 1)
  return [tagging.OUTSIDE if tag is None else tag for tag in tags]


@functools.cache
def _is_one_entity(tag, following):
  entities = tagging.entities_of([tag, following])
  return any(entity.end - entity.start == 2 for entity in entities)


def slide(length, size, stride, max_windows):
  """Returns (start, end) of the windows of a text; whether it goes on after.

  As `tasks.basics.windows.slide`, of one text.
  """
  step = min(size, stride)
  count = 1 + (max(length - size, 0) + step - 1) // step
  starts = range(0, min(count, max_windows) * step, step)
  spans = [(start, min(start + size, length)) for start in starts]
  return spans, count > max_windows


def best_window(spans, length):
  """Returns the window that gives each piece the most context, int [length].

  -1 where there is none; as `tasks.basics.windows.best_windows`.
  """
  best, most = np.full(length, -1), np.full(length, -1.0)
  for number, (start, end) in enumerate(spans):
    left = np.arange(end - start)
    context = np.minimum(left, left[::-1]) + 0.01 * (end - start)
    is_more = context > most[start:end]
    best[start:end][is_more] = number
    most[start:end][is_more] = context[is_more]
  return best


def split_words(text):
  """Returns (start, end) of the words of a text.

  As `tokenizers.graph.text_words.split_with_offsets`.
  """
  kinds = "".join(map(_kind, text))
  return [found.span() for found in _WORD.finditer(kinds)]


@functools.lru_cache(100_000)
def _kind(character):
  code, category = ord(character), unicodedata.category(character)
  if character in "\t\n\r " or code >= 0xA0 and code in characters.SPACES:
    return _BLANK
  is_sign = code < 0x80 and category[0] in "PS"
  if is_sign or category[0] == "P" or _IDEOGRAPH.match(character):
    return _SINGLE
  return _DELETED if category in ("Cc", "Cf") or code == 0xFFFD else _LETTER


def group(words, begins, stops):
  """Returns (start, end, piece or None) of the tokens of a text.

  A token is never a part of a piece: a word that begins inside the last piece
  of the word before it belongs to that.

  Args:
    words: list of (start, end), characters.
    begins: list of int, the first character of each piece.
    stops: list of int, the one after its last.
  """
  tokens, last_end = [], -1
  for start, end in words:
    # Pieces that end before the word are passed over, and so are mere blanks.
    piece = bisect.bisect_right(stops, start)
    if piece == len(stops) or begins[piece] >= end:
      piece = None
    if piece is not None and tokens and begins[piece] < last_end:
      tokens[-1][1] = end
    else:
      tokens.append([start, end, piece])
    last_end = end
  return tokens


def _begins(context, places):
  """Returns the first character from each place on that is no blank."""
  found = []
  for place in places:
    while place < len(context) and context[place] in _BLANKS:
      place += 1
    found.append(place)
  return found


def _stops(context, places):
  """Returns what is after the last character before each that is no blank."""
  found = []
  for place in places:
    while place and context[place - 1] in _BLANKS:
      place -= 1
    found.append(place)
  return found


def _best_span(start_logits, end_logits, starts, ends, size):
  """Returns (score, first, last + 1 character) of the best span of a window.

  Args:
    start_logits: float64 [L], of the pieces of the text.
    end_logits: the same.
    starts: int [L], characters; -1 of a piece that begins no answer.
    ends: int [L].
    size: int, most pieces of an answer.
  """
  if not len(starts):
    return -np.inf, 0, 0
  beyond = [0, size - 1]
  reached = np.lib.stride_tricks.sliding_window_view
  scores = start_logits[:, np.newaxis] + reached(
    np.pad(end_logits, beyond), size
  )
  stops = reached(np.pad(ends, beyond, constant_values=-1), size)
  is_span = (starts != -1)[:, np.newaxis] & (starts[:, np.newaxis] < stops)
  scores = np.where(is_span, scores, -np.inf)
  first, more = divmod(int(scores.argmax()), size)
  score = float(scores[first, more])
  if not np.isfinite(score):
    return -np.inf, 0, 0
  return score, int(starts[first]), int(ends[first + more])
