"""Learns a WordPiece vocabulary from text files.

    python official_tasks/train_vocabulary.py \
      --input_file='books/*.txt' --vocab_file=model/vocab.txt --vocab_size=16000

Writes the vocabulary, one token per line; tokenizer_config.json beside it, from
which the other scripts take how text is normalised; and what was learned from
as <vocab_file>.results.json.
"""

import dataclasses
import itertools
import time

from absl import flags, logging

from keras_bert_impl.tokenizers import (
  agreement,
  vocabulary,
  wordpiece,
  wordpiece_learner,
)
from keras_bert_impl.training import config as config_lib
from keras_bert_impl.training import report
from official_tasks import common
from tfrecords import documents

FLAGS = flags.FLAGS
SAMPLE_SENTENCES = 1000


@dataclasses.dataclass(frozen=True)
class VocabularyConfig:
  """What the vocabulary is learned from, and how."""

  input_file: str = dataclasses.field(
    metadata={"help": "Text: paths or glob patterns, separated by commas."}
  )
  vocab_file: str = dataclasses.field(
    metadata={"help": "The vocabulary to write."}
  )
  input_format: str = config_lib.field(
    "auto", "Form of the text; see tfrecords/documents.py.", documents.FORMATS
  )
  do_lower_case: bool = config_lib.field(
    True, "Whether to lower-case and strip accents."
  )
  compose_hangul: bool = config_lib.field(
    False,
    "Keep Hangul syllables whole under do_lower_case; right for Korean.",
  )
  vocab_size: int = config_lib.field(
    30522, "Number of tokens, special ones included."
  )
  min_frequency: int = config_lib.field(
    2, "How often a token must occur in the text to be learned."
  )
  character_coverage: float = config_lib.field(
    1.0,
    "Share of the characters of the text that get into the alphabet, the"
    " frequent ones first; 0.9995 is usual for Chinese and Japanese.",
  )


common.define_flags(VocabularyConfig)


def main():
  """Learns, writes and reports."""
  config = common.from_flags(VocabularyConfig)
  options = vocabulary.TokenizerOptions(
    config.do_lower_case, config.compose_hangul
  )
  source = _Source(config)
  counts = wordpiece_learner.count_words(source.sentences(), options)
  tokens = wordpiece_learner.learn_from_counts(
    counts, config.vocab_size, config.min_frequency, config.character_coverage
  )
  learned = vocabulary.Vocabulary(tuple(tokens), config.vocab_file)
  # The vocabulary last: where it stands, its options stand too.
  vocabulary.save_options(config.vocab_file, options)
  learned.save(config.vocab_file)
  tokenizer = wordpiece.WordPieceTokenizer(
    config.vocab_file, options.do_lower_case, options.compose_hangul
  )
  warning = agreement.disagreement(tokenizer, source.sample)
  if warning:
    logging.warning("%s", warning)
  results = {
    "data": {
      "num_documents": source.num_documents,
      "num_sentences": source.num_sentences,
      "num_words": counts.total(),
      "num_unique_words": len(counts),
    },
    "vocabulary": {
      "size": learned.size,
      "fingerprint": learned.fingerprint,
      "unknown_share": agreement.unknown_share(tokenizer, source.sample),
    },
    # Of the whole process, its start included.
    "train": {"cpu_seconds": time.process_time()},
    "config": dataclasses.asdict(config),
    "versions": report.versions(),
    "artifacts": {"vocab_file": config.vocab_file},
  }
  report.write_json(f"{config.vocab_file}.results.json", results)
  _print_summary(config, results)


class _Source:
  """The sentences of the input, counted while they pass.

  Attributes:
    sample: list of str, the first sentences.
    num_documents: int, so far.
    num_sentences: int, so far.
  """

  def __init__(self, config):
    self._documents = documents.iter_documents(
      common.split_names(config.input_file), config.input_format
    )
    self.sample = []
    self.num_documents = 0
    self.num_sentences = 0

  def sentences(self):
    """Yields every sentence once."""
    for sentences in self._documents:
      self.num_documents += 1
      self.num_sentences += len(sentences)
      missing = SAMPLE_SENTENCES - len(self.sample)
      self.sample += itertools.islice(sentences, missing)
      yield from sentences


def _print_summary(config, results):
  data, learned = results["data"], results["vocabulary"]
  rows = [
    ("Documents", f"{data['num_documents']:,}"),
    ("Sentences", f"{data['num_sentences']:,}"),
    ("Words", f"{data['num_words']:,}"),
    ("Different words", f"{data['num_unique_words']:,}"),
    ("Tokens asked for", f"{config.vocab_size:,}"),
    ("Tokens learned", f"{learned['size']:,}"),
    ("[UNK] in a sample", f"{learned['unknown_share']:.2%}"),
    ("CPU time", f"{results['train']['cpu_seconds']:.1f} s"),
  ]
  print(report.table(rows))
  print(f"Vocabulary: {config.vocab_file}")


if __name__ == "__main__":
  common.run(main)
