"""The default data and model of run_pretraining.py without --input_file.

Makes the vocabulary, TFRecords and configuration of an objective, which trains
in minutes on two CPU cores. The text is the documentation inside the installed
Python packages, which any machine that runs this project has. Existing results
are kept.
"""

import itertools
import math
import os

from absl import logging

from keras_bert_impl import choices, files, heads
from keras_bert_impl.checkpoints import reading
from keras_bert_impl.checkpoints.descriptions import google_config
from keras_bert_impl.runs.pretraining import (
  default_models,
  pretraining_config,
  pretraining_run,
)
from keras_bert_impl.runs.vocabulary_learning import methods
from keras_bert_impl.tasks.basics import pretraining
from keras_bert_impl.tokenizers.formats import (
  tokenizer_options,
  vocabularies,
  vocabulary_files,
)
from keras_bert_impl.training import (
  experiment,
  run_configuration,
  run_results,
)
from tfrecords import manifest
from tfrecords.reading import scan
from tfrecords.text import python_documentation, sources

OUTPUT_DIR = "pretraining_output"
VOCAB_SIZE = 8000
NUM_SHARDS = 4
HELD_OUT_SHARE = 0.05

# Long enough to show learning, short enough to wait for: see docs/results.md.
# Learning rate and bias correction suit 2,000 steps; the paper's values suit a
# run of 1,000,000.
FLAG_VALUES = {
  "do_train": True,
  "do_eval": True,
  "max_seq_length": 64,
  "train_batch_size": 32,
  "eval_batch_size": 32,
  "learning_rate": 2e-3,
  "use_bias_correction": True,
  "num_train_steps": 2000,
  "num_warmup_steps": 200,
  "save_checkpoints_steps": 500,
}
ADVICE = (
  "What learns most: --recipe=fast predicted 41 % of the standard tokens after"
  " 3,000 steps, where the default predicted 27 % (docs/recipes.md)."
)
EXAMPLE_TEXT = (
  "Returns the [MASK] of the array.",
  "If the file does not exist, an error is [MASK].",
  "Computes the gradient of the [MASK] with respect to the input.",
  "The default [MASK] is None.",
)
EXAMPLE_SENTENCES = (
  "If the file does not exist, an error is raised.",
  "Returns the sum of the array.",
)


def take_recipe(flag_values):
  """Sets the flags of --recipe that the user has not set, and prints all.

  Args:
    flag_values: absl `FlagValues` of run_pretraining.py.
  """
  recipe = flag_values.recipe
  model, own = default_models.of_data(flag_values), _own_flags(flag_values)
  _set(flag_values, own)
  if flag_values.input_file:  # Else `prepare` sets these, and the steps first.
    of_size = _predictions()
    if _state_predictions(flag_values.input_file):
      of_size = {}  # The records' own number counts, like without a recipe.
    of_size["num_warmup_steps"] = flag_values.num_train_steps // 10
    _set(flag_values, of_size)
    own |= of_size
  values = [f"--{name}={flag_values[name].value}" for name in own]
  given = flag_values.bert_config_file or f"{model.preset} in small"
  print(f"--recipe={recipe}: {' '.join(values)}; the model: {given}.")


