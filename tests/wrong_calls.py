"""Calls of every public name with wrong arguments, and what is told of them.

Each argument of each subject is given each of `VALUES`, some of which some
arguments can take: only the errors are judged.
"""

import contextlib
import inspect
import pathlib
import re
import warnings

import keras
import numpy as np
import tensorflow as tf

import keras_bert_impl as kb
from keras_bert_impl.kinds.embeddings.corpus import corpus_shards
from keras_bert_impl.runs.fine_tuning import search
from keras_bert_impl.serving.small import export as small
from keras_bert_impl.tokenizers.graph import tokenizer

VALUES = (
  *(None, "", "nope", b"x", "s3://x/a", "a\0b", pathlib.Path("/dev/null/file")),
  *(True, -1, 0, 1.5, 10**30, float("nan"), float("inf")),
  *(np.int64(-1), np.float32("nan"), np.bool_(True), object(), len),
  *([], [None], [1, 2], ["a", 1], [[1], [1, 2]], (), {}, {"a": 1}, {1, 2}),
  *(np.zeros((2, 2)), np.array(["a", None]), tf.zeros([2])),
)
# Sentences of Python, NumPy, TensorFlow, Keras and the standard library.
NOT_OURS = re.compile(
  r"unsupported operand|is not (iterable|subscriptable|callable|reversible)"
  r"|has no (attribute|len)|unexpected keyword|required (key|pos)|positional"
  r"|multiple values for|path should be|argument of type|unhash|embedded null"
  r"|object cannot be|could not convert|invalid literal|cannot conv"
  r"|Cannot convert .* to (Eager)?Tensor"
  r"|expected str|not supported between|bytes-like|ufunc|serializable|truth va"
  r"|inhomogeneous|object is not|too large to|Can't convert|Attempt to convert"
  r"|Expected .* got|indices must|\{\{|out of (range|bounds)"
  r"|Could not interpret|cannot be interpreted|not enough values|too many val"
  r"|only (integer|length|0-d)|Invalid dtype|not understood|a valid (list|dty)"
  r"|must be an iterable|first arg must|Failed to convert|conversion requested"
)
# Other names of arguments in what is told of them.
ALSO = {
  "data": ("examples", "labels"),
  "targets": ("data[", "labels"),
  "share": ("generator_size",),
  "modes": ("pooling",),
  "text_pairs": ("and pairs like them",),
  "use_mask_decoder": ("objective deberta",),
  "dtype": ("DTypePolicy",),
  "path": ("/dev/null cannot be made",),
}
QUESTION = {
  "question": "who",
  "context": "the cat",
  "answers": {"text": ["cat"], "answer_start": [4]},
}
CHOICE = {"text": "a", "choices": ["b", "c"], "label": 0}
DOCUMENT = {"sentences": [["a", "b"]], "clusters": [[[0, 0], [1, 1]]]}
TREE = {"words": ["a", "b"], "heads": [2, 0], "relations": ["x", "y"]}
SETTINGS = (
  *("learning_rate", "random_seed", "max_seq_length", "restore_best"),
  *("callbacks", "lora_rank", "grid", "teacher", "dtype", "output_dir"),
  *("train_layers", "optimizer", "early_stopping_patience", "clip_norm"),
  *("verbose", "class_weight", "sample_weight"),
)
EXPORT = (
  "weights_dtype",
  "signature_names",
  "format",
  "fixed_length",
  "labels",
)
# What the constructors of layers and models need.
SIZES = (
  "units width window projection_size num_distances vocab_size embedding_size"
  " intermediate_size num_classes head_size hidden_size"
)
CONFIG = kb.EncoderConfig(20, 8, 4, 2, intermediate_size=8)
VECTORS = np.ones((2, 4), "float32")


class Accepted(Exception):
  """A call whose arguments were taken: the work would begin."""


@contextlib.contextmanager
def without_work(monkeypatch):
  """Ends each call inside where its arguments were taken."""

  def accept(*args, **named):
    raise Accepted

  monkeypatch.setattr(search, "run", accept)
  monkeypatch.setattr(small, "export_as", accept)
  monkeypatch.setattr(corpus_shards, "facts_of", accept)
  with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    yield


class Subject:
  """What is called.

  Args:
    name: str.
    call: callable.
    more: names of arguments that its `**` takes.
    **good: the arguments of a call that works.
  """

  def __init__(self, name, call, more=(), **good):
    self.name, self.call, self.good = name, call, good
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    found = inspect.signature(call).parameters.values()
    names = [p.name for p in found if p.kind not in kinds]
    # Of our own calls: any function is right.
    self.arguments = [*(name for name in names if name != "advance"), *more]

  @property
  def calls(self):
    """The wrong calls: (argument, value, all arguments by name)."""
    for name in self.good:
      yield name, "missing", {k: v for k, v in self.good.items() if k != name}
    yield "no_such", 1, self.good | {"no_such": 1}
    for name in self.arguments:
      for value in VALUES:
        yield name, value, self.good | {name: value}


