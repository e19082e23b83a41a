"""Entities in tag sequences: schemes, and the scores of conlleval.

A tag is "O" or a prefix and, mostly, a type: "B-PER". The schemes:

  IOB1   I-PER I-PER B-PER  B only right after an entity of the same type
  IOB2   B-PER I-PER B-PER  B at every beginning (also called BIO)
  BIOES  B-PER E-PER S-PER  E at the end of several, S alone

conlleval's rule reads all of them: two neighbours belong to one entity if they
have the same type and no prefix separates them. So scoring needs no conversion,
and a sequence that breaks its scheme has entities too.

Tags of no scheme, such as parts of speech, mark no entities: each stands alone.

Entities that stand inside of others no tag of a token can mark: they are given
as `Entity`s instead of tags, and their scheme is called spans.

Source: Tjong Kim Sang and De Meulder 2003, and their script conlleval.
"""

import collections
import dataclasses
import functools
import operator
from typing import NamedTuple

OUTSIDE = "O"
SCHEMES = ("IOB1", "IOB2", "BIOES")
# The scheme of tags that mark no entities.
NO_SCHEME = "none"
# That of entities which may nest.
SPANS = "spans"
# The name of entities without a type, whose tags are only "B" and "I".
NO_TYPE = "entity"

_PREFIXES = ("B", "I", "E", "S")


class Entity(NamedTuple):
  """An entity: tokens [start, end) and its type, a str that may be empty."""

  start: int
  end: int
  type: str


@functools.cache
def split_tag(tag):
  """Returns (prefix, type) of a tag; the type is None outside of entities."""
  if tag == OUTSIDE:
    return OUTSIDE, None
  prefix, _, entity_type = tag.partition("-")
  return prefix, entity_type


def find_fault(tag, scheme=None):
  """Returns a clause that says what is wrong with a tag, or None.

  Args:
    tag: str.
    scheme: `NO_SCHEME`, or None for any other.
  """
  if scheme == NO_SCHEME:
    return None if tag else "the tag must not be empty"
  prefix, _ = split_tag(tag)
  if tag == OUTSIDE or prefix in _PREFIXES and not tag.endswith("-"):
    return None
  return (
    f"the tag {tag!r} must be {OUTSIDE}, or one of {', '.join(_PREFIXES)} with"
    " a type, such as B-PER"
  )


def entities_of(tags):
  """Returns the entities of a sentence.

  Args:
    tags: list of str, of any scheme; or of `Entity`, which stay as they are.

  Returns:
    list of `Entity`, by start.
  """
  if tags and isinstance(tags[0], Entity):
    return [*tags]
  entities, start = [], 0
  previous_prefix, previous = OUTSIDE, None
  for index, tag in enumerate([*tags, OUTSIDE]):
    prefix, entity_type = split_tag(tag)
    goes_on = (
      entity_type == previous
      and previous_prefix not in ("E", "S")
      and prefix not in ("B", "S")
    )
    if not goes_on:
      if previous is not None:
        entities.append(Entity(start, index, previous))
      start = index
    previous_prefix, previous = prefix, entity_type
  return entities


def tags_of(entities, length, scheme="IOB2"):
  """Returns the tags of a sentence; the inverse of `entities_of`.

  Args:
    entities: list of `Entity` by start, without overlaps.
    length: int, tokens of the sentence.
    scheme: one of `SCHEMES`.

  Returns:
    list of `length` str.
  """
  tags = [OUTSIDE] * length
  before = Entity(0, -1, "")
  for entity in entities:
    start, end, entity_type = entity
    prefixes = ["I"] * (end - start)
    is_close = before.end == start and before.type == entity_type
    if scheme != "IOB1" or is_close:
      prefixes[0] = "B"
    if scheme == "BIOES":
      prefixes[-1] = "E" if len(prefixes) > 1 else "S"
    suffix = f"-{entity_type}" if entity_type else ""
    tags[start:end] = [prefix + suffix for prefix in prefixes]
    before = entity
  return tags


def convert(tags, scheme):
  """Converts tags of any scheme to another one, list of str.

  With `NO_SCHEME` they stay as they are.
  """
  if scheme == NO_SCHEME:
    return list(tags)
  return tags_of(entities_of(tags), len(tags), scheme)


def fill_gaps(tags):
  """Returns IOB2 tags with tags where None stood.

  What is unknown is inside of the entity that goes on after it, if there is
  one, and else outside.
  """
  followers, following = [], OUTSIDE
  for tag in reversed(tags):
    following = following if tag is None else tag
    followers.append(following)
  filled, before = [], OUTSIDE
  for tag, following in zip(tags, reversed(followers), strict=True):
    if tag is None:
      prefix, entity_type = split_tag(following)
      goes_on = prefix == "I" and split_tag(before)[1] == entity_type
      tag = following if goes_on else OUTSIDE
    filled.append(tag)
    before = tag
  return filled


