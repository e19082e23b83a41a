r"""Learns a vocabulary of WordPiece, byte-level BPE or SentencePiece from text.

    python official_tasks/train_vocabulary.py \
      --input_file='books/*.txt' --vocab_file=model/vocab.txt --vocab_size=16000

    ... --tokenizer=byte_bpe --vocab_file=model/vocab.json
    ... --tokenizer=sentencepiece_unigram --vocab_file=model/spiece.model

Writes the vocabulary (for byte-level BPE merges.txt too); beside it
tokenizer_config.json, from which the other scripts read how text is normalised
(that of another vocabulary in the folder is put aside for it), and
<vocab_file>.results.json. --runner counts the words on Apache Beam, see
docs/beam.md.
"""

import dataclasses
import os
import time

from etils import epy

from keras_bert_impl import files, options
from keras_bert_impl.command_line import program
from keras_bert_impl.runs.vocabulary_learning import methods
from keras_bert_impl.tokenizers.formats import (
  tokenizer_options,
  vocabulary_files,
)
from tfrecords.text import documents
from tfrecords.writing import writing_config

with epy.lazy_imports():
  from keras_bert_impl import tokenizers
  from keras_bert_impl.checkpoints import reading
  from keras_bert_impl.runs.vocabulary_learning import text_sources
  from keras_bert_impl.tokenizers import agreement
  from keras_bert_impl.training import run_results

# Flags that not every tokenizer has.
_OPTION_FLAGS = (
  "do_lower_case",
  "compose_hangul",
  "keep_accents",
  "add_prefix_space",
)
_ARGUMENT_FLAGS = ("min_frequency", "character_coverage")


@dataclasses.dataclass(frozen=True)
class VocabularyConfig:
  """Text, kind and size of the vocabulary.

  Raises:
    ValueError: vocab_file has the name of another kind of vocabulary, or a
      flag does not apply to the tokenizer.
  """

  input_file: str = options.required(
    "Text to read: paths or glob patterns, comma-separated."
  )
  vocab_file: str = options.required(
    "Vocabulary to write: vocab.txt, vocab.json (byte_bpe) or "
    "spiece.model (sentencepiece_*)."
  )
  tokenizer: str = options.common(
    "wordpiece", "Tokenizer to learn a vocabulary for.", tuple(methods.METHODS)
  )
  input_format: str = options.field(
    "auto",
    "Format of the text; see tfrecords/text/documents.py.",
    documents.FORMATS,
  )
  do_lower_case: bool | None = options.common(
    None,
    "Whether to lower-case (and, in WordPiece, strip accents); default: true."
    " Not for byte_bpe.",
  )
  compose_hangul: bool | None = options.common(
    None,
    "Whether do_lower_case keeps Hangul syllables whole; default: where the"
    " text has some. Not for byte_bpe.",
  )
  keep_accents: bool | None = options.field(
    None, "Whether to keep accents; default: false. sentencepiece_* only."
  )
  add_prefix_space: bool | None = options.field(
    None,
    "Whether to put a space before each text, so that its first word has the"
    " same token as elsewhere; default: true. byte_bpe only.",
  )
  vocab_size: int = options.common(
    30522,
    "Number of tokens, including special tokens.",
    interval="[1, 10000000]",
  )
  min_frequency: int | None = options.field(
    None,
    "Minimum number of occurrences of a token in the text; default: 2. Not for"
    " sentencepiece_*.",
    interval="[1, 1000000000]",
  )
  character_coverage: float | None = options.field(
    None,
    "Share of the text that the alphabet, the most frequent characters, must"
    " cover; 0.9995 is usual for Chinese and Japanese. Default: 1 for"
    " wordpiece, 0.99995 for sentencepiece_*. Not for byte_bpe.",
    interval="(0, 1]",
  )

  def __post_init__(self):
    method = methods.METHODS[self.tokenizer]
    if vocabulary_files.format_of(self.vocab_file) != method.kind:
      raise ValueError(
        f"vocab_file ({self.vocab_file}) must be named like "
        f"{vocabulary_files.FILE_NAMES[method.kind]} for "
        f"--tokenizer={self.tokenizer}: its name says what it is."
      )
    for name in (*_OPTION_FLAGS, *_ARGUMENT_FLAGS):
      known = (*vars(method.options), *method.arguments)
      if getattr(self, name) is not None and name not in known:
        raise ValueError(
          f"{name} ({getattr(self, name)}) must be left out for "
          f"--tokenizer={self.tokenizer}, which does not have it."
        )

  def given(self, names):
    """Returns {name: value} of the fields `names` that are given."""
    values = {name: getattr(self, name) for name in names}
    return {name: v for name, v in values.items() if v is not None}


