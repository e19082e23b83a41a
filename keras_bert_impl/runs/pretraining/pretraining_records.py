"""Finds, checks and batches the records of a pre-training run."""

import os

from keras_bert_impl import choices
from keras_bert_impl.tasks.basics import pretraining
from keras_bert_impl.tasks.masking import masking as masking_lib
from tfrecords import manifest, masking_config
from tfrecords.reading import lanes, reader, record_parsing, scan


class PretrainingRecords:
  """The records for training and evaluation.

  Args:
    config: `pretraining_config.PretrainingConfig`.
    encoder: `EncoderConfig` of the model.
    vocabulary: `Vocabulary` of the records, or None if it is unknown.

  Attributes:
    train: `scan.Records`.
    eval: `scan.Records`; the same as `train` without eval_input_file.
    masking: {name: value}, how tokens are masked, see `masking_config.agreed`.

  Raises:
    ValueError: objective, records and vocabulary do not fit together, or a
      file is damaged.
  """

  def __init__(self, config, encoder, vocabulary):
    self._config = config
    self._encoder = encoder
    self._vocabulary = vocabulary
    data = config.data
    train_files = scan.list_files(data.input_file)
    eval_files = scan.list_files(data.eval_input_file or data.input_file)
    self._manifests = {
      file: manifest.read(file) for file in (*train_files, *eval_files)
    }
    self._check_vocabulary()
    self.masking = masking_config.agreed(
      config.masking, data.objective, self._origins
    )
    self.train = self._open(train_files)
    self.eval = self._open(eval_files) if data.eval_input_file else self.train

  def for_task(self):
    """Returns the `PretrainingData` of the task.

    Raises:
      ValueError: the objective cannot learn from these records.
    """
    data, objective = self._config.data, self._config.objective
    for records in (self.train, self.eval):
      _check_texts(records, self._origins, data, objective)
    roles = self._vocabulary.role_ids if self._vocabulary else {}
    masking = None
    if objective.masking_policy is None:
      self._check_not_masked()
    elif not (self.train.form.is_masked and self.eval.form.is_masked):
      masking = self._make_masking()
    return pretraining.PretrainingData(
      data.max_seq_length,
      masking,
      self._sentence_loss(),
      roles.get("pad", 0),
      self.train.form.is_packed or self.eval.form.is_packed,
      self._by_length,
      roles.get(self._encoder.family.start_role, 0),
    )

  def train_batches(self, prepare, start_step):
    """Returns the batches from `start_step` on, as `Experiment.train` needs.

    Args:
      prepare: callable, as for `reader.make_dataset`.
      start_step: int, steps already done.
    """
    training = self._config.training

    def part_of(part, num_parts):
      return reader.make_dataset(
        self.train,
        prepare,
        training.train_batch_size,
        lanes.Order(training.random_seed, by_length=self._by_length),
        start_batch=start_step,
        part=part,
        num_parts=num_parts,
      )

    return part_of

  def eval_batches(self, prepare):
    """Returns a dataset of the first `max_eval_steps` batches, in order."""
    training = self._config.training
    return reader.make_dataset(
      self.eval,
      prepare,
      training.eval_batch_size,
      lanes.Order(training.random_seed, shuffle=False, num_epochs=1),
      drop_remainder=False,
    ).take(training.max_eval_steps)

  def identity(self):
    """Returns {name: JSON value} that a resumed run must keep."""
    return {
      "records": [os.path.basename(file) for file in self.train.files],
      "records_sha256": {
        os.path.basename(file): self._manifests[file]["sha256"][:16]
        for file in self.train.files
        if self._manifests[file]
      },
      "num_records": self.train.num_records,
      "bucket_by_length": self._by_length,
      **self.masking,
    }

  def counts(self):
    """Returns {name: int}; counts of missing manifests are None."""
    manifests = [self._manifests[file] for file in self.train.files]
    names = ("num_documents", "num_instances", "num_tokens")
    return {
      name: sum(m[name] for m in manifests)
      if all(name in (m or {}) for m in manifests)
      else None
      for name in names
    } | {
      "num_records": self.train.num_records,
      "num_eval_records": self.eval.num_records,
      "num_corrupt_records": self.train.num_corrupt_records,
    }

  def sample_lengths(self, number):
    """Returns {data: tokens of up to `number` rows, int64 [N]}."""
    opened = {"training": self.train}
    if self._config.data.eval_input_file:
      opened["evaluation"] = self.eval
    return {
      name: reader.sample_ids(records, number).row_lengths().numpy()
      for name, records in opened.items()
    }

  def sample_ids(self, num_tokens):
    """Returns training rows of up to `num_tokens`, ragged int64 [N, (n)]."""
    length = self._config.data.max_seq_length
    return reader.sample_ids(self.train, max(1, num_tokens // length))

  @property
  def _by_length(self):
    """Whether batches hold records of about the same length."""
    is_tpu = self._config.training.strategy_name == "tpu"
    return self._config.data.bucket_by_length and not is_tpu

  @property
  def _origins(self):
    """{file: dict}, the origin in each manifest; {} without a manifest."""
    return {
      file: content["origin"] if content else {}
      for file, content in self._manifests.items()
    }

  def _open(self, files):
    data = self._config.data
    limits = record_parsing.Limits(
      data.max_seq_length,
      self.masking["max_predictions_per_seq"],
      self._encoder.vocab_size,
    )
    return scan.open_records(
      {file: self._manifests[file] for file in files},
      limits,
      data.skip_corrupt_records,
    )

  def _check_vocabulary(self):
    """Raises ValueError if records were made with another vocabulary."""
    if not self._vocabulary:
      return
    for file, origin in self._origins.items():
      theirs = origin.get("vocab_file_hash")
      if theirs not in (None, self._vocabulary.fingerprint):
        raise ValueError(
          f"{file} was written with another vocabulary than"
          f" {self._vocabulary.origin}: give --vocab_file of the records."
        )

  def _make_masking(self):
    """Returns the `Masking` for records without masks."""
    data = self._config.data
    if self._vocabulary is None:
      clean = self.eval if self.train.form.is_masked else self.train
      raise ValueError(
        f"--vocab_file must be given: the records of {clean.files[0]} are not"
        f" masked yet, and no vocabulary is beside {data.bert_config_file}."
      )
    return masking_lib.make(
      self._vocabulary, data.max_seq_length, **self.masking
    )

  def _check_not_masked(self):
    data = self._config.data
    if self.train.form.is_masked:
      raise ValueError(
        f"the records of {data.input_file} are masked already, which"
        f" --objective={data.objective} cannot read: write them with"
        f" --objective={data.objective} too."
      )

  def _sentence_loss(self):
    """Returns the name of the sentence pair loss, or None."""
    data, objective = self._config.data, self._config.objective
    if objective.needs_pairs and not self.train.form.use_pairs:
      raise ValueError(
        f"the records of {data.input_file} are not sentence pairs, which"
        f" --objective={data.objective} needs: write them with"
        f" --objective={data.objective} too."
      )
    loss = objective.sentence_loss
    if not self.train.form.use_pairs or loss is None:
      return None
    for file in self.train.files:
      packing = self._origins[file].get("packing")
      if packing not in (None, loss):
        raise ValueError(
          f"{file} has pairs of packing={packing}, but --objective="
          f"{data.objective} learns {loss}: write records with that objective."
        )
    return loss


def _check_texts(records, origins, data, objective):
  """Raises ValueError if records are to have one text more, or fewer.

  Args:
    records: `scan.Records`.
    origins: {file: dict}, the origin in each manifest.
    data: `pretraining_config.DataConfig`.
    objective: `Objective`.
  """
  are_wanted = objective.packing == choices.FOLLOWING_SENTENCES
  has_noise = objective.masking_policy in choices.NOISES
  has_two = records.form.has_target
  packings = {origins[file].get("packing") for file in records.files}
  are_sentences = choices.FOLLOWING_SENTENCES in packings
  if are_sentences != are_wanted or has_two > (are_wanted or has_noise):
    raise ValueError(
      f"the records of {scan.listed(records.files)} have"
      f" {'two texts' if has_two else 'one text'} each, which"
      f" --objective={data.objective} cannot learn from: write them with"
      f" --objective={data.objective} too."
    )
