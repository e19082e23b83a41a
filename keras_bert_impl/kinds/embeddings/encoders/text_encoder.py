"""Base class of what encodes texts as vectors, from Python."""

import dataclasses
import functools
import os
import typing
from collections.abc import Iterable, Sequence

import keras
import numpy as np
import tensorflow as tf

from keras_bert_impl import files, heads, options, tokenizers
from keras_bert_impl.checkpoints import hub
from keras_bert_impl.estimators import records, trainable, typed
from keras_bert_impl.kinds.embeddings import (
  embedding_kind,
  embedding_trainer,
  sentence_folder,
)
from keras_bert_impl.sentences import folder_models, folders
from keras_bert_impl.serving.small import export as small
from keras_bert_impl.tokenizers.graph import prompts
from keras_bert_impl.tokenizers.graph import tokenizer as tokenizer_lib

if typing.TYPE_CHECKING:
  from typing_extensions import Self, Unpack

# The classes of other vectors than dense ones.
_CLASSES = {
  heads.SPARSE: "kb.SparseEncoder",
  heads.STATIC: "kb.StaticEncoder",
  heads.LATE: "kb.MultiVectorEncoder",
}
_TEXTS_AND_PROMPT = [
  tf.TensorSpec([None], tf.string),
  tf.TensorSpec([], tf.string),
]

# Settings of `fit` that cannot be chosen, and why.
_NOT_HERE = dict.fromkeys(
  ("pooling", "vectors"),
  "is the model's own: make another encoder, with"
  " kb.EmbeddingModel(encoder.model.encoder, pooling) or of the class"
  " kb.SparseEncoder or kb.MultiVectorEncoder.",
)


class EncoderSettings(typed.FitSettings, total=False):
  """Settings of `fit`."""

  attend_to_expansion_tokens: bool | None
  batch_size: int
  both_ways: bool
  callbacks: Sequence[typing.Any]
  chunk_size: int | None
  do_query_expansion: bool | None
  document_flops_weight: float
  document_prefix: str | None
  document_prompt: str | None
  embedding_size: int | None
  epochs: float
  label_column: str
  loss: str
  margin: float
  matryoshka_widths: Sequence[int] | None
  pooling: str | None
  query_flops_weight: float
  query_length: int | None
  query_prefix: str | None
  query_prompt: str | None
  restore_best: bool
  skiplist_words: str | None
  temperature: float | None
  text_columns: Sequence[str]
  vectors: str | None


