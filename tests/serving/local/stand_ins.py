"""Models with the signatures of every head and no network inside.

Each answers what can be told from the text by eye, so that a test of a client
knows what to expect. Those of `HEADS` stay in memory; only `save` makes a
SavedModel.
"""

import inspect

import numpy as np
import tensorflow as tf

from keras_bert_impl.serving.local import saved_models, signatures

# Inputs that are lists of texts.
_LISTS = ("choices", "labels")


class Served:
  """Stands for the `versions.Versions` of one of `HEADS`.

  Args:
    head: str.
    information: JSON object, as of a model's description.
    **options: of the head.
  """

  def __init__(self, head, information=None, **options):
    made = HEADS[head](**options)
    definitions = {
      name: {
        "inputs": dict.fromkeys(signature.inputs),
        "outputs": dict.fromkeys(signature.outputs),
      }
      for name, signature in made.items()
    }
    self.current = signatures.LoadedModel(
      1, made, definitions, information or {}
    )
    self.states = {1: ("AVAILABLE", "")}


def save(path, tag=""):
  """Saves the stand-in that fills masks; every answer starts with the tag."""
  function = fill_mask(tag)["serving_default"].function
  tf.saved_model.save(tf.Module(), str(path), {"serving_default": function})


def _spec(name, dtype=tf.string, shape=(None,)):
  return tf.TensorSpec(shape, dtype, name)


def _signature(outputs, function, *inputs):
  specs = {spec.name: spec for spec in inputs or [_spec("text")]}
  outputs = dict.fromkeys(outputs, tf.TensorSpec([None]))
  return saved_models.Signature(specs, outputs, function)


def _in_graph(*outputs, inputs=()):
  """Decorates a function, and makes it a signature."""
  specs = inputs or [_spec("text")]

  def decorate(function):
    function = tf.function(function, input_signature=specs)
    return _signature(outputs, function, *specs)

  return decorate


def _of_rows(answer):
  """Returns the signature of a function from the str of a row to its answer.

  Args:
    answer: from str, and a list of them named as in `_LISTS`, to {output:
      value, or lists of any length}.
  """
  names = [*inspect.signature(answer).parameters]
  outputs = [*answer(*["" for _ in names])]

  def answer_all(**columns):
    columns = [_texts(columns[name].numpy()) for name in names]
    rows = [answer(*row) for row in zip(*columns, strict=True)]
    return {name: _padded([row[name] for row in rows]) for name in outputs}

  specs = [_spec(x, shape=[None] * (1 + (x in _LISTS))) for x in names]
  return _signature(outputs, answer_all, *specs)


def _of_examples(answer):
  """Returns the signature of a function as of `_of_rows`, for tf.Examples."""
  outputs, inputs = [*answer("")], [_spec("inputs")]
  feature = tf.io.FixedLenFeature([], tf.string)

  @tf.function(input_signature=inputs)
  def parse(inputs):
    return tf.io.parse_example(inputs, {"text": feature})["text"]

  answer_all = _of_rows(answer).function
  return _signature(
    outputs, lambda inputs: answer_all(text=parse(inputs)), *inputs
  )


def _texts(values):
  """Returns bytes as str, an array of them as lists."""
  is_text = isinstance(values, bytes)
  return values.decode() if is_text else [_texts(value) for value in values]


def _padded(rows):
  tensor = tf.ragged.constant(rows)
  return tensor.to_tensor() if isinstance(tensor, tf.RaggedTensor) else tensor


def classification(labels=("negative", "positive")):
  """Positive with 0.75 if there is a "good" in the text."""

  def shares(text):
    return [0.25, 0.75] if "good" in text else [0.75, 0.25]

  return {
    "serving_default": _of_rows(
      lambda text: {
        "label": labels["good" in text],
        "score": 0.75,
        "labels": [*labels],
        "probabilities": shares(text),
      }
    ),
    "classify": _of_examples(
      lambda text: {"classes": [*labels], "scores": shares(text)}
    ),
  }


def regression():
  """The length of a text."""
  return {
    "serving_default": _of_rows(lambda text: {"scores": float(len(text))}),
    "regress": _of_examples(lambda text: {"outputs": [float(len(text))]}),
  }


def pair_regression():
  """The difference of two lengths."""

  @_in_graph("scores", inputs=[_spec("text"), _spec("text_pair")])
  def score(text, text_pair):
    lengths = [tf.strings.length(x, "UTF8_CHAR") for x in (text, text_pair)]
    return {"scores": tf.cast(lengths[0] - lengths[1], tf.float32)}

  return {"serving_default": score}


def choose(text, choices):
  """The longest choice."""
  lengths = [len(choice) for choice in choices]
  return {
    "choice": int(np.argmax([*lengths, 0])),
    "probabilities": [length / sum(lengths) for length in lengths],
  }


def judge(text, labels):
  """The label that is in the text has all of the score."""
  scores = [float(label in text) for label in labels]
  found = [label for label in labels if label in text]
  label, score = "".join(found[:1]), max(scores, default=0.0)
  return {"label": label, "score": score, "labels": labels, "scores": scores}


def find_answer(text, text_pair):
  """The one answer it knows, wherever it stands in the context."""
  answer = "서울" if "서울" in text_pair else ""
  start = text_pair.index(answer) if answer else -1
  return {
    "answer": answer,
    "start": start,
    "end": start + len(answer),
    "score": 7.5 if answer else -1.0,
    "null_score": -2.5 if answer else 3.0,
    "is_cut": len(text_pair) > 500,
  }


