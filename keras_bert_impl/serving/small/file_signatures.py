"""Signatures of LiteRT and ONNX files as of SavedModels, in numpy."""

import abc

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
  """Returns {name: `_OnTexts`, `_OnExamples` or `_OnIds`} of a head."""
  specs = {
    name: signatures.Spec(signatures.STRING, (None,) * rank)
    for name, rank in head.inputs.items()
  }
  found = {
    name: _OnTexts(specs, outputs, answer)
    for name, (answer, outputs) in head.on_texts().items()
  }
  on_text = found[names.SERVING_DEFAULT]
  for name, (read, outputs) in head.on_examples().items():
    found[name] = _OnExamples(name, on_text, outputs, read)
  return found | {names.TOKEN_IDS: _OnIds(head)}


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


class _Checked(signatures.Signature):
  """A signature that refuses inputs of different sizes. Abstract.

  Args:
    inputs: {name: `signatures.Spec`}.
    outputs: as `answers.Head`.
  """

  def __init__(self, inputs, outputs):
    self.inputs = inputs
    self.outputs = {
      name: signatures.Spec(dtype, (None, *sizes))
      for name, (dtype, *sizes) in sorted(outputs.items())
    }

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
    found = self._answer(inputs)
    return {name: found[name] for name in self.outputs}

  @abc.abstractmethod
  def _answer(self, inputs):
    """Returns {output: array} for checked inputs."""


def _shown(array):
  return " ".join(map(str, array.shape))


class _OnTexts(_Checked):
  """A function of raw texts."""

  def __init__(self, inputs, outputs, answer):
    super().__init__(inputs, outputs)
    self._function = answer

  def _answer(self, inputs):
    return self._function(**inputs)


class _OnExamples(_Checked):
  """A function of serialized tf.Examples of raw texts."""

  def __init__(self, name, on_text, outputs, read):
    self._input = "examples" if name == names.TF_EXAMPLE else "inputs"
    spec = signatures.Spec(signatures.STRING, (None,))
    super().__init__({self._input: spec}, outputs)
    self._on_text = on_text
    self._read = read

  def _answer(self, inputs):
    texts = examples.parse(inputs[self._input], self._on_text.inputs)
    return self._read(self._on_text.run(texts))


class _OnIds(_Checked):
  """A function of token ids, checked as `input_checks.check_ids`."""

  def __init__(self, head):
    about, axes = head.about, head.about["inputs"][0]["shape"]
    spec = signatures.Spec(np.dtype(np.int32), (None,) * len(axes))
    outputs = {
      value["name"]: (
        np.dtype(value["dtype"]),
        *(n if isinstance(n, int) else None for n in value["shape"][1:]),
      )
      for value in about["outputs"]
    }
    super().__init__(dict.fromkeys(_IDS, spec), outputs)
    self._head = head
    config = about["config"]
    segments = max(2, config.get("type_vocab_size") or 0)
    self._limits = dict(
      zip(_IDS, (config["vocab_size"], 2, segments), strict=True)
    )

  def _answer(self, inputs):
    for name, values in inputs.items():
      limit = self._limits[name]
      if values.size and not 0 <= values.min() <= values.max() < limit:
        raise errors.of_model(
          f"{name} must be from 0 to {limit - 1}, but are from {values.min()}"
          f" to {values.max()}"
        )
    try:
      return self._head.on_ids(inputs)
    except errors.RequestError:
      raise
    except Exception as error:  # Each runtime has its own for too many ids.
      [reason, *_] = str(error).splitlines() or [type(error).__name__]
      raise errors.of_model(f"the file cannot read these ids: {reason}") from (
        error
      )
