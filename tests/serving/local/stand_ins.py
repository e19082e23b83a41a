"""SavedModels with the signatures of every head and no network inside.

Each answers what can be told from the text by eye, so that a test of a client
knows what to expect.
"""

import tensorflow as tf

_TEXT = tf.TensorSpec([None], tf.string, "text")
_PAIR = tf.TensorSpec([None], tf.string, "text_pair")
_CHOICES = tf.TensorSpec([None, None], tf.string, "choices")
_EXAMPLES = tf.TensorSpec([None], tf.string, "inputs")


def save(head, path, **options):
  """Saves the stand-in of a head; `options` are its own."""
  signatures = HEADS[head](**options)
  tf.saved_model.save(tf.Module(), str(path), signatures=signatures)


def _function(*specs):
  return tf.function(input_signature=specs)


def _length(text):
  return tf.strings.length(text, unit="UTF8_CHAR")


def _start(text, found):
  """Returns the character where `found` begins, the length without it."""
  return _length(tf.strings.regex_replace(text, f"(?s){found}.*", ""))


def _has(text, found):
  return tf.strings.regex_full_match(text, f"(?s).*{found}.*")


def _positive(text):
  """Returns the probability of "positive": 0.75 with a "good" in the text."""
  return tf.where(_has(text, "good"), 0.75, 0.25)


def _class_outputs(text, labels):
  positive = _positive(text)
  probabilities = tf.stack([1 - positive, positive], 1)
  names = tf.constant(labels)
  return {
    "label": tf.gather(names, tf.argmax(probabilities, 1)),
    "score": tf.reduce_max(probabilities, 1),
    "labels": tf.tile(names[None], [tf.size(text), 1]),
    "probabilities": probabilities,
  }


def _texts_of(examples):
  parsed = tf.io.parse_example(
    examples, {"text": tf.io.FixedLenFeature([], tf.string)}
  )
  return parsed["text"]


def classification(labels=("negative", "positive")):
  """Signatures serving_default and classify."""

  @_function(_TEXT)
  def text_to_label(text):
    return _class_outputs(text, labels)

  @_function(_EXAMPLES)
  def classify(inputs):
    outputs = _class_outputs(_texts_of(inputs), labels)
    return {"classes": outputs["labels"], "scores": outputs["probabilities"]}

  return {"serving_default": text_to_label, "classify": classify}


def regression():
  """The length of a text, in characters; serving_default and regress."""

  @_function(_TEXT)
  def score(text):
    return {"scores": tf.cast(_length(text), tf.float32)}

  @_function(_EXAMPLES)
  def regress(inputs):
    lengths = _length(_texts_of(inputs))[:, None]
    return {"outputs": tf.cast(lengths, tf.float32)}

  return {"serving_default": score, "regress": regress}


def pair_regression():
  """The difference of two lengths."""

  @_function(_TEXT, _PAIR)
  def score(text, text_pair):
    difference = _length(text) - _length(text_pair)
    return {"scores": tf.cast(difference, tf.float32)}

  return {"serving_default": score}


def multiple_choice():
  """The longest choice."""

  @_function(_TEXT, _CHOICES)
  def choose(text, choices):
    lengths = tf.cast(_length(choices), tf.float32)
    total = tf.reduce_sum(lengths, 1, keepdims=True)
    probabilities = tf.math.divide_no_nan(lengths, total)
    probabilities += 0.0 * tf.cast(_length(text), tf.float32)[:, None]
    return {
      "choice": tf.argmax(probabilities, 1, tf.int32),
      "probabilities": probabilities,
    }

  return {"serving_default": choose}


