"""Sources of text for learning a vocabulary."""

import functools
import itertools

from keras_bert_impl.command_line import program
from tfrecords.text import documents, sources
from tfrecords.writing import beam_runner

_SAMPLE_SENTENCES = 1000


class TextSource:
  """The sentences of the input, counted while they are read.

  Attributes:
    sample: list of str, the first sentences.
    num_documents: int, so far.
    num_sentences: int, so far.
  """

  def __init__(self, config):
    found = sources.iter_documents(
      program.split_names(config.input_file), config.input_format
    )
    first, self.sample = [], []
    while len(self.sample) < _SAMPLE_SENTENCES and (more := next(found, None)):
      first.append(more)
      self.sample += more[: _SAMPLE_SENTENCES - len(self.sample)]
    self._documents = itertools.chain(first, found)
    self.num_documents = 0
    self.num_sentences = 0

  def arguments(self):
    """Returns the arguments that `learn` takes for such a source."""
    return {}

  def texts(self):
    """Yields every sentence once."""
    for sentences in self._documents:
      self.num_documents += 1
      self.num_sentences += len(sentences)
      yield from sentences


class BeamSource:
  """A source whose words are counted on Apache Beam.

  The attributes are those of `TextSource`, and are set when the words have been
  counted.
  """

  def __init__(self, config, beam, method):
    if not method.counts_words:
      raise ValueError(
        f"runner ({beam.runner}) must be left out for "
        f"--tokenizer={config.tokenizer}, which does not learn from counted "
        "words."
      )
    names = program.split_names(config.input_file)
    beam_runner.prepare_data_sets(names, beam)
    names = sources.replace_by_text(names, beside=config.vocab_file)
    self._chunks = documents.open_chunks(names, config.input_format)
    self._config, self._beam, self._learner = config, beam, method.learner
    sentences = (
      sentence
      for chunk in self._chunks
      for document in documents.read_chunk(chunk)
      for sentence in document
    )
    self.sample = list(itertools.islice(sentences, _SAMPLE_SENTENCES))
    self.num_documents = None
    self.num_sentences = None

  def arguments(self):
    """Returns the arguments that `learn` takes for such a source."""
    return {"count": self._count}

  def texts(self):
    """Returns the chunks of text to count."""
    return self._chunks

  def _count(self, chunks, options):
    counts = beam_runner.count_words(
      chunks,
      functools.partial(self._learner.count_words, options=options),
      self._config.vocab_file,
      self._beam,
    )
    self.num_documents = counts.num_documents
    self.num_sentences = counts.num_sentences
    return counts.words