def detect_scheme(sentences):
  """Returns the scheme that most tags of some sentences follow.

  Published files have faults: a few tags break the scheme of all others. IOB2
  if the tags do not tell.

  Args:
    sentences: iterable of lists of tags.
  """
  faults = dict.fromkeys(("IOB2", "IOB1", "BIOES"), 0)
  for tags in sentences:
    for scheme in faults:
      faults[scheme] += sum(map(operator.ne, tags, convert(tags, scheme)))
  return min(faults, key=faults.get)


def scheme_of_labels(labels):
  """Returns the scheme of a set of tags, one of `SCHEMES`.

  Only BIOES has E or S. In IOB1 a type has no B if no two of its entities were
  neighbours.

  Args:
    labels: iterable of str, the tags that a model predicts.
  """
  types = collections.defaultdict(set)
  for prefix, entity_type in map(split_tag, labels):
    types[prefix].add(entity_type)
  if types["E"] or types["S"]:
    return "BIOES"
  return "IOB2" if types["I"] <= types["B"] else "IOB1"


@dataclasses.dataclass(frozen=True)
class Evaluation:
  """Agreement of predicted tags with gold tags.

  Attributes:
    num_tokens: int.
    num_correct_tokens: int, tokens with equal tags.
    gold: `collections.Counter` of gold entities by type.
    found: as gold, of predicted entities.
    correct: as gold, of entities that are in both, with the same bounds.
  """

  num_tokens: int
  num_correct_tokens: int
  gold: collections.Counter
  found: collections.Counter
  correct: collections.Counter

  @property
  def types(self):
    """Sorted list of the types, gold or predicted."""
    return sorted(self.gold | self.found)

  def scores(self):
    """Returns {name: float}, fractions.

    `accuracy` of the tokens, if these were counted; `precision`, `recall` and
    `f1` of all entities and of each type, such as `f1_PER`.
    """
    counts = (self.correct.total(), self.found.total(), self.gold.total())
    scores = _rates(*counts)
    if self.num_tokens:
      accuracy = self.num_correct_tokens / self.num_tokens
      scores = {"accuracy": accuracy} | scores
    for entity_type in self.types:
      rates = self.rates_of(entity_type)
      name = entity_type or NO_TYPE
      scores |= {f"{rate}_{name}": value for rate, value in rates.items()}
    return scores

  def rates_of(self, entity_type):
    """Returns `precision`, `recall` and `f1` of a type."""
    return _rates(
      self.correct[entity_type], self.found[entity_type], self.gold[entity_type]
    )

  def report(self):
    """Returns the report of conlleval, as one text."""
    scores = self.scores()
    lines = [
      f"processed {self.num_tokens} tokens with {self.gold.total()} phrases; "
      f"found: {self.found.total()} phrases; correct: {self.correct.total()}.",
      f"accuracy: {100 * scores['accuracy']:6.2f}%; {_percents(scores)}",
    ]
    for entity_type in self.types:
      percents = _percents(self.rates_of(entity_type))
      lines.append(f"{entity_type:>17}: {percents}  {self.found[entity_type]}")
    return "\n".join(lines) + "\n"


def evaluate(gold, predicted):
  """Returns the `Evaluation` of predicted tags, counted as in conlleval.

  Differs from seqeval, which takes the first letter of a tag as its prefix, and
  so reads the chunk tag "SBAR" as S.

  Args:
    gold: list of sentences, lists of tags of any scheme.
    predicted: as gold, of the same lengths.
  """
  num_tokens = num_correct = 0
  for gold_tags, predicted_tags in zip(gold, predicted, strict=True):
    pairs = zip(gold_tags, predicted_tags, strict=True)
    num_correct += sum(a == b for a, b in pairs)
    num_tokens += len(gold_tags)
  return dataclasses.replace(
    evaluate_entities(gold, predicted),
    num_tokens=num_tokens,
    num_correct_tokens=num_correct,
  )


def evaluate_entities(gold, predicted):
  """Returns the `Evaluation` of entities alone, 0 tokens; as `evaluate`."""
  counts = [collections.Counter() for _ in range(3)]
  for gold_tags, predicted_tags in zip(gold, predicted, strict=True):
    wanted = set(entities_of(gold_tags))
    found = set(entities_of(predicted_tags))
    for count, entities in zip(
      counts, (wanted, found, wanted & found), strict=True
    ):
      count.update(entity.type for entity in entities)
  return Evaluation(0, 0, *counts)


def _rates(num_correct, num_found, num_gold):
  precision = _divide(num_correct, num_found)
  recall = _divide(num_correct, num_gold)
  return {
    "precision": precision,
    "recall": recall,
    "f1": _divide(2 * precision * recall, precision + recall),
  }


def _percents(rates):
  return (
    f"precision: {100 * rates['precision']:6.2f}%; "
    f"recall: {100 * rates['recall']:6.2f}%; FB1: {100 * rates['f1']:6.2f}"
  )


def _divide(a, b):
  return a / b if b else 0.0
