"""One pre-training in its output directory, from its records to its report."""

import math
import os

import tensorflow as tf
from absl import logging

from keras_bert_impl import tokenizers
from keras_bert_impl.checkpoints import description
from keras_bert_impl.tasks import pretraining
from keras_bert_impl.tokenizers import vocabulary as vocabulary_lib
from keras_bert_impl.tokenizers import vocabulary_files
from keras_bert_impl.training import experiment as experiment_lib
from keras_bert_impl.training import report, run_log
from official_tasks.model_folders import run_folder
from official_tasks.pretraining import task as pretraining_task
from tfrecords import manifest, masking_config
from tfrecords.reading import reader


class PretrainingRun:
  """One pre-training in its output directory.

  Args:
    data: `run_pretraining.DataConfig`.
    masking: `MaskingConfig`, the flags.
    training: `TrainingConfig`.
  """

  def __init__(self, data, masking, training):
    self.data = data
    self.training = training
    self.encoder_config = description.read_bert_config(data.bert_config_file)
    self.vocabulary = self._load_vocabulary()
    self._check_sizes()
    train_files = reader.list_files(data.input_file)
    eval_files = reader.list_files(data.eval_input_file or data.input_file)
    self._manifests = {
      file: manifest.read(file) for file in (*train_files, *eval_files)
    }
    origins = {
      file: content["origin"] if content else {}
      for file, content in self._manifests.items()
    }
    self._check_vocabulary(origins)
    self.masking = masking_config.agreed(masking, data.objective, origins)
    self.train_records = self._open(train_files)
    self.eval_records = (
      self._open(eval_files) if data.eval_input_file else self.train_records
    )
    task = pretraining_task.make(
      data,
      self.masking,
      self.encoder_config,
      self.vocabulary,
      self.train_records,
      self.eval_records,
      origins,
    )
    self.experiment = experiment_lib.Experiment(task, training, self._fixed())
    self.folder = run_folder.RunFolder(
      training.output_dir, self.experiment.is_chief
    )
    self.folder.keep_model_files(self.encoder_config, self.vocabulary)

  @property
  def results(self):
    """dict, what results.json is to hold."""
    return self.folder.results

  def train(self):
    """Trains to the end."""
    if self.experiment.is_complete:
      print(
        f"{self.training.output_dir} already holds all"
        f" {self.training.num_train_steps} steps: nothing left to train. Raise"
        " --num_train_steps to go on, or choose another --output_dir."
      )
      return
    with reader.errors_explained(self.train_records):
      summary = self.experiment.train(self._train_batches)
    self.results["train"] = {
      "steps": summary.steps,
      "examples_per_second": summary.examples_per_second,
      "tokens_per_second": summary.tokens_per_second,
    }
    self._save_results()

  def evaluate(self):
    """Evaluates on the held-out records."""
    batches = self._eval_batches()
    with reader.errors_explained(self.eval_records):
      metrics = self.experiment.evaluate(batches)
      commonest = pretraining.commonest_label_share(batches)
    metrics.pop("padding_share")
    tokens = self.experiment.task.token_loss
    perplexity = math.exp(min(metrics[f"{tokens}_loss"], 700.0))
    self.results["eval"] = {
      "step": self.experiment.loop.step,
      **metrics,
      f"{tokens}_perplexity": perplexity,
      f"{tokens}_baseline_accuracy": commonest,
    }
    self._save_results()

  def export(self):
    """Writes SavedModels of the encoder and its heads, once for each step.

    Fill-mask needs a masked language model on the encoder itself: ELECTRA's
    stands on the generator, which is left behind; its discriminator is written.
    """
    step = self.experiment.loop.step
    if self.results.get("exported_step") == step or self.vocabulary is None:
      return
    # Late: training must not need tensorflow-text, which comes with these.
    try:
      from keras_bert_impl.serving import (
        encoder,
        export,
        fill_mask,
        replaced_tokens,
      )

      tokenizer = tokenizers.load(
        self.vocabulary.origin, self.encoder_config.model_type
      )
    except ImportError as error:
      logging.warning(
        "No SavedModels are written (%s): install tensorflow-text and run the"
        " same command again.",
        error,
      )
      return
    model = self.experiment.model
    length = self.data.max_seq_length
    logging.info("Writing SavedModels.")
    verbosity = logging.get_verbosity()
    logging.set_verbosity(logging.WARNING)  # Saving logs each renamed input.
    servables = {"encoder": encoder.EncoderServable}
    if self.data.objective == "electra":
      servables["replaced_tokens"] = replaced_tokens.ReplacedTokensServable
    elif self.data.objective != "left_to_right":
      servables["fill_mask"] = fill_mask.FillMaskServable
    artifacts = {
      f"{name}_saved_model": export.export(
        make(model, tokenizer, length), self.folder.join("saved_model", name)
      )
      for name, make in servables.items()
    }
    logging.set_verbosity(verbosity)
    self.folder.artifacts.update(artifacts)
    self.results["exported_step"] = step
    self._save_results()

  def report(self):
    """Prints and writes what came out: table, fillings, picture, paths."""
    results, folder = self.results, self.folder
    results["data"] = self._data_summary()
    folder.artifacts.update(
      records=self.train_records.files,
      vocabulary=self.vocabulary and folder.vocabulary_path(self.vocabulary),
      checkpoint=self.experiment.saver.latest(),
      tensorboard=folder.join("tensorboard"),
      log=folder.join(run_log.LOG_NAME),
      results=folder.join(report.RESULTS_NAME),
    )
    folder.plot_curves(results.get("eval"))
    self._save_results()
    lines = [_summary(results), ""]
    for text, fillings in self._fill_masks(self.data.example_text):
      lines += [text, f"    {fillings}"]
    folder.print_report("\n".join(lines).rstrip(), records=self.data.input_file)

  def _load_vocabulary(self):
    """Returns the `Vocabulary`, or None if there is none to be found."""
    path = self.data.vocab_file
    if not path:
      folder = os.path.dirname(self.data.bert_config_file) or "."
      try:
        path = vocabulary_files.find_file(folder)
      except FileNotFoundError:
        return None
    options = vocabulary_lib.resolve_options(
      path, self.encoder_config.model_type
    )
    return vocabulary_lib.Vocabulary.load(path, family=options.family)

  def _data_summary(self):
    """Sums the manifests of the training records; None where one is absent."""
    manifests = [self._manifests[file] for file in self.train_records.files]
    counts = {
      "num_documents": "num_documents",
      "num_instances": "num_records",
      "num_tokens": "num_tokens",
    }
    return {
      name: sum(m[key] for m in manifests) if all(manifests) else None
      for name, key in counts.items()
    } | {
      "num_records": self.train_records.num_records,
      "num_eval_records": self.eval_records.num_records,
      "num_corrupt_records": self.train_records.num_corrupt_records,
    }

  def _open(self, files):
    return reader.open_records(
      files,
      self.data.max_seq_length,
      self.masking["max_predictions_per_seq"],
      self.encoder_config.vocab_size,
      skip_corrupt_records=self.data.skip_corrupt_records,
    )

  def _train_batches(self, start_step):
    def part_of(part, num_parts):
      return reader.make_dataset(
        self.train_records,
        self.experiment.task.prepare,
        self.training.train_batch_size,
        self.training.random_seed,
        start_batch=start_step,
        part=part,
        num_parts=num_parts,
      )

    return part_of

  def _eval_batches(self):
    return reader.make_dataset(
      self.eval_records,
      self.experiment.task.prepare,
      self.training.eval_batch_size,
      self.training.random_seed,
      shuffle=False,
      num_epochs=1,
      drop_remainder=False,
    ).take(self.training.max_eval_steps)

  def _check_sizes(self):
    """Raises ValueError where model, vocabulary and lengths disagree."""
    config, origin = self.encoder_config, self.data.bert_config_file
    length = self.data.max_seq_length
    if length > config.max_sequence_length:
      raise ValueError(
        f"max_seq_length ({length}) is above the {config.max_sequence_length}"
        f" that max_position_embeddings ({config.max_position_embeddings}) of"
        f" {origin} allows: shorten the records or train a model with more"
        " positions."
      )
    if self.vocabulary:
      description.check_vocab_size(
        config, self.vocabulary.size, self.vocabulary.origin, origin
      )

  def _check_vocabulary(self, origins):
    """Raises ValueError if records hold the ids of another vocabulary."""
    if not self.vocabulary:
      return
    for file, origin in origins.items():
      theirs = origin.get("vocab_file_hash")
      if theirs not in (None, self.vocabulary.fingerprint):
        raise ValueError(
          f"{file} was written with another vocabulary than"
          f" {self.vocabulary.origin}: give the one it was written with."
        )

  def _fixed(self):
    """What a continued run must agree on, besides `TrainingConfig`."""
    return {
      "encoder": self.encoder_config.to_dict(),
      "vocabulary": self.vocabulary and self.vocabulary.fingerprint,
      "records": [os.path.basename(f) for f in self.train_records.files],
      "records_sha256": self._record_hashes(),
      "num_records": self.train_records.num_records,
      **self.masking,
      **{
        name: getattr(self.data, name)
        for name in (
          "objective",
          "max_seq_length",
          "generator_size",
          "detection_weight",
        )
      },
    }

  def _record_hashes(self):
    """Returns {name: the digits its hash begins with} of files, by manifest."""
    return {
      os.path.basename(file): self._manifests[file]["sha256"][:16]
      for file in self.train_records.files
      if self._manifests[file]
    }

  def _fill_masks(self, texts):
    """Yields (text, its fillings) from the exported model."""
    saved_model = self.folder.artifacts.get("fill_mask_saved_model")
    if not texts or not saved_model:
      return
    # Late, as in `export`, and again: another process may have exported.
    try:
      import tensorflow_text  # noqa: F401  Registers the ops of the tokenizer.
    except ImportError as error:
      logging.warning(
        "No fillings are shown (%s): install tensorflow-text.", error
      )
      return
    fill_mask = tf.saved_model.load(saved_model).signatures["serving_default"]
    answer = fill_mask(text=tf.constant(texts))
    for text, tokens, scores in zip(
      texts, answer["tokens"].numpy(), answer["scores"].numpy(), strict=True
    ):
      for of_mask, scores_of_mask in zip(tokens, scores, strict=True):
        yield (
          text,
          "  ".join(
            f"{token.decode()} {score:.3f}"
            for token, score in zip(of_mask, scores_of_mask, strict=True)
            if token
          ),
        )

  def _save_results(self):
    self.folder.save_results(
      {**vars(self.data), **self.masking, **vars(self.training)}
    )


