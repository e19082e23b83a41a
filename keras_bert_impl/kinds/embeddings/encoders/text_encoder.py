"""Base class of what encodes texts as vectors, from Python."""

import functools
import os
import tempfile
import typing
from collections.abc import Iterable, Sequence

import keras
import numpy as np
import tensorflow as tf

from keras_bert_impl import files, heads, options, tokenizers
from keras_bert_impl.checkpoints import hub
from keras_bert_impl.estimators import typed
from keras_bert_impl.kinds.embeddings import (
  embedding_corpus,
  embedding_kind,
  embedding_trainer,
  sentence_folder,
)
from keras_bert_impl.kinds.embeddings.encoders import (
  corpus_encoder,
  encoder_training,
  searching_encoder,
)
from keras_bert_impl.sentences import folder_models, folders
from keras_bert_impl.serving.small import export as small
from keras_bert_impl.tokenizers.graph import prompts
from keras_bert_impl.tokenizers.graph import tokenizer as tokenizer_lib

if typing.TYPE_CHECKING:
  from typing_extensions import Self

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


class TextEncoder(
  corpus_encoder.CorpusEncoder,
  searching_encoder.SearchingEncoder,
  encoder_training.TrainableEncoder,
):
  """Encodes texts; reads and writes folders of sentence-transformers. Abstract.

  Args:
    model: model of ids with the output "embeddings".
    tokenizer: of `tokenizers.load`.
    texts: `folders.Texts`: prompts, and how long texts may be.

  Attributes: besides those of `TrainableEncoder`:
    embedding_size: int, D.
    similarity_name: str, of `embedding_scores.SIMILARITIES`; of the class.
  """

  similarity_name = "cosine"

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

  def vectors(self, texts, prompt="", batch_size=32, advance=None):
    """Returns the whole vectors of texts, float32 array [N, D].

    Those of similar length are encoded together.

    Args:
      texts: list of N str.
      prompt: str, to put before each.
      batch_size: int, texts at once.
      advance: callable (number of texts), called after each batch, or None.

    Raises:
      ValueError: a batch_size below 1.
    """
    options.check_integers("[1, inf)", batch_size=batch_size)
    vectors = np.zeros((len(texts), self.embedding_size), np.float32)
    for places, found in _batches(self, texts, prompt, batch_size, advance):
      vectors[places] = found
    return vectors

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
      corpus: list of str, or a file as of `fit`: other texts to search, whose
        vectors lie in a temporary folder.
      batch_size: int, texts at once.
      **columns: text_columns and label_column, of a file.

    Raises:
      ValueError: an example is wrong.
    """
    found = embedding_trainer.examples_of(data, targets, corpus, **columns)
    examples, *apart = found
    with tempfile.TemporaryDirectory() as folder:
      more = embedding_corpus.encoded(
        self, examples, folder, batch_size, *apart
      )
      return self.score(examples, batch_size, more)

  def score(self, examples, batch_size=32, more=None):
    """Returns as `evaluate`, of a list of `EmbeddingExample`.

    Args:
      examples: as above.
      batch_size: int, texts at once.
      more: {output: value} that the evaluator reads besides, or None.
    """
    evaluator = embedding_kind.make_evaluator(examples, self.similarity_name)
    keys = [key for example in examples for key in example.keys]
    found = {}
    for kind in dict.fromkeys(kind for kind, _ in keys):
      texts = [*dict.fromkeys(text for own, text in keys if own == kind)]
      vectors = self.vectors_of(kind, texts, batch_size)
      found |= {(kind, text): v for text, v in zip(texts, vectors, strict=True)}
    outputs = {"embeddings": [found[key] for key in keys]} | (more or {})
    answers = evaluator.answers(examples, None, outputs)
    return evaluator.score(examples, answers)

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

  def vectors_of(self, kind, texts, batch_size=32, advance=None):
    """Returns the vectors of texts that are all "query" or "document".

    Args:
      kind: str.
      texts: as of `vectors`.
      batch_size: the same.
      advance: the same.

    Returns:
      float32 array [N, D]; of sparse vectors list of N
      `scipy.sparse.csr_array` [1, V]; of late interaction of N arrays [L, D].
    """
    prompt = self.texts.prompt_of(kind)
    return self.vectors(texts, prompt, batch_size, advance)

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


def _batches(encoder, texts, prompt, batch_size, advance=None):
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
    if advance:
      advance(len(places))


def each(keep, encoder, texts, prompt, batch_size, advance=None):
  """Returns what `keep` makes of the vector of each text, list of N.

  Args:
    keep: function of an array [D].
    encoder: `TextEncoder`.
    texts: list of N str.
    prompt: what the encoder's graph takes beside a batch.
    batch_size: int, texts at once.
    advance: as of `TextEncoder.vectors`.
  """
  found = [None] * len(texts)
  for places, vectors in _batches(encoder, texts, prompt, batch_size, advance):
    for place, vector in zip(places, vectors, strict=True):
      found[place] = keep(vector)
  return found


def _check_options(encoder, names):
  """Raises ValueError if an encoder's export has no option of a name."""
  known = embedding_kind.KIND.servables[encoder.head].options
  for name in names:
    if name not in known:
      raise ValueError(
        f"{name} is no option of an export of {type(encoder).__name__}; there"
        f" are {', '.join(sorted((*known, *small.OPTIONS)))}."
      )