program.define_flags(VocabularyConfig)
program.define_flags(writing_config.BeamConfig)


def main():
  """Learns, writes and reports."""
  config = program.from_flags(VocabularyConfig)
  method = methods.METHODS[config.tokenizer]
  options = dataclasses.replace(method.options, **config.given(_OPTION_FLAGS))
  beam = program.from_flags(writing_config.BeamConfig)
  # Learning takes a while.
  files.check_writable(config.vocab_file)
  _check_folder(config.vocab_file)
  if method.kind == vocabulary_files.BYTE_BPE:
    vocabulary_files.check_merges(config.vocab_file)
  if beam.runner:
    source = text_sources.BeamSource(config, beam, method)
  else:
    source = text_sources.TextSource(config)
  if config.compose_hangul is None:
    options = methods.keep_hangul(options, source.sample)
  learned = method.learner.learn(
    source.texts(),
    config.vocab_size,
    options,
    origin=config.vocab_file,
    **method.settings,
    **config.given(_ARGUMENT_FLAGS),
    **source.arguments(),
  )
  # The vocabulary last: if it exists, its options exist too.
  tokenizer_options.save(config.vocab_file, options)
  learned.save(config.vocab_file)
  tokenizer = tokenizers.load(config.vocab_file)
  agreement.check(tokenizer, source.sample)
  results = {
    "data": {
      "num_documents": source.num_documents,
      "num_sentences": source.num_sentences,
    },
    "vocabulary": {
      "size": learned.size,
      "fingerprint": learned.fingerprint,
      "unknown_share": agreement.unknown_share(tokenizer, source.sample),
    },
    # CPU time of the whole process, its start included.
    "train": {"cpu_seconds": time.process_time()},
    "config": dataclasses.asdict(config)
    | dataclasses.asdict(beam)
    | dataclasses.asdict(options),
    "versions": run_results.versions(),
    "artifacts": {"vocab_file": config.vocab_file},
  }
  files.write_json(f"{config.vocab_file}.results.json", results)
  _print_summary(config, results)


def _check_folder(vocab_file):
  """Raises ValueError if a vocabulary would replace that of a model."""
  if files.exists(vocab_file) and reading.holds_model(
    os.path.dirname(vocab_file) or "."
  ):
    raise ValueError(
      f"vocab_file ({vocab_file}) is the vocabulary of the model beside it:"
      " choose another folder."
    )


def _print_summary(config, results):
  data, learned = results["data"], results["vocabulary"]
  rows = [
    ("Documents", f"{data['num_documents']:,}"),
    ("Sentences", f"{data['num_sentences']:,}"),
    ("Tokens asked for", f"{config.vocab_size:,}"),
    ("Tokens learned", f"{learned['size']:,}"),
    ("Unknown words in a sample", f"{learned['unknown_share']:.2%}"),
    ("CPU time", f"{results['train']['cpu_seconds']:.1f} s"),
  ]
  print(run_results.table(rows))
  print(f"Vocabulary: {config.vocab_file}")


if __name__ == "__main__":
  program.run(main)
