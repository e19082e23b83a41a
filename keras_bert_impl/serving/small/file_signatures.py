"""Signatures of LiteRT and ONNX files as of SavedModels, in numpy."""

import functools

import numpy as np

from keras_bert_impl import features, heads
from keras_bert_impl.serving import request_names as names
from keras_bert_impl.serving.local import errors, examples, signatures
from keras_bert_impl.serving.small import (
  answers,
  runtimes,
  span_answers,
  text_rows,
  token_answers,
)
from keras_bert_impl.tokenizers.formats import library, vocabularies

_HEADS = {
  heads.CLASSIFICATION: answers.Classification,
  heads.MULTI_LABEL: answers.MultiLabel,
  heads.REGRESSION: answers.Regression,
  heads.MULTIPLE_CHOICE: answers.MultipleChoice,
  heads.ZERO_SHOT: answers.ZeroShot,
  heads.QUESTION_ANSWERING: span_answers.Answers,
  heads.TOKEN_CLASSIFICATION: span_answers.Tags,
  heads.FILL_MASK: token_answers.FillMask,
  heads.REPLACED_TOKENS: token_answers.ReplacedTokens,
  heads.ENCODER: token_answers.Vectors,
  heads.SPARSE: token_answers.Sparse,
}
_IDS = (features.INPUT_IDS, features.INPUT_MASK, features.SEGMENT_IDS)
# Outputs of heads that need TensorFlow: a random field, a beam.
_UNREAD = {"transitions", "cls_logits"}


def load(folder):
  """Returns the signatures of an exported file.

  Args:
    folder: str, version of an export.

  Returns:
    {name: `signatures.Signature`}; None: its answers need TensorFlow.

  Raises:
    FileNotFoundError: a file is missing.
    ValueError: what runs it is not installed, or it cannot answer.
  """
  # More threads wait for each other more than they help with short texts.
  runtime = runtimes.Runtime(folder, num_threads=1)
  about = runtime.description
  make = _HEADS.get(about["head"])
  of_tokens = about["texts"]["framing"] == ["A"]
  characters = about.get("trained_on") == "characters"
  if not make or of_tokens or characters or _UNREAD & runtime.axes.keys():
    return None
  vocabulary, options = vocabularies.find(folder)
  if not library.is_exact(vocabulary, options):
    return None
  longest, fixed = about["max_seq_length"], runtime.axes["input_ids"][-1]
  if isinstance(fixed, int):
    longest = min(longest, fixed)
  head = make(runtime, text_rows.TextRows(vocabulary, options, longest))
  found = _signatures(head)
  _answer_one(found[names.SERVING_DEFAULT], head.example)
  return found


def _signatures(head):
  """Returns {name: `_Signature`} of a head."""
  specs = {
    name: signatures.Spec(signatures.STRING, (None,) * rank)
    for name, rank in head.inputs.items()
  }
  found = {
    name: _Signature(specs, outputs, answer)
    for name, (answer, outputs) in head.on_texts().items()
  }
  on_text = found[names.SERVING_DEFAULT]
  serialized = signatures.Spec(signatures.STRING, (None,))
  for name, (read, outputs) in head.on_examples().items():
    given = "examples" if name == names.TF_EXAMPLE else "inputs"
    answer = functools.partial(_answer_examples, on_text, read)
    found[name] = _Signature({given: serialized}, outputs, answer)
  return found | {names.TOKEN_IDS: _on_ids(head)}


def _answer_one(signature, example):
  """Raises ValueError unless a file answers a row: that of its example.

  A file that is damaged, or another model's, opens like any other.
  """
  inputs = {
    name: np.vectorize(str.encode, otypes="O")(np.array(texts, object))
    for name, texts in example.items()
  }
  try:
    signature.run(inputs)
  except errors.RequestError:
    raise
  except Exception as error:  # Those of what runs the file.
    kind = type(error).__name__
    raise ValueError(f"it cannot answer a row: {kind}: {error}") from error


class _Signature(signatures.Signature):
  """A signature that refuses inputs of different sizes.

  Args:
    inputs: {name: `signatures.Spec`}.
    outputs: as `answers.Head`.
    answer: function of checked inputs by name to {output: array}.
  """

  def __init__(self, inputs, outputs, answer):
    self.inputs = inputs
    self.outputs = {
      name: signatures.Spec(dtype, (None, *sizes))
      for name, (dtype, *sizes) in sorted(outputs.items())
    }
    self._answer = answer

  def run(self, inputs):
    """Returns the outputs; see `signatures.Signature`."""
    (first, one), *others = inputs.items()
    for name, other in others:
      shared = min(one.ndim, other.ndim)
      if one.shape[:shared] != other.shape[:shared]:
        raise errors.of_model(
          f"{first} and {name} must be equally long, but have the shapes"
          f" {_shown(one)} and {_shown(other)}"
        )
    found = self._answer(**inputs)
    return {name: found[name] for name in self.outputs}


def _shown(array):
  return " ".join(map(str, array.shape))


def _answer_examples(on_text, read, **inputs):
  """Returns what `read` makes of the answers to serialized tf.Examples."""
  [serialized] = inputs.values()
  return read(on_text.run(examples.parse(serialized, on_text.inputs)))


def _on_ids(head):
  """Returns the signature of token ids, whose outputs are the file's."""
  axes = head.about["inputs"][0]["shape"]
  spec = signatures.Spec(np.dtype(np.int32), (None,) * len(axes))
  outputs = {
    value["name"]: (
      np.dtype(value["dtype"]),
      *(n if isinstance(n, int) else None for n in value["shape"][1:]),
    )
    for value in head.about["outputs"]
  }
  answer = functools.partial(_answer_ids, head)
  return _Signature(dict.fromkeys(_IDS, spec), outputs, answer)


def _answer_ids(head, **inputs):
  """Returns the answers to ids, checked as `input_checks.check_ids`."""
  config = head.about["config"]
  segments = max(2, config.get("type_vocab_size") or 0)
  limits = config["vocab_size"], 2, segments
  for name, limit in zip(_IDS, limits, strict=True):
    values = inputs[name]
    if values.size and not 0 <= values.min() <= values.max() < limit:
      raise errors.of_model(
        f"{name} must be from 0 to {limit - 1}, but are from {values.min()}"
        f" to {values.max()}"
      )
  try:
    return head.on_ids(inputs)
  except errors.RequestError:
    raise
  except Exception as error:  # Each runtime has its own for too many ids.
    [reason, *_] = str(error).splitlines() or [type(error).__name__]
    raise errors.of_model(f"the file cannot read these ids: {reason}") from (
      error
    )
