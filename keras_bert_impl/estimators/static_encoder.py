"""Encodes sentences as vectors without a transformer, from Python."""

from keras_bert_impl import files, options, tokenizers
from keras_bert_impl.checkpoints import hub
from keras_bert_impl.checkpoints.descriptions import vocab_size
from keras_bert_impl.estimators import (
  sentence_encoder,
  static_distillation,
  static_training,
)
from keras_bert_impl.sentences import folders, static_folders
from keras_bert_impl.serving.heads import static_vectors


class StaticEncoder(sentence_encoder.SentenceEncoder):
  """Static sentence embeddings: the mean of one learned vector per token.

    small = kb.StaticEncoder.distil(encoder)  # a `SentenceEncoder`
    vectors = small.encode(["The cat sat.", "고양이가 앉았다."])  # [2, 256]
    small.save("small")  # opened by sentence-transformers

  Hundreds of times faster than a transformer, and blind to the order of words.
  Texts are not framed by special tokens.

  Args:
    model: `StaticEmbeddingModel`.
    tokenizer: of `tokenizers.load`.
    texts: `folders.Texts`: prompts, and how long texts may be; by default they
      are read to their ends.

  Attributes:
    model: as given.
    tokenizer: as given.
    texts: as given.
    embedding_size: int, D.

  Raises:
    ValueError: the model has fewer rows than the tokenizer has tokens.

  Source: Tulkens and van Dongen 2024, Model2Vec; sentence-transformers,
  static_embedding.py.
  """

  def __init__(self, model, tokenizer, texts=None):
    vocabulary = tokenizer.vocabulary
    vocab_size.check(model.config, vocabulary.size, vocabulary.origin)
    super().__init__(model, tokenizer, texts or folders.Texts())

  @classmethod
  def from_checkpoint(cls, path):
    """Loads static embeddings of sentence-transformers or model2vec.

    Args:
      path: str, a folder, or a name of the hub. Vectors are those of
        sentence-transformers, which keeps [UNK]; model2vec leaves it out.

    Raises:
      FileNotFoundError: a file is missing.
      ValueError: it is another model, or damaged.
    """
    path = hub.local_path(path, weights=True)
    model, texts = static_folders.read(path)
    tokenizer = tokenizers.load(static_folders.vocabulary_of(path))
    return cls(model, tokenizer, texts)

  @classmethod
  def distil(cls, encoder, size=256, weighting="sif", batch_size=256):
    """Makes static embeddings of an encoder, without any data.

    Each token of the vocabulary is encoded alone, between its special tokens.
    Of these vectors the principal components are kept and weighted by the
    frequency of the token, which its place in the vocabulary stands for:
    vocabularies list frequent tokens first. Vectors get length 1.

    Args:
      encoder: `SentenceEncoder`, whose prompts are not used.
      size: int, D; None for all components.
      weighting: "sif", as model2vec; "zipf", log(1 + rank), as its first
        versions; or None.
      batch_size: int, tokens at once.

    Raises:
      ValueError: an argument is out of range, or the encoder lower-cases what
        its tokenizer does not.

    Source: Tulkens and van Dongen 2024, Model2Vec, distillation.
    """
    model = static_distillation.distil(encoder, size, weighting, batch_size)
    return cls(model, encoder.tokenizer)

  def fit(
    self,
    data,
    targets=None,
    validation_data=None,
    epochs=1,
    batch_size=256,
    learning_rate=1e-3,
    **settings,
  ):
    """Trains the table by Adam, a constant rate and losses of whole batches.

    Args:
      data: examples, as of `SentenceEncoder.fit`.
      targets: list of scores, if `data` is a list of pairs.
      validation_data: examples to score after each epoch, as `data` or as a
        tuple (data, targets); or float in (0, 1), the share of the examples to
        hold out for that.
      epochs: int, passes over the data.
      batch_size: int, examples per step; the last ones of an epoch that fill no
        batch wait for the next one.
      learning_rate: float; a table wants far more than a transformer.
      **settings: random_seed, callbacks, text_columns and label_column of a
        file, and loss, temperature, both_ways, margin, matryoshka_widths,
        query_prompt and document_prompt, as of `SentenceEncoder.fit`.

    Returns:
      `keras.callbacks.History`.

    Raises:
      ValueError: an example or a setting is wrong, names it.
    """
    options.check_integers(
      options.POSITIVE, epochs=epochs, batch_size=batch_size
    )
    options.check_numbers("(0, inf)", learning_rate=learning_rate)
    splits = static_training.splits(data, targets, validation_data, settings)
    training = static_training.Training(
      self, epochs, batch_size, learning_rate, **settings
    )
    return training.run(*splits)

  def servable(self, **options):
    """Returns the `StaticServable` for `kb.export`, with its prompt.

    Args:
      **options: of it, such as prompt, truncate_dim or precision="int8".
    """
    return static_vectors.StaticServable(
      self.model,
      self.tokenizer,
      self.texts.max_seq_length,
      **{"prompt": self.texts.prompt()} | options,
    )

  def save(self, path):
    """Writes a folder that sentence-transformers reads.

    Args:
      path: str, a folder that is new or empty.

    Raises:
      ValueError: it is neither.
    """
    with files.new_folder(path) as folder:
      static_folders.write(
        folder,
        self.model,
        self.texts,
        self.tokenizer.vocabulary,
        self.tokenizer.options,
      )

  def _embed_batch(self, sentences, prompt):
    """Returns the vectors float32 [B, D] of string [B], in graph ops."""
    limit = self.texts.max_seq_length
    pieces = static_vectors.tokenize(self.tokenizer, sentences, prompt, limit)
    table = self.model.table.value
    return static_vectors.embed(table, pieces, self.model.normalize)
