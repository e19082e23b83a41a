"""Encodes the tokens of texts as vectors, late interaction, from Python."""

import dataclasses
import functools
import typing
from collections.abc import Iterable, Sequence

import numpy as np
import tensorflow as tf

from keras_bert_impl import heads, options
from keras_bert_impl.estimators import records, typed
from keras_bert_impl.kinds.embeddings.encoders import (
  searching_encoder,
  text_encoder,
  token_matches,
)
from keras_bert_impl.kinds.embeddings.servables import late_vectors
from keras_bert_impl.sentences import folder_models, folders
from keras_bert_impl.tasks.basics import max_sim, vector_losses
from keras_bert_impl.tokenizers.graph import late_interaction

if typing.TYPE_CHECKING:
  from typing_extensions import Self, Unpack


_QUERY, _DOCUMENT = late_interaction.KINDS
_DOCUMENT_LENGTH = 180  # as published


class MultiVectorEncoder(text_encoder.TextEncoder):
  """ColBERT: a vector for each token; as MultiVectorEncoder or PyLate there.

    encoder = kb.MultiVectorEncoder.from_checkpoint("bert-base-uncased")
    encoder.fit([("Who sat?", "The cat sat."), ...], batch_size=32)
    encoder.rank("Who sat?", ["It rained.", "The cat sat."], top_k=1)
    # [{"index": 1, "score": 28.4}]

  Starts from a folder of PyLate, or any checkpoint: then the projection is
  untrained, and a warning says so.

  Args:
    model: `MultiVectorEmbeddingModel`.
    tokenizer: of `tokenizers.load`.
    texts: `folders.Texts`: prompts, how long documents may be, and, in `late`,
      markers, length of queries and skipped tokens.

  Attributes: as of `SentenceEncoder`; D is the width of a token's vector.
  """

  head = heads.LATE
  similarity_name = vector_losses.MAX_SIM
  _sides = ("encode_query", "encode_document")

  def __init__(self, model, tokenizer, texts=None):
    texts = texts or folders.Texts()
    if texts.late is None:
      length = min(texts.max_seq_length or _DOCUMENT_LENGTH, _DOCUMENT_LENGTH)
      late = late_interaction.LateInteraction()
      texts = dataclasses.replace(texts, max_seq_length=length, late=late)
    super().__init__(model, tokenizer, texts)

  @classmethod
  def from_checkpoint(
    cls,
    path: typed.Path,
    dtype: typing.Any = None,
    max_seq_length: int | None = None,
    **settings: typing.Any,
  ) -> "Self":
    """Loads a folder that PyLate wrote, or any checkpoint.

    Args:
      path: str, as of `models.from_checkpoint`.
      dtype: as of `TransformerEncoder`.
      max_seq_length: int, most tokens of a document; default: the folder's, or
        180.
      **settings: fields of `LateInteraction` in place of the folder's, such as
        query_prefix="" and document_prefix="" of a vocabulary without
        [unused0] and [unused1].

    Raises:
      FileNotFoundError: there is no checkpoint or vocabulary.
      ValueError: it is damaged, or makes other vectors.
    """
    encoder = super().from_checkpoint(path, dtype)
    texts = encoder.texts
    late = dataclasses.replace(texts.late, **settings)
    length = max_seq_length or texts.max_seq_length
    encoder.texts = dataclasses.replace(texts, max_seq_length=length, late=late)
    return encoder

  def encode_query(
    self,
    texts: str | Iterable[str],
    batch_size: int = 32,
    **settings: "Unpack[searching_encoder.EncodeSettings]",
  ) -> typing.Any:
    """Encodes queries, after the prompt "query" if there is one.

    Args:
      texts: list of N str, or one str.
      batch_size: int, texts at once.
      **settings: precision, whose ranges are those of all tokens,
        show_progress_bar and convert_to_tensor, as of `SentenceEncoder.encode`.

    Returns:
      list of N float32 arrays [L, D], vectors of length 1: of all tokens, those
      that fill a query up too; of one str, one array.

    Raises:
      ValueError: a batch_size below 1, or no such precision or marker in the
        vocabulary.
    """
    output = searching_encoder.Output.of(self.encode_query, settings)
    return _encoded(self, _QUERY, texts, batch_size, output)

  def encode_document(
    self,
    texts: str | Iterable[str],
    batch_size: int = 32,
    **settings: "Unpack[searching_encoder.EncodeSettings]",
  ) -> typing.Any:
    """Encodes documents: vectors of all tokens but the skipped ones.

    Args, returns and raises: as `encode_query`.
    """
    output = searching_encoder.Output.of(self.encode_document, settings)
    return _encoded(self, _DOCUMENT, texts, batch_size, output)

  encode = encode_document  # of `predict`

  def vectors(self, texts, prompt=_DOCUMENT, batch_size=32, advance=None):
    """Returns the vectors of texts, list of N float32 arrays [L, D].

    Args:
      texts: list of N str.
      prompt: "query" or "document", how texts are encoded.
      batch_size: int, texts at once.
      advance: callable (number of texts), called after each batch, or None.

    Raises:
      ValueError: as `encode_query`.
    """
    options.check_integers("[1, inf)", batch_size=batch_size)
    # All that a graph depends on, as training may change it.
    form = prompt, self.texts.prompt_of(prompt), self.texts.late
    return text_encoder.each(
      lambda row: row[np.any(row != 0, axis=1)],
      self,
      texts,
      form,
      batch_size,
      advance,
    )

  def _compared(self, a, b):
    a, b = _arrays("a", a), _arrays("b", b)
    if len({x.shape[1] for x in (*a, *b)}) > 1:
      raise ValueError("a and b must have vectors of one width.")
    return a, b

  def _similarities(self, a, b):
    if not a or not b:
      return np.zeros((len(a), len(b)), np.float32)
    return np.concatenate([*max_sim.blocks(a, b)])

  def rank(
    self,
    query: str,
    documents: Sequence[str],
    top_k: int | None = None,
    batch_size: int = 32,
  ) -> list[records.Ranked]:
    """Puts documents in order.

    Args:
      query: str.
      documents: list of str.
      top_k: int, how many to return; default: all.
      batch_size: int, documents at once.

    Returns:
      list of {"index": place in `documents`, "score": float}, the best first.

    Raises:
      ValueError: documents are no list of str, or top_k is below 1.
    """
    query = records.checked_text(query, "query")
    documents = records.strings_of(documents, "documents")
    vectors = self.encode_document(documents, batch_size)
    [scores] = self.similarity(self.encode_query(query), vectors)
    return records.best(scores, top_k)

  def highlight(self, query: str, document: str) -> list[dict[str, typing.Any]]:
    """Says which word of a document each token of a query matched.

      encoder.highlight("누가 앉았지?", "고양이가 앉았다.")

    Args:
      query: str.
      document: str.

    Returns:
      list of dicts, one for each vector of the query: "token", str; "start" and
      "end", its characters in the query; "word", "word_start" and "word_end",
      the word of the document of the most similar token; "similarity", float.
      Places are None for what is not in the text: markers, [CLS], [SEP] and the
      masks that fill a query up. The similarities sum up to the score.
    """
    return token_matches.find(
      self,
      records.checked_text(query, "query"),
      records.checked_text(document, "document"),
    )

  def servable(self):
    """Returns the `LateInteractionServable` for `kb.export`."""
    return late_vectors.LateInteractionServable(
      self.model,
      self.tokenizer,
      self.texts.max_seq_length,
      self.texts.do_lower_case,
      *map(self.texts.prompt_of, late_interaction.KINDS),
      **vars(self.texts.late),
    )

  def vectors_of(self, kind, texts, batch_size=32, advance=None):
    """Returns `vectors` of either kind."""
    return self.vectors(texts, kind, batch_size, advance)

  def _compile(self):
    super()._compile()
    self._embed = tf.function(
      functools.partial(self._embed_form),
      autograph=False,
      reduce_retracing=True,
    )

  def _embed_form(self, texts, form):
    """Returns the vectors float32 [B, L, D] of string [B], in graph ops."""
    inputs = self.inputs(texts, form[0])
    return self.model(inputs, training=False)["embeddings"]

  def inputs(self, texts, kind):
    """Returns the inputs of the model, {name: int32 [B, L]}, in graph ops.

    Args:
      texts: string [B].
      kind: "query" or "document".
    """
    options.check_choice("kind", kind, late_interaction.KINDS)
    self.texts.late.check_length(self.model.config.longest_input)
    texts = tf.reshape(tf.convert_to_tensor(texts, tf.string), [-1])
    inputs, _ = self.texts.late.encode(
      self.tokenizer,
      texts,
      kind,
      self.texts.prompt_of(kind),
      self.texts.max_seq_length,
      self.texts.do_lower_case,
    )
    return inputs

  @classmethod
  def _load(cls, folder, path, dtype):
    return folder_models.load_late(folder, dtype)


def _encoded(encoder, kind, texts, batch_size, output):
  """Returns the vectors of texts, or of one, as an `Output` says."""
  is_one = isinstance(texts, str)
  texts = [texts] if is_one else records.strings_of(texts, "texts", True)
  with output.bar(len(texts)) as bar:
    vectors = encoder.vectors(texts, kind, batch_size, bar.update)
  vectors = output.of_tokens(vectors)
  return vectors[0] if is_one else vectors


def _arrays(name, vectors):
  """Returns a list of float32 arrays [L, D] of one such array or of several."""
  if getattr(vectors, "ndim", None) == 2:
    vectors = [vectors]
  try:
    found = [np.asarray(x, np.float32) for x in vectors]
  except (TypeError, ValueError):
    found = [np.zeros(0)]
  if any(x.ndim != 2 or not len(x) for x in found):
    raise ValueError(
      f"{name} must be a list of arrays [L, D], L above 0, of encode_query or"
      " encode_document."
    )
  return found
