"""Two small tasks made of the corpus, for experiments without labelled data.

- "order": a sentence as it stands, or with two neighbouring words swapped
  (Conneau et al. 2018, "bigram shift").
- "punctuation": the words of two sentences without their punctuation, each
  tagged with what followed it: COMMA, END (of a sentence) or nothing.
"""

import os
import random

from keras_bert_impl import files
from keras_bert_impl.kinds.multi_task import labelled_tasks
from tfrecords.text import sources

_NUM_EXAMPLES = 4000
_FEWEST_EXAMPLES = 50
_MOST_WORDS = 24  # of a sentence
_FEWEST_WORDS = 4
_LABELS = ("as it was", "swapped")
_TAGS = {
  **dict.fromkeys(",、，;:", "B-COMMA"),
  **dict.fromkeys(".。?!", "B-END"),
}


def write(folder, input_files):
  """Writes the tasks into a folder, unless they are there.

  Args:
    folder: str.
    input_files: list of str, the corpus.

  Returns:
    tuple of `labelled_tasks.Task`.

  Raises:
    ValueError: the corpus has too few sentences.
  """
  order = os.path.join(folder, "order.tsv")
  punctuation = os.path.join(folder, "punctuation.txt")
  if not files.exists(punctuation):
    pairs = _neighbours(input_files)
    files.write_atomically(order, _order_table(pairs))
    files.write_atomically(punctuation, _tagged_lines(pairs))
  held_out = {"dev_fraction": labelled_tasks.DEV_FRACTION}
  return (
    labelled_tasks.Task("order", "texts", {"train_file": order} | held_out),
    labelled_tasks.Task(
      "punctuation", "tags", {"train_file": punctuation} | held_out
    ),
  )


def _neighbours(input_files):
  """Returns pairs of neighbouring sentences, the same ones every time."""
  pairs = []
  for document in sources.iter_documents(input_files):
    kept = [" ".join(sentence.split()) for sentence in document]
    pairs += [
      pair
      for pair in zip(kept, kept[1:], strict=False)
      if all(
        _FEWEST_WORDS <= len(sentence.split()) <= _MOST_WORDS
        for sentence in pair
      )
    ]
  if len(pairs) < _FEWEST_EXAMPLES:
    raise ValueError(
      f"the corpus has {len(pairs)} pairs of sentences of {_FEWEST_WORDS} to"
      f" {_MOST_WORDS} words, too few for a task: give --tasks or more text."
    )
  return random.Random(0).sample(pairs, min(_NUM_EXAMPLES, len(pairs)))


def _order_table(pairs):
  """Returns a TSV of text and label: every second sentence is changed."""
  rng = random.Random(1)
  lines = ["text\tlabel"]
  for number, (sentence, _) in enumerate(pairs):
    words = sentence.split()
    if number % 2:
      place = rng.randrange(len(words) - 1)
      words[place : place + 2] = words[place + 1], words[place]
    lines.append("\t".join((" ".join(words), _LABELS[number % 2])))
  return "\n".join(lines) + "\n"


def _tagged_lines(pairs):
  """Returns CoNLL's columns of words without punctuation, and its tags."""
  lines = []
  for pair in pairs:
    # Not the last word, whose tag all would know.
    for word in " ".join(pair).split()[:-1]:
      plain = word.rstrip("".join(_TAGS)) or word
      lines.append(f"{plain.lower()} {_TAGS.get(word[-1], 'O')}")
    lines.append("")
  return "\n".join(lines) + "\n"