def _summary(results):
  """Returns the table of what came out, beside what guessing would give."""
  rows = []
  evaluation = results.get("eval")
  if evaluation:
    is_held_out = results["configuration"]["eval_input_file"]
    data = "held-out" if is_held_out else "training-data"
    rows = [
      (f"{data} {name}", value, comparison)
      for name, value, comparison in _evaluation_rows(evaluation)
    ]
  if "train" in results:
    train = results["train"]
    rows += [
      ("steps", str(train["steps"]), ""),
      ("examples/s", f"{train['examples_per_second']:.1f}", ""),
      ("tokens/s (no padding)", f"{train['tokens_per_second']:.0f}", ""),
    ]
  return report.table(rows, ("", "this run", "for comparison"))


def _evaluation_rows(evaluation):
  """Yields (name, value, what guessing would give) of what was measured."""
  for name, short in report.SHORT_NAMES.items():
    accuracy = evaluation.get(f"{name}_accuracy")
    if accuracy is not None:
      yield f"{short} accuracy", f"{accuracy:.1%}", _guess(name, evaluation)
    if f"{name}_recall" in evaluation:
      precision, recall = (
        evaluation[f"{name}_{kind}"] for kind in ("precision", "recall")
      )
      yield f"{short} precision, recall", f"{precision:.1%}, {recall:.1%}", ""
    if f"{name}_perplexity" in evaluation:
      yield f"{short} perplexity", f"{evaluation[f'{name}_perplexity']:.1f}", ""


def _guess(name, evaluation):
  """Returns what one would get right without looking at the input."""
  if f"{name}_baseline_accuracy" in evaluation:
    return f"{evaluation[f'{name}_baseline_accuracy']:.1%} (commonest token)"
  if f"{name}_share" in evaluation:
    return f"{1 - evaluation[f'{name}_share']:.1%} (never replaced)"
  if name == "span_boundary":
    return _guess("masked_lm", evaluation)
  return "50 % (chance)"
