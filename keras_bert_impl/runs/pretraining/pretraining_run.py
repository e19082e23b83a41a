"""One pre-training run in its output directory, from records to report."""

import math
import os

from absl import logging

from keras_bert_impl import heads
from keras_bert_impl.checkpoints import reading
from keras_bert_impl.checkpoints.descriptions import (
  generation_config,
  vocab_size,
)
from keras_bert_impl.model_folders import run_folder
from keras_bert_impl.reports import report_page
from keras_bert_impl.runs.pretraining import (
  default_models,
  pretraining_config,
  pretraining_records,
  pretraining_report,
  standard,
)
from keras_bert_impl.tasks.basics import pretraining
from keras_bert_impl.tokenizers.formats import (
  vocabularies,
  vocabulary_files,
)
from keras_bert_impl.training import experiment as experiment_lib
from keras_bert_impl.training import (
  run_log,
  word_vectors,
)
from keras_bert_impl.training import (
  run_results as report,
)
from tfrecords.reading import scan

# More would tell little more about the words that are common enough to count.
_NUM_COUNTED_TOKENS = 2**22
# Heads whose predictions for examples are shown.
_SHOWN = (heads.FILL_MASK, heads.GENERATION)


class PretrainingRun:
  """A pre-training run in its output directory.

  Args:
    config: `pretraining_config.PretrainingConfig`.
  """

  def __init__(self, config):
    self.config = config
    self.encoder_config = _encoder_config(config.data)
    self.vocabulary = _find_vocabulary(
      config.data, self.encoder_config.model_type
    )
    check_sizes(config.data, self.encoder_config, self.vocabulary)
    _check_teacher(self._options().get("teacher_checkpoint"), self.vocabulary)
    self.records = pretraining_records.PretrainingRecords(
      config, self.encoder_config, self.vocabulary
    )
    self.task = config.objective.task(
      self.encoder_config, self.records.for_task(), config.options
    )
    self.experiment = experiment_lib.Experiment(
      self.task, config.training, self._identity()
    ).start()
    self._take_word_vectors()
    self._standard_rows = None
    if config.data.do_eval:
      self._standard_rows = standard.open_rows(
        config.data, self.vocabulary, self.encoder_config.model_type
      )
    self.folder = run_folder.RunFolder(
      config.training.output_dir, self.experiment.is_chief
    )
    self.folder.keep_model_files(self.encoder_config, self.vocabulary)
    if heads.GENERATION in config.objective.servables and self.vocabulary:
      self.folder.write_json(generation_config.FILE_NAME, self._generation())

  @property
  def results(self):
    """The content of results.json, dict."""
    return self.folder.results

  def train(self):
    """Trains to the last step."""
    training = self.config.training
    if self.experiment.is_complete:
      print(
        f"{training.output_dir} already has all {training.num_train_steps}"
        " steps: nothing left to train. Raise --num_train_steps to continue, or"
        " choose another --output_dir."
      )
      return
    records = self.records.train
    with scan.errors_explained(records):
      summary = self.experiment.train(
        lambda step: self.records.train_batches(self.task.prepare, step),
        before_save=records.watch.check,
      )
    self.results["train"] = {
      "steps": summary.steps,
      "examples_per_second": summary.examples_per_second,
      "tokens_per_second": summary.tokens_per_second,
    }
    self._save_results()

  def evaluate(self):
    """Evaluates on the held-out records."""
    batches = self.records.eval_batches(self.task.prepare)
    with scan.errors_explained(self.records.eval):
      metrics = self.experiment.evaluate(batches)
      of_tokens = self._scores_of_tokens(metrics, batches)
    self.records.eval.watch.check()
    metrics.pop("padding_share")
    self.results["eval"] = {
      "step": self.experiment.loop.step,
      "eval_input_file": self.config.data.eval_input_file,
      **metrics,
      **of_tokens,
      **self._standard(),
    }
    self._save_results()

  def _scores_of_tokens(self, metrics, batches):
    """Returns other scores of predicted tokens, {} where there are none."""
    tokens = self.task.token_loss
    if tokens is None:
      return {}
    commonest, number = pretraining.commonest_label_share(batches)
    return {
      f"{tokens}_perplexity": math.exp(min(metrics[f"{tokens}_loss"], 700.0)),
      f"{tokens}_baseline_accuracy": commonest,
      f"{tokens}_number": number,
    }

  def _standard(self):
    """Returns {"standard": scores}, or {} without text to score."""
    rows, config = self._standard_rows, self.config
    scores = rows and standard.evaluate(
      self.experiment, rows, config.training.eval_batch_size
    )
    return {"standard": scores} if scores else {}

  def export(self, servables):
    """Exports the objective's heads as SavedModels, once per step.

    Args:
      servables: function that returns {head: class of its `Servable`}.
    """
    step = self.experiment.loop.step
    if self.results.get("exported_step") == step or self.vocabulary is None:
      return
    exports = _import_exports("No SavedModels are written")
    if exports is None:
      return
    paths = exports.export_heads(
      servables,
      self.config.objective.servables,
      self.experiment.model,
      self.vocabulary,
      self.config.data.max_seq_length,
      self.folder.path,
      lambda head: self.folder.join("saved_model", head),
    )
    self.folder.artifacts.update(paths)
    self.results["exported_step"] = step
    self._save_results()

  def report(self):
    """Prints and writes the results: table, predictions, curves, paths."""
    results, folder = self.results, self.folder
    results["data"] = self.records.counts()
    folder.artifacts.update(
      records=self.records.train.files,
      vocabulary=self.vocabulary and folder.vocabulary_path(self.vocabulary),
      checkpoint=self.experiment.saver.latest(),
      tensorboard=folder.join("tensorboard"),
      log=folder.join(run_log.LOG_NAME),
      results=folder.join(report.RESULTS_NAME),
      report=folder.join(report_page.NAME),
    )
    folder.plot_curves(results.get("eval"), self.task.short_names)
    self._save_results()
    filled = [*self._predict_examples()]
    pretraining_report.write(
      folder, self.task, self.config, self.records.sample_lengths, filled
    )
    scores = [*pretraining_report.scores(results, self.task)]
    lines = [pretraining_report.table(results, scores), ""]
    for text, fillings in filled:
      lines += [text, f"    {fillings}"]
    folder.print_report(
      "\n".join(lines).rstrip(), records=self.config.data.input_file
    )

  def _identity(self):
    """Returns {name: JSON value} that a resumed run must keep."""
    return {
      "encoder": self.encoder_config.to_dict(),
      "vocabulary": self.vocabulary and self.vocabulary.fingerprint,
      "objective": self.config.data.objective,
      "max_seq_length": self.config.data.max_seq_length,
      **self.records.identity(),
      **self._options(),
    }

  def _take_word_vectors(self):
    """Assigns the vectors of --word_vectors to a model that begins."""
    path, experiment = self.config.data.word_vectors, self.experiment
    if not path or experiment.saver.latest():
      return
    weights = experiment.model.weights
    deviation = self.encoder_config.initializer_range
    if path == pretraining_config.RECORDS:
      with scan.errors_explained(self.records.train):
        rows = self.records.sample_ids(_NUM_COUNTED_TOKENS)
      word_vectors.assign_counted(rows, weights, deviation)
    elif self.vocabulary is None:
      raise ValueError(
        f"word_vectors ({path}) need a vocabulary: give --vocab_file."
      )
    else:
      word_vectors.assign(path, self.vocabulary, weights, deviation)

  def _options(self):
    """Returns {name: value} of the objective's own options."""
    return vars(self.config.options) if self.config.options else {}

  def _generation(self):
    """Returns what generation_config.json says of the vocabulary, dict."""
    ids = self.vocabulary.role_ids
    start = ids.get(self.encoder_config.family.start_role)
    has_decoder = self.encoder_config.num_decoder_layers
    found = {
      "decoder_start_token_id" if has_decoder else "bos_token_id": start,
      "eos_token_id": ids.get("sep"),
      "pad_token_id": ids.get("pad"),
    }
    return {name: x for name, x in found.items() if x is not None}

  def _predict_examples(self):
    """Yields (text, what the exported model fills in or writes of it)."""
    texts, artifacts = self.config.data.example_text, self.folder.artifacts
    shown = [h for h in _SHOWN if f"{h}_saved_model" in artifacts]
    if not texts or not shown:
      return
    # An earlier process may have exported, so import here too.
    exports = _import_exports("No predictions for examples are shown")
    if exports:
      [head] = shown
      show = {heads.FILL_MASK: exports.fill_masks}.get(head, exports.generate)
      yield from show(artifacts[f"{head}_saved_model"], texts)

  def _save_results(self):
    self.folder.save_results(
      {
        **vars(self.config.data),
        **self._options(),
        **self.records.masking,
        **vars(self.config.training),
      }
    )