def find_names(text):
  """The names it knows, in this order, if a text has them all; else none."""
  names = {"철수": "PER", "Paris": "LOC"}
  if not all(name in text for name in names):
    names = {}
  starts = [text.index(name) for name in names]
  return {
    "num_entities": len(names),
    "labels": [*names.values()],
    "texts": [*names],
    "starts": starts,
    "ends": [start + len(name) for start, name in zip(starts, names)],
    "scores": [0.9 for _ in names],
    "is_cut": False,
  }


def fill_mask(tag=""):
  """What stands before each [MASK], with a tag; padded to the most masks."""

  @_in_graph("num_masks", "tokens", "scores")
  def fill(text):
    parts = tf.strings.split(
      tf.strings.regex_replace(text, r"\[MASK\]", "\x01"), "\x01"
    )
    before = parts[:, :-1]  # ragged [B, (masks)]
    tokens = tf.strings.join(
      [tag, tf.strings.strip(before.to_tensor("")), " "]
    )[:, :, None]
    tokens = tf.concat([tokens, tf.fill(tf.shape(tokens), "<b>x</b>")], 2)
    is_mask = tf.sequence_mask(before.row_lengths(), tf.shape(tokens)[1])
    return {
      "num_masks": tf.cast(before.row_lengths(), tf.int32),
      "tokens": tf.where(is_mask[:, :, None], tokens, ""),
      "scores": tf.where(is_mask[:, :, None], [[[0.75, 0.125]]], 0.0),
    }

  return {"serving_default": fill}


def embed(text):
  """Vectors of two dimensions: whether a text is long, and whether short."""
  return {"embeddings": [1.0, 0.0] if len(text) > 5 else [0.0, 1.0]}


def weigh(text):
  """Two tokens, and the padding of a longer answer."""
  return {"tokens": ["cat", text, ""], "weights": [2.0, 0.5, 0.0]}


def resolve(text):
  """Mentions of Ada, the longest first, and of her house in one of them."""
  found = [("Ada", 0), ("her", 0), ("her house", 1), ("it", 1)]
  places = [(x, text.find(x), k) for x, k in found if x in text]
  places.sort(key=lambda place: (place[1], -len(place[0])))
  return {
    "num_mentions": len(places),
    "clusters": [k for *_, k in places],
    "texts": [x for x, *_ in places],
    "starts": [start for _, start, _ in places],
    "ends": [start + len(x) for x, start, _ in places],
    "scores": [0.75] * len(places),
  }


def detect(text):
  """Words with an "x" are the replaced ones."""
  words = text.split()
  ends = [len(" ".join(words[: i + 1])) for i in range(len(words))]
  return {
    "num_tokens": len(words),
    "tokens": words,
    "starts": [end - len(word) for end, word in zip(ends, words)],
    "ends": ends,
    "probabilities": [0.875 if "x" in word else 0.125 for word in words],
  }


def plain():
  """Numbers and strings of every kind that JSON has rules for."""
  numbers = _spec("numbers", tf.float32, [None, 2])
  others = _spec("ids", tf.int32, [None, None]), _spec("flags", tf.bool)

  @_in_graph("same")
  def refuse_bad(text):
    is_bad = tf.strings.regex_full_match(text, "(?s).*bad.*")
    is_good = tf.debugging.assert_equal(is_bad, False, "bad text")
    with tf.control_dependencies([is_good]):
      return {"same": tf.identity(text)}

  def halve(numbers):
    return {"halves": numbers / 2}

  def echo(numbers, ids, flags):
    return {"flags_out": flags, "ids_out": ids, "numbers_out": numbers}

  def repeat(text):
    return {"same": text, "same_bytes": text}

  return {
    "serving_default": _signature(["halves"], halve, numbers),
    "echo": _signature(["flags_out"], echo, numbers, *others),
    "strings": _signature(["same", "same_bytes"], repeat),
    "refuse_bad": refuse_bad,
  }


def match(query, document):
  """The first word of a query, and a mask; they match where the word is."""
  word = query.split()[0] if query else "x"
  start = document.find(word)
  share = 0.75 if start >= 0 else 0.25
  return {
    "scores": share + 0.5,
    "starts": [start, -1],
    "ends": [start + len(word) if start >= 0 else -1, -1],
    "similarities": [share, 0.5],
    "is_cut": False,
  }


def write(text):
  """The prompt once more, and markup."""
  return {
    "text": f"{text}!",
    "texts": [f"{text}!", "<b>🦊</b>"],
    "scores": [-0.5, -1.25],
    "num_tokens": [3, 2],
    "is_cut": len(text) > 100,
  }


def score(text, candidate):
  """Shorter texts are likelier."""
  del text
  return {"score": -0.5 * len(candidate), "num_tokens": 1, "is_cut": False}


# {head: function of its options to {name: `signatures.Signature`}}.
HEADS = {
  "classification": classification,
  "regression": regression,
  "pair_regression": pair_regression,
  "multiple_choice": lambda: {"serving_default": _of_rows(choose)},
  "zero_shot": lambda: {"serving_default": _of_rows(judge)},
  "question_answering": lambda: {"serving_default": _of_rows(find_answer)},
  "token_classification": lambda: {"serving_default": _of_rows(find_names)},
  "fill_mask": fill_mask,
  "encoder": lambda: {"serving_default": _of_rows(embed)},
  "late": lambda: {"serving_default": _of_rows(match)},
  "sparse": lambda: {"serving_default": _of_rows(weigh)},
  "generation": lambda: {
    "serving_default": _of_rows(write),
    "score": _of_rows(score),
  },
  "replaced_tokens": lambda: {"serving_default": _of_rows(detect)},
  "coreference": lambda: {"serving_default": _of_rows(resolve)},
  "plain": plain,
}