class TextEncoder(embedding_trainer.EmbeddingExamples, trainable.Trainable):
  """Encodes texts; reads and writes folders of sentence-transformers. Abstract.

  Args:
    model: model of ids with the output "embeddings".
    tokenizer: of `tokenizers.load`.
    texts: `folders.Texts`: prompts, and how long texts may be.

  Attributes: besides those of `Trainable`:
    model: as given, from ids to vectors; it stays the same in `fit`.
    tokenizer: as given.
    embedding_size: int, D.
    labels: None, as there are no classes.
    similarity_name: str, of `embedding_scores.SIMILARITIES`; of the class.
  """

  kind = embedding_kind.KIND
  labels = None
  similarity_name = "cosine"
  _not_here = _NOT_HERE

  model: keras.Model
  tokenizer: tokenizer_lib.Tokenizer

  def __init__(
    self,
    model: keras.Model,
    tokenizer: tokenizer_lib.Tokenizer,
    texts: folders.Texts | None = None,
  ) -> None:
    self.model = model
    self.tokenizer = tokenizer
    self.texts = texts or folders.Texts()
    self.embedding_size = model.output["embeddings"].shape[-1]
    self.checkpoint, self.results, self.fit_settings = None, {}, {}

  def __repr__(self):
    model = f"{type(self.model).__name__} of {self.model.count_params():,}"
    size = f"embedding_size={self.embedding_size}"
    return f"{type(self).__name__}({model} weights, {size})"

  @property
  def texts(self):
    """`folders.Texts`: prompts, and how long texts may be for the model."""
    return self._texts

  @texts.setter
  def texts(self, texts):
    self._texts = texts.limited_to(self.model.config)
    self._compile()

  @classmethod
  def from_checkpoint(
    cls, path: typed.Path, dtype: typing.Any = None
  ) -> "Self":
    """Loads a folder that sentence-transformers wrote, or any checkpoint.

    Args:
      path: str, as of `models.from_checkpoint`, or the output_dir of a run of
        run_embeddings.py.
      dtype: as of `TransformerEncoder`.

    Raises:
      FileNotFoundError: there is no checkpoint or vocabulary.
      ValueError: it is damaged, has a module that is not known here, or makes
        other vectors.
    """
    path = hub.local_path(path, weights=True)
    of_run = os.path.join(path, sentence_folder.NAMES[cls.head])
    if files.is_folder(of_run):
      path = of_run
    folder = folders.read(path)
    if folder.head not in (heads.ENCODER, cls.head):
      kind = _CLASSES[folder.head]
      raise ValueError(f"{path} makes {folder.head} vectors: use {kind}.")
    model = cls._load(folder, path, dtype)
    tokenizer = tokenizers.load(folder.vocabulary, model.config.model_type)
    encoder = cls(model, tokenizer, folder.texts)
    encoder.checkpoint = path
    return encoder

  def predict(self, inputs: typing.Any, batch_size: int = 32) -> typing.Any:
    """Returns the vectors of texts, as `encode` with the default prompt."""
    return self.encode(inputs, batch_size=batch_size)

  def vectors(self, texts, prompt="", batch_size=32):
    """Returns the whole vectors of texts, float32 array [N, D].

    Those of similar length are encoded together.

    Args:
      texts: list of N str.
      prompt: str, to put before each.
      batch_size: int, texts at once.

    Raises:
      ValueError: a batch_size below 1.
    """
    options.check_integers("[1, inf)", batch_size=batch_size)
    vectors = np.zeros((len(texts), self.embedding_size), np.float32)
    for places, found in _batches(self, texts, prompt, batch_size):
      vectors[places] = found
    return vectors

  def fit(
    self,
    data: typed.Data,
    targets: Iterable[typing.Any] | None = None,
    validation_data: typed.HeldOut | None = None,
    output_dir: typed.Path | None = None,
    **settings: "Unpack[EncoderSettings]",
  ) -> keras.callbacks.History:
    """Trains the model, by the code of run_embeddings.py.

    Args:
      data: examples: list of tuples of texts (the anchor, its positive, any
        negatives), of two texts and a score, of dicts with the keys anchor,
        positive, negative and score, or of str, each a pair with itself
        (SimCSE); a `tf.data.Dataset` of such dicts or tuples; or a file of
        run_embeddings.py, with text_columns and label_column.
      targets: list of scores, if `data` is a list of pairs.
      validation_data: examples to score after each epoch and at the end, as
        `data` or as a tuple (data, targets); or float in (0, 1), the share of
        the examples to hold out for that.
      output_dir: str, folder of the run: a run that was killed goes on there
        when `fit` is called again. Default: a temporary folder, removed with
        the encoder.
      **settings: as of `TextClassifier.fit` (epochs, batch_size, restore_best,
        callbacks, and flags of the script such as learning_rate), and loss
        ("in_batch", "triplet"; "cosine", "cosent" or "angle" of scores),
        chunk_size (examples at once), temperature, both_ways, margin,
        matryoshka_widths, query_prompt and document_prompt; of sparse vectors
        query_flops_weight and document_flops_weight.

    Returns:
      `keras.callbacks.History`.

    Raises:
      ValueError: an example or a setting is wrong, names it; or
        sentence-transformers has no such model.
      KeyboardInterrupt: Ctrl-C came, or a cell was interrupted.
    """
    for name, reason in self._not_here.items():
      if settings.get(name) is not None:
        raise ValueError(f"{name} ({settings[name]!r}) {reason}")
    return super().fit(
      data, targets, validation_data, output_dir=output_dir, **settings
    )

  def evaluate(
    self,
    data: typed.Data,
    targets: Iterable[typing.Any] | None = None,
    corpus: Sequence[str] | typed.Path | None = None,
    batch_size: int = 32,
    **columns: typing.Any,
  ) -> dict[str, float]:
    """Returns {metric: float}: of retrieval, or of pairs with scores.

    An anchor is to find its positive among all texts that are no anchors; of
    pairs with scores, Spearman's and Pearson's correlation with the
    similarities.

    Args:
      data: as of `fit`; a folder of BEIR is scored on its dev or test split.
      targets: as of `fit`.
      corpus: list of str, or a file as of `fit`: other texts to search.
      batch_size: int, texts at once.
      **columns: text_columns and label_column, of a file.

    Raises:
      ValueError: an example is wrong.
    """
    examples = embedding_trainer.examples_of(data, targets, corpus, **columns)
    return self.score(examples, batch_size)

  def score(self, examples, batch_size=32):
    """Returns as `evaluate`, of a list of `EmbeddingExample`."""
    return _scores(self, examples, batch_size)

  def servable(self, **options):
    """Returns the `Servable` for `kb.export`, with the default prompt.

    Its options, such as prompt, top_k or precision="int8", are taken too.
    """
    return embedding_kind.KIND.servables[self.head](
      self.model,
      self.tokenizer,
      self.texts.max_seq_length,
      do_lower_case=self.texts.do_lower_case,
      **{"prompt": self.texts.prompt()} | options,
    )

  def export(
    self,
    export_dir: typed.Path,
    model_name: str | None = None,
    **values: typing.Any,
  ) -> str:
    """Writes a SavedModel of strings to vectors, or a file for clients.

    Args:
      export_dir: as of `TextClassifier.export`.
      model_name: the same.
      **values: the same; the options are those of `servable`.

    Returns:
      str, the folder of the new version.

    Raises:
      ValueError: an option is wrong, or there is none of that name.
    """
    form = small.pop_form(values)
    _check_options(self, values)
    return small.export_as(
      self.servable(**values), os.fspath(export_dir), model_name, **form
    )

  def save(self, path: typed.Path) -> None:
    """Writes a folder that sentence-transformers reads.

    Args:
      path: str, a folder that is new or empty.

    Raises:
      ValueError: it is neither, or sentence-transformers has no such model.
    """
    vocabulary, options = self.tokenizer.vocabulary, self.tokenizer.options
    with files.new_folder(path) as folder:
      folder_models.write(folder, self.model, self.texts, vocabulary, options)

  def _take(self, output_dir):
    """Gives the model the weights and settings of the one that was trained."""
    path = os.path.join(output_dir, sentence_folder.NAMES[self.head])
    trained = self.from_checkpoint(path)
    ours, new = _weights(self.model), _weights(trained.model)
    for name in ours.keys() & new.keys():
      ours[name].assign(new[name])
    found = self.texts.prompts | trained.texts.prompts
    self.texts = dataclasses.replace(trained.texts, prompts=found)
    self.checkpoint = trained.checkpoint

  def _holds_checkpoint(self):
    path = self.checkpoint
    if path is None or not folders.is_one(path):
      return False
    if folders.read(path).head != self.head:
      return False
    stored = self.from_checkpoint(path)
    has_more = len(self.model.weights) != len(stored.model.weights)  # Adapters.
    return stored.texts == self.texts and not has_more and self._is_as(stored)

  def _has_weights_of(self, path):
    return self._is_as(self.from_checkpoint(path))

  def _is_as(self, other):
    """Returns whether another encoder has the same weights."""
    ours, theirs = _weights(self.model), _weights(other.model)
    return trainable.same_weights(ours, theirs)

  def _length(self):
    return self.texts.max_seq_length or options.LONGEST

  def _parts(self, run, splits, task_options):
    return embedding_kind.make_parts(run, splits, task_options)

  def _vectors_of(self, kind, texts, batch_size):
    """Returns the vectors of texts that are all "query" or "document"."""
    return self.vectors(texts, self.texts.prompt_of(kind), batch_size)

  def _compile(self):
    """Makes the functions of texts, into whose graphs the settings go."""
    # By a partial, TensorFlow does not take what other encoders trace for this.
    self._embed = tf.function(
      functools.partial(self._embed_batch),
      input_signature=_TEXTS_AND_PROMPT,
      autograph=False,
    )
    self._sizes = prompts.token_counter(
      self.tokenizer, self.texts.do_lower_case
    )

  def _embed_batch(self, sentences, prompt):
    """Returns the vectors float32 [B, D] of string [B], in graph ops."""
    inputs = prompts.encode(
      self.tokenizer,
      sentences,
      prompt,
      self.texts.max_seq_length,
      self.texts.do_lower_case,
      getattr(self.model, "include_prompt", True),
    )
    return self.model(inputs, training=False)["embeddings"]

  @classmethod
  def _load(cls, folder, path, dtype):
    """Returns the model of a `folders.Folder`, which is at `path`."""
    del path  # Some classes name it in messages.
    return folder_models.load(folder, dtype)