def question_answering(answer="서울"):
  """The one answer it knows, wherever it stands in the context."""

  @_function(_TEXT, _PAIR)
  def find(text, text_pair):
    is_found = _has(text_pair, answer)
    start = tf.where(is_found, _start(text_pair, answer), -1)
    zeros = 0.0 * tf.cast(_length(text), tf.float32)
    return {
      "answer": tf.where(is_found, answer, ""),
      "start": start,
      "end": tf.where(is_found, start + len(answer), -1),
      "score": tf.where(is_found, 7.5, -1.0) + zeros,
      "null_score": tf.where(is_found, -2.5, 3.0) + zeros,
      "is_cut": _length(text_pair) > 500,
    }

  return {"serving_default": find}


def token_classification(names=(("철수", "PER"), ("Paris", "LOC"))):
  """The names it knows, in this order, if a text has them all; else none."""

  @_function(_TEXT)
  def find(text):
    is_found = tf.reduce_all([_has(text, name) for name, _ in names], 0)
    starts = tf.stack([_start(text, name) for name, _ in names], 1)
    sizes = tf.constant([len(name) for name, _ in names])
    rows = [tf.size(text), 1]

    def where_found(values):
      empty = tf.zeros_like(values)
      return tf.where(is_found[:, None], values, empty)

    return {
      "num_entities": tf.where(is_found, len(names), 0),
      "labels": where_found(tf.tile([[label for _, label in names]], rows)),
      "texts": where_found(tf.tile([[name for name, _ in names]], rows)),
      "starts": where_found(starts),
      "ends": where_found(starts + sizes),
      "scores": where_found(tf.tile([[0.9] * len(names)], rows)),
      "is_cut": tf.zeros_like(is_found),
    }

  return {"serving_default": find}


def fill_mask(tag=""):
  """What stands before each [MASK], with a tag; padded to the most masks."""

  @_function(_TEXT)
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


def encoder():
  """Vectors of two dimensions: whether a text is long, and whether short."""

  @_function(_TEXT)
  def encode(text):
    is_long = tf.cast(_length(text) > 5, tf.float32)
    return {"embeddings": tf.stack([is_long, 1 - is_long], 1)}

  return {"serving_default": encode}


def replaced_tokens():
  """Words with an "x" are the replaced ones."""

  @_function(_TEXT)
  def detect(text):
    words = tf.strings.split(text)
    lengths = _length(words.flat_values)
    lengths = words.with_flat_values(lengths)
    ends = tf.cumsum(lengths.to_tensor() + 1, axis=1) - 1
    tokens = words.to_tensor("")
    return {
      "num_tokens": tf.cast(words.row_lengths(), tf.int32),
      "tokens": tokens,
      "starts": ends - lengths.to_tensor(),
      "ends": ends,
      "probabilities": tf.where(_has(tokens, "x"), 0.875, 0.125),
    }

  return {"serving_default": detect}


def plain():
  """Numbers and strings of every kind that JSON has rules for."""
  spec = tf.TensorSpec([None, 2], tf.float32, "numbers")
  ids = tf.TensorSpec([None, None], tf.int32, "ids")
  flags = tf.TensorSpec([None], tf.bool, "flags")

  @_function(spec)
  def halve(numbers):
    return {"halves": numbers / 2}

  @_function(spec, ids, flags)
  def echo(numbers, ids, flags):
    return {"flags_out": flags, "ids_out": ids, "numbers_out": numbers}

  @_function(_TEXT)
  def strings(text):
    return {"same": text, "same_bytes": text}

  @_function(_TEXT)
  def refuse_bad(text):
    is_good = tf.debugging.assert_equal(_has(text, "bad"), False, "bad text")
    with tf.control_dependencies([is_good]):
      return {"same": tf.identity(text)}

  return {
    "serving_default": halve,
    "echo": echo,
    "strings": strings,
    "refuse_bad": refuse_bad,
  }


HEADS = {
  "classification": classification,
  "regression": regression,
  "pair_regression": pair_regression,
  "multiple_choice": multiple_choice,
  "question_answering": question_answering,
  "token_classification": token_classification,
  "fill_mask": fill_mask,
  "encoder": encoder,
  "replaced_tokens": replaced_tokens,
  "plain": plain,
}
