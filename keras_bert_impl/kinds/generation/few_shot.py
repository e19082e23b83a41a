"""Questions whose answers are scored after examples in the prompt: few-shot.

The metrics are those of EleutherAI/lm-evaluation-harness, and so are prompts:
examples with their answers, between them an empty line, then the question.

Source: Brown et al. 2020, section 2.4; lm_eval/api/task.py.
"""

import dataclasses
from typing import NamedTuple

import numpy as np
from absl import logging

SEPARATOR = "\n\n"  # between examples
_BLANK = " "  # before an answer
_AT_A_TIME = 1000  # whose room is counted

# {metric: what the logarithm of an answer's probability is divided by}.
_LENGTHS = {
  "acc": lambda text, num_tokens: 1,
  "acc_norm": lambda text, num_tokens: len(text),
  "acc_bytes": lambda text, num_tokens: len(text.encode()),
  "acc_tokens": lambda text, num_tokens: num_tokens,
}
METRICS = (*_LENGTHS,)


class Answer(NamedTuple):
  """What a model says to a question.

  Attributes:
    scores: list of float, the logarithm of the probability of each choice.
    num_tokens: list of int, of each choice.
    num_examples: int, how many had room in the prompt.
    chosen: {metric: int}, the likeliest choice, by each of `METRICS`.
  """

  scores: list
  num_tokens: list
  num_examples: int
  chosen: dict


def ask(
  generator,
  questions,
  examples,
  num_examples,
  random_seed=0,
  separator=SEPARATOR,
  batch_size=32,
):
  """Returns the `Answer` to each question.

  The examples of a prompt are drawn by the seed and the number of the question;
  none of them is the question itself. Where the model has too few positions,
  the first ones are left out, then the beginning of the question.

  Args:
    generator: `text_generator.TextGenerator`.
    questions: list of `example_types.MultipleChoiceExample`.
    examples: list of the same, with labels.
    num_examples: int, in each prompt.
    random_seed: int, by which each question draws its examples.
    separator: str, what stands between examples.
    batch_size: int, choices that are scored at once.

  Raises:
    ValueError: there are fewer examples, a choice is empty, or has more tokens
      than there is room for; names the place.
  """
  if num_examples > len(examples):
    raise ValueError(
      f"num_examples ({num_examples}) must be at most {len(examples)}, the"
      " number of examples: give more of them."
    )
  for question in (*questions, *examples):
    if not all(choice.strip() for choice in question.choices):
      raise ValueError(
        f"{question.origin} has an empty choice: write it, or leave it out."
      )
  shown = [
    _draw(question, examples, num_examples, (random_seed, place))
    for place, question in enumerate(questions)
  ]
  drawn = [len(texts) for texts in shown]
  pairs = _fitting(generator, questions, shown, separator)
  kept = [len(texts) for texts in shown]
  if short := sum(k < d for k, d in zip(kept, drawn, strict=True)):
    logging.warning(
      "%d of %d prompts have fewer than %d examples, as the model has no room"
      " for more; %.1f on average.",
      *(short, len(questions), num_examples, np.mean(kept)),
    )
  found = _scored(generator, pairs, batch_size)
  return [
    _answer(question, found[place], kept[place])
    for place, question in enumerate(questions)
  ]


def score(questions, answers):
  """Returns {metric: float}, of those questions whose answers are known.

  Each of `METRICS`, a share of right answers, and its standard error as
  METRIC_stderr, if there are two questions at least.
  """
  known = [
    (question.label, answer.chosen)
    for question, answer in zip(questions, answers, strict=True)
    if question.is_labelled
  ]
  scores = {}
  for metric in METRICS if known else ():
    share = np.mean([label == chosen[metric] for label, chosen in known])
    scores[metric] = float(share)
    if len(known) > 1:
      variance = share * (1 - share) / (len(known) - 1)
      scores[f"{metric}_stderr"] = float(np.sqrt(variance))
  return scores


def _draw(question, examples, number, seed):
  """Returns examples with their answers, list of str."""
  size = min(number + 1, len(examples)) if number else 0
  drawn = np.random.default_rng(seed).choice(len(examples) or 1, size, False)
  others = [
    examples[k].text + _BLANK + examples[k].choices[examples[k].label]
    for k in drawn
    if examples[k].text != question.text
  ]
  return others[:number]


def _fitting(generator, questions, shown, separator):
  """Takes examples without room out of `shown`, the first ones first.

  Where none is left, questions lose their beginnings.

  Returns:
    list, for each question, of lists of (prompt, choice).
  """
  questions = [*questions]
  # A decoder begins a text of its own; others go on after a blank.
  blank = "" if generator.model.config.num_decoder_layers else _BLANK
  pairs, pending = [None] * len(questions), [*range(len(questions))]
  while pending:
    for place in pending:
      question = questions[place]
      prompt = separator.join([*shown[place], question.text])
      pairs[place] = [(prompt, blank + text) for text in question.choices]
    pending = [
      place
      for place, has_room in zip(
        pending, _have_room(generator, [pairs[k] for k in pending]), strict=True
      )
      if not has_room
    ]
    for place in pending:
      if shown[place]:
        del shown[place][0]
      else:
        questions[place] = _shortened(questions[place])
  return pairs


def _shortened(question):
  """Returns a question without the first tenth of its text."""
  text = question.text
  if not text:
    raise ValueError(
      f"{question.origin} has a choice with more tokens than the model has room"
      " for: shorten it, or leave it out."
    )
  return dataclasses.replace(question, text=text[-(-len(text) // 10) :])


def _have_room(generator, pairs):
  """Yields whether all pairs of a question have room, for each of several."""
  flat = [pair for of_question in pairs for pair in of_question]
  found = []
  for start in range(0, len(flat), _AT_A_TIME):
    prompts, choices = zip(*flat[start : start + _AT_A_TIME], strict=True)
    found += generator._have_room(prompts, choices)
  rest = iter(found)
  for of_question in pairs:
    yield all([next(rest) for _ in of_question])


def _scored(generator, pairs, batch_size):
  """Returns, for each question, a list of (score, number of tokens)."""
  places = [(k, pair) for k, own in enumerate(pairs) for pair in own]
  # Those of similar length together.
  order = np.argsort([-len(a) - len(b) for _, (a, b) in places], kind="stable")
  prompts, choices = zip(*(places[k][1] for k in order), strict=True)
  found = generator._scored(prompts, choices, batch_size)
  answers = [None] * len(places)
  for k, answer in zip(order, found, strict=True):
    answers[k] = answer
  rest = iter(answers)
  return [[next(rest) for _ in own] for own in pairs]


def _answer(question, found, num_examples):
  """Returns the `Answer` of (score, number of tokens) of each choice."""
  scores, numbers = zip(*found, strict=True)
  chosen = {}
  for metric, length in _LENGTHS.items():
    lengths = map(length, question.choices, numbers)
    shares = [s / max(1, n) for s, n in zip(scores, lengths, strict=True)]
    chosen[metric] = int(np.argmax(shares))
  return Answer([*scores], [*numbers], num_examples, chosen)