def _import_exports(consequence):
  """Returns the module `exports`, or None without tensorflow-text.

  It is imported here because training must not need tensorflow-text.

  Args:
    consequence: str, what is missing without it, for the warning.
  """
  try:
    from keras_bert_impl.runs.pretraining import exports
  except ImportError as error:
    logging.warning(
      "%s (%s): install tensorflow-text and run the same command again.",
      consequence,
      error,
    )
    return None
  return exports


def _encoder_config(data):
  """Returns the `EncoderConfig` that is given, or a recipe's."""
  # A recipe makes its model for a vocabulary, which has to be given then.
  size = (
    None
    if data.bert_config_file
    else vocabularies.Vocabulary.load(data.vocab_file).size
  )
  return default_models.encoder_of(data, size)


def _find_vocabulary(data, model_type):
  """Returns the `Vocabulary` of the records, or None if there is no file."""
  if data.vocab_file:
    file = vocabulary_files.find(data.vocab_file)
  else:
    folder = os.path.dirname(data.bert_config_file) or "."
    try:
      file = vocabulary_files.find(folder)
    except FileNotFoundError:
      return None
  return vocabularies.find(file, model_type)[0]


def _check_teacher(path, vocabulary):
  """Raises ValueError if a teacher, if there is one, has other tokens."""
  if not path or not vocabulary:
    return
  folder = reading.open_checkpoint(path).folder
  theirs = experiment_lib.vocabulary_fingerprint(folder)
  if theirs not in (None, vocabulary.fingerprint):
    raise ValueError(
      f"teacher_checkpoint ({path}) has another vocabulary than"
      f" {vocabulary.origin}: give records and a student in the teacher's."
    )


def check_sizes(data, config, vocabulary):
  """Raises ValueError if model, vocabulary and lengths do not fit together.

  Args:
    data: `pretraining_config.DataConfig`.
    config: `EncoderConfig`.
    vocabulary: `Vocabulary`, or None.
  """
  length, origin = data.max_seq_length, data.bert_config_file
  if length > config.max_sequence_length:
    raise ValueError(
      f"max_seq_length ({length}) must be at most {config.max_sequence_length},"
      f" which max_position_embeddings ({config.max_position_embeddings}) of"
      f" {origin} allows: shorten the records or train a model with more"
      " positions."
    )
  if vocabulary:
    vocab_size.check(config, vocabulary.size, vocabulary.origin, origin)