def prepare(flag_values):
  """Writes the data and sets the flags that the user has not set.

  Nothing is written if the flags contradict each other or the folder.

  Args:
    flag_values: absl `FlagValues` of run_pretraining.py.

  Raises:
    ValueError: flags, model and folder do not fit together.
  """
  own = FLAG_VALUES | _own_flags(flag_values)
  _set(flag_values, own | {"output_dir": OUTPUT_DIR})
  # A shorter --num_train_steps needs a shorter warm-up.
  steps = min(flag_values.num_warmup_steps, flag_values.num_train_steps // 10)
  _set(flag_values, {"num_warmup_steps": steps})
  _set(flag_values, _predictions())
  config = pretraining_config.from_flags()
  _check_files(config)
  experiment.check_start(config.training)
  run_configuration.claim(
    config.training.output_dir,
    objective=config.data.objective,
    max_seq_length=config.data.max_seq_length,
  )
  _set(flag_values, write(config))


def write(config):
  """Writes the text, vocabulary, records and configuration of a run.

  Args:
    config: `pretraining_config.PretrainingConfig`; a vocabulary and a
      configuration that it names are used.

  Returns:
    {flag of run_pretraining.py: value}, the files.
  """
  data, output_dir = config.data, config.training.output_dir
  train_text, held_out_text = corpus(os.path.join(output_dir, "corpus"))
  vocabulary = _vocabulary(train_text, data, output_dir)
  records = os.path.join(output_dir, "tfrecords")
  train, held_out = (
    os.path.join(records, name) for name in ("train", "held_out")
  )
  os.makedirs(records, exist_ok=True)
  _records(train_text, vocabulary, data, train, NUM_SHARDS)
  _records(held_out_text, vocabulary, data, held_out, 1)
  config_file = os.path.join(output_dir, google_config.FILE_NAME)
  if not data.bert_config_file and not os.path.exists(config_file):
    default_models.encoder_of(data, vocabulary.size).to_json_file(config_file)
  return {
    "input_file": f"{train}-*",
    "eval_input_file": held_out,
    "eval_text_file": ",".join(held_out_text),
    "bert_config_file": config_file,
    "vocab_file": vocabulary.origin,
    "example_text": _examples(config.objective, vocabulary),
  }


def corpus(folder):
  """Returns (training files, held-out files); writes them if necessary."""
  marker = os.path.join(folder, "files.json")
  found = run_results.read_json(marker, list)
  if found is None:
    logging.info("Gathering the documentation of the installed packages.")
    parts = python_documentation.write_corpus(folder, HELD_OUT_SHARE)
    # Names without the folder, so that the folder can be renamed or moved.
    found = [[os.path.basename(file) for file in part] for part in parts]
    files.write_json(marker, found)
  return [[os.path.join(folder, name) for name in part] for part in found]


def _own_flags(flag_values):
  """Returns the flags of the `DefaultModel`, {name: value}."""
  own = dict(default_models.of_data(flag_values).flags)
  if flag_values.init_checkpoint:
    own.pop("word_vectors", None)  # Its embeddings have started already.
  if flag_values.input_file:
    own.pop("num_train_steps", None)  # That of the default text.
  return own


def _predictions():
  """Returns how many tokens the flags mask in a row, {flag: number}."""
  config = pretraining_config.from_flags()
  share = config.masking.completed(config.data.objective)["masked_lm_prob"]
  most = math.ceil(share * config.data.max_seq_length)
  return {"max_predictions_per_seq": most}


def _state_predictions(input_file):
  """Returns whether records say how many of their tokens are masked."""
  manifests = map(manifest.read, scan.list_files(input_file))
  return any(
    "max_predictions_per_seq" in content["origin"]
    for content in manifests
    if content
  )


def _set(flag_values, values):
  """Sets the flags {name: value} that the user has not set."""
  for name, value in values.items():
    if not flag_values[name].present:
      flag_values[name].value = value


def _check_files(config):
  """Raises ValueError if the files that are given do not fit the flags."""
  data, vocabulary = config.data, None
  if data.eval_text_file:
    sources.check(data.eval_text_file.split(","))
  if config.training.init_checkpoint:
    reading.open_checkpoint(config.training.init_checkpoint)
  if data.vocab_file:
    vocabulary = vocabularies.Vocabulary.load(data.vocab_file)
  model = default_models.encoder_of(
    data, vocabulary.size if vocabulary else VOCAB_SIZE
  )
  pretraining_run.check_sizes(data, model, vocabulary)
  of_length = pretraining.PretrainingData(data.max_seq_length)
  config.objective.task(model, of_length, config.options)


def _vocabulary(text, data, output_dir):
  """Returns the `Vocabulary` in the folder; puts or learns it there first.

  Args:
    text: list of str, files to learn from.
    data: `pretraining_config.DataConfig`.
    output_dir: str.
  """
  try:
    return vocabularies.Vocabulary.load(output_dir)
  except FileNotFoundError:
    pass
  model, others = default_models.encoder_of(data, VOCAB_SIZE), {}
  if data.vocab_file:
    vocabulary, options = vocabularies.find(data.vocab_file, model.model_type)
  else:
    default = default_models.of_data(data)
    size = min(VOCAB_SIZE, model.vocab_size) - default.num_sentinels
    logging.info("Learning a vocabulary of %d tokens.", size)
    method = methods.METHODS[default.tokenizer]
    options = default_models.tokenizer_options(method, model.model_type)
    vocabulary = method.learner.learn(
      itertools.chain.from_iterable(sources.iter_documents(text)),
      size,
      options,
      **method.settings,
    )
    if default.num_sentinels:
      others = {vocabulary_files.NUM_SENTINELS: default.num_sentinels}
  path = os.path.join(output_dir, vocabularies.file_name(vocabulary))
  # The vocabulary last: if it exists, its options exist too.
  tokenizer_options.save(path, options, others)
  vocabulary.save(path)
  return vocabularies.Vocabulary.load(path)


def _examples(objective, vocabulary):
  """Returns texts to fill or to go on with, list of str; [] for neither."""
  servables = objective.servables
  if heads.FILL_MASK in servables or objective.masking_policy in choices.NOISES:
    mask = vocabulary_files.SENTINEL + "0>"
    if mask not in vocabulary.ids:
      mask = vocabulary.mask_token
    return [text.replace("[MASK]", mask) for text in EXAMPLE_TEXT]
  if heads.GENERATION not in servables:
    return []
  if objective.packing == choices.FOLLOWING_SENTENCES:
    return [*EXAMPLE_SENTENCES]
  return [text.partition(" [MASK]")[0] for text in EXAMPLE_TEXT]


def _records(text, vocabulary, data, output_file, num_shards):
  """Writes records without masks; finished shards are kept.

  Args:
    text: list of str, files.
    vocabulary: `Vocabulary`.
    data: `pretraining_config.DataConfig`.
    output_file: str.
    num_shards: int.
  """
  from tfrecords.writing import writer, writing_config

  paths = writer.shard_paths(output_file, num_shards)
  if not all(map(manifest.is_finished, paths)):
    logging.info("Writing TFRecords to %s.", output_file)
  config = writing_config.PretrainingDataConfig(
    vocab_file=vocabulary.origin,
    objective=data.objective,
    max_seq_length=data.max_seq_length,
    dupe_factor=1,
  )
  # One worker: for so few records, a second costs more than it saves.
  writer.write_shards(config, text, paths)