def _batches(encoder, texts, prompt, batch_size):
  """Yields (places in texts, float32 [n, D]) of batches of texts."""
  order = np.arange(len(texts))
  if len(texts) > batch_size:
    # By tokens: by characters, a third more would be padding. The longest
    # first: if they do not fit into memory, that shows at once.
    order = np.argsort(-encoder._sizes(texts), kind="stable")
  for start in range(0, len(texts), batch_size):
    places = order[start : start + batch_size]
    batch = tf.constant([texts[place] for place in places], tf.string)
    yield places, encoder._embed(batch, prompt).numpy()


def _scores(encoder, examples, batch_size):
  """Returns the scores of examples, {metric: float}."""
  evaluator = embedding_kind.make_evaluator(examples, encoder.similarity_name)
  keys = [key for example in examples for key in example.keys]
  found = {}
  for kind in dict.fromkeys(kind for kind, _ in keys):
    texts = [*dict.fromkeys(text for own, text in keys if own == kind)]
    vectors = encoder._vectors_of(kind, texts, batch_size)
    found |= {(kind, text): v for text, v in zip(texts, vectors, strict=True)}
  outputs = {"embeddings": [found[key] for key in keys]}
  answers = evaluator.answers(examples, None, outputs)
  return evaluator.score(examples, answers)