def estimators(path):
  """Yields the subjects of the classes that read strings."""
  pairs, texts = [("a", "b"), ("c", "d")], ["a good one", "so bad"]
  for kind, data, targets in (
    (kb.TextClassifier, texts, ["p", "n"]),
    (kb.TokenTagger, [["a", "b"]], [["O", "B-X"]]),
    (kb.DependencyParser, [TREE], None),
    (kb.CoreferenceResolver, [DOCUMENT], None),
    (kb.QuestionAnswerer, [QUESTION], None),
    (kb.ChoiceAnswerer, [CHOICE], None),
    (kb.Reranker, [("a", "b", "c")] * 2, None),
    (kb.FillMask, ["a [MASK]"], None),
    (kb.SentenceEncoder, pairs, None),
    (kb.SparseEncoder, pairs, None),
    (kb.MultiVectorEncoder, pairs, None),
  ):
    name, model = kind.__name__, kind.from_checkpoint(path)
    yield Subject(f"{name}.from_checkpoint", kind.from_checkpoint, path=path)
    needed = {"data": data, "targets": targets, "inputs": data, "texts": texts}
    needed |= {"sentences": texts, "query": "a", "documents": ["b"]}
    needed |= {"document": "b", "export_dir": "out", "path": "saved"}
    needed |= {"source": texts, "output_dir": "vectors"}
    needed |= {"a": VECTORS, "b": VECTORS, "kind": "query"}
    more = {"fit": SETTINGS, "evaluate": ("dtype",), "export": EXPORT}
    for method, _ in inspect.getmembers(kind, inspect.isfunction):
      if method[0] != "_" and method not in ("servable", "score"):
        call, names = getattr(model, method), more.get(method, ())
        yield _subject(f"{name}.{method}", call, needed, names)


def tokenizers(path):
  """Yields the subjects of a tokenizer."""
  made = kb.load_tokenizer(path)
  ids = tf.ragged.constant([[5, 6], [7]])
  needed = {"texts": ["a", "b"], "pieces": ids, "ids": ids, "folder": "saved"}
  needed |= {"tokens": tf.ragged.constant([["a", "b"]])}
  for name, _ in inspect.getmembers(tokenizer.Tokenizer, inspect.isfunction):
    own = name in vars(tokenizer.Tokenizer) or name == "save"
    if own and (name[0] != "_" or name == "__call__"):
      yield _subject(f"Tokenizer.{name}", getattr(made, name), needed)


def functions(path):
  """Yields the subjects of the functions and the configurations."""
  model, opened = kb.from_checkpoint(path), kb.load_tokenizer(path)
  heads = kb.SequenceClassifier
  yield Subject("from_checkpoint", kb.from_checkpoint, path=path)
  yield Subject("load_tokenizer", kb.load_tokenizer, ("family",), path=path)
  yield Subject("lora", kb.lora, model=model)
  yield Subject("merge_lora", kb.merge_lora, model=model)
  yield Subject("save_lora", kb.save_lora, model=model, folder="adapter")
  yield Subject("load_lora", kb.load_lora, model=model, folder=path)
  yield Subject("make_encoder", kb.make_encoder, config=CONFIG)
  named = {"config": CONFIG, "share": 0.5}
  yield Subject("generator", kb.electra_generator_config, **named)
  yield Subject("rematerialize", kb.rematerialize)
  named = {"model": model, "tokenizer": opened, "export_dir": "out"}
  yield Subject("export", kb.export, EXPORT, **named)
  yield Subject("EncoderConfig", kb.EncoderConfig, vocab_size=9)
  yield Subject("TrainingConfig", kb.TrainingConfig)
  named = {"path": path, "num_classes": 2}
  yield Subject("HeadModel.from_checkpoint", heads.from_checkpoint, **named)
  named = {"encoder": model, "num_classes": 2}
  yield Subject("HeadModel.from_encoder", heads.from_encoder, **named)


def layers():
  """Yields the subjects of the constructors of layers and models."""
  needed = dict.fromkeys(SIZES.split(), 8) | {"num_heads": 2, "rate": 0.1}
  needed |= {"config": CONFIG, "generator_config": CONFIG}
  needed |= {"encoder": kb.TransformerEncoder(CONFIG)}
  for name in (*kb.layers.__all__, *kb.models.__all__):
    kind = getattr(kb, name)
    if inspect.isclass(kind) and name not in ("Model", "TransformersModel"):
      more = ("dtype", "name") if issubclass(kind, keras.Layer) else ()
      yield _subject(name, kind, needed, more)


def subjects(path):
  """Yields all subjects; `path` is a small checkpoint."""
  for found in (functions(path), layers(), tokenizers(path), estimators(path)):
    yield from found


def _subject(name, call, values, more=()):
  """Returns the subject that needs those of some values that it has."""
  parameters = inspect.signature(call).parameters
  needed = {
    key: values[key]
    for key, parameter in parameters.items()
    if values.get(key) is not None
    and (parameter.default is parameter.empty or key == "targets")
  }
  return Subject(name, call, more, **needed)


def told(subject, arguments):
  """Calls a subject; returns the error, None if its arguments are taken."""
  try:
    subject.call(**arguments)
  except Accepted:
    return None
  except Exception as error:
    return error
  return None


def verdicts(subject, share, seed=0):
  """Yields what is wrong with each of a share of the wrong calls, or None."""
  # What is told of another argument, and of another state of the model.
  usual = {str(told(subject, subject.good)) for _ in range(2)}
  calls = [*subject.calls]
  for number in np.random.default_rng(seed).permutation(len(calls))[::share]:
    argument, value, arguments = calls[number]
    error = told(subject, arguments)
    found = error and str(error) not in usual and _fault(argument, value, error)
    yield found and (
      f"{subject.name}({argument}={value!r:.40}) {found}:"
      f" {type(error).__name__}: {' '.join(str(error).split())[:200]}"
    )


def _fault(argument, value, error):
  """Returns what is wrong with an error, None if nothing."""
  text = " ".join(str(error).split())
  if not isinstance(error, ValueError | TypeError | OSError):
    return f"is a {type(error).__name__}"
  if NOT_OURS.search(text):
    return "is no sentence of ours"
  shown = " ".join(str(value).split())[:30]
  names = (argument.removesuffix("s"), shown or "''", *ALSO.get(argument, ()))
  names += ("call fit first",)
  return None if any(x in text for x in names) else "names nothing"
