"""Checks of what a table reads, before its first command takes a while."""

from keras_bert_impl import options
from keras_bert_impl.checkpoints import reading
from keras_bert_impl.command_line import program
from keras_bert_impl.tokenizers.formats import vocabularies, vocabulary_files
from tfrecords.text import sources


def check(config, num_restarts):
  """Checks the files and the seeds of a table.

  Args:
    config: `run_ablation.AblationConfig`.
    num_restarts: int, runs of each fine-tuning.

  Raises:
    FileNotFoundError: a file is missing.
    ValueError: a file cannot be used, or there are not so many seeds.
  """
  for text in (config.corpus, config.held_out_corpus):
    sources.check(program.split_names(text or ""))
  if config.vocab_file:
    path = vocabulary_files.find_file(config.vocab_file)
    vocabularies.Vocabulary.load(path)
  if config.init_checkpoint:
    reading.open_checkpoint(config.init_checkpoint)
  last = config.random_seed + num_restarts - 1
  options.check_numbers(options.SEEDS, **{"random_seed of a restart": last})