def each(keep, encoder, texts, prompt, batch_size):
  """Returns what `keep` makes of the vector of each text, list of N.

  Args:
    keep: function of an array [D].
    encoder: `TextEncoder`.
    texts: list of N str.
    prompt: what the encoder's graph takes beside a batch.
    batch_size: int, texts at once.
  """
  found = [None] * len(texts)
  for places, vectors in _batches(encoder, texts, prompt, batch_size):
    for place, vector in zip(places, vectors, strict=True):
      found[place] = keep(vector)
  return found


def chosen_prompt(texts, name, prompt):
  """Returns the prompt that is given, or that of a name or the default one.

  Args:
    texts: `folders.Texts`.
    name: str, or None.
    prompt: str, or None.

  Raises:
    ValueError: it is no str, or there is none of that name.
  """
  if prompt is None:
    return texts.prompt(name)
  return records.checked_text(prompt, "prompt")


def _check_options(encoder, names):
  """Raises ValueError if an encoder's export has no option of a name."""
  known = embedding_kind.KIND.servables[encoder.head].options
  for name in names:
    if name not in known:
      raise ValueError(
        f"{name} is no option of an export of {type(encoder).__name__}; there"
        f" are {', '.join(sorted((*known, *small.OPTIONS)))}."
      )


def _weights(model):
  """Returns {name: variable}, whatever the final layers are called."""
  weights = {weight.path: weight for weight in model.weights}
  for number, layer in enumerate(getattr(model, "final_layers", ())):
    for weight in layer.weights:
      del weights[weight.path]
      weights[number, weight.name] = weight
  return weights
