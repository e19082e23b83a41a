"""A task on a strategy, with everything in one output directory.

Order of initialisation: (1) a checkpoint in the output directory is resumed,
(2) else `init_checkpoint`, of any known format, is loaded, (3) else weights are
drawn from the seed.
"""

import json
import time
import zlib

import keras
import tensorflow as tf
from absl import logging

from keras_bert_impl import files
from keras_bert_impl.checkpoints import assignment, description, names, reading
from keras_bert_impl.optimizers import adamw, lamb, layerwise, schedules
from keras_bert_impl.tokenizers import vocabulary, vocabulary_files
from keras_bert_impl.training import config as config_lib
from keras_bert_impl.training import distribution, report, run_log, runner
from keras_bert_impl.training import loop as loop_lib
from keras_bert_impl.training import saver as saver_lib

RUN_CONFIG_NAME = "run_config.json"
# Entries of that file that a continued run need not agree with.
_NUM_REPLICAS = "num_replicas"
_SCHEDULE = "schedule"
# For what the chief has written to be seen on another machine.
_PATIENCE_SECONDS = 10
_OPTIMIZERS = {"adamw": adamw.AdamW, "lamb": lamb.LAMB}


class Experiment:
  """Builds the model of a task, trains and evaluates it.

  Args:
    task: `tasks.base.Task`.
    config: `TrainingConfig`.
    fixed: {name: JSON value}, what else a continued run must agree on (model,
      vocabulary, records); `vocabulary` is a fingerprint or None.
    required_prefixes: tuple of str, beginnings of the paths of the variables
      that a checkpoint of other weights must have.
    remedy: str, what to do where it lacks them; as `assignment.assign`.

  Raises:
    ValueError: if the output directory holds a run of another configuration,
      or a checkpoint does not fit the model.
  """

  def __init__(self, task, config, fixed, required_prefixes=("",), remedy=None):
    self.task = task
    self.config = config
    self._required_prefixes = required_prefixes
    self._remedy = remedy
    self.strategy = strategy_of(config)
    tf.io.gfile.makedirs(config.output_dir)
    if saver_lib.latest(config.output_dir):
      check_same(config, fixed)
    set_dtype_policy(config)
    keras.utils.set_random_seed(config.random_seed)
    with self.strategy.scope():
      self.model = task.build_model()
      optimizer = make_optimizer(config, self.model)
    self.loop = loop_lib.TrainingLoop(
      task, self.model, optimizer, self.strategy, config
    )
    self.is_chief = distribution.is_chief(self.strategy)
    self.saver = saver_lib.Saver(
      config.output_dir,
      self.model,
      optimizer,
      config.keep_checkpoint_max,
      self.is_chief,
    )
    self._initialise(fixed.get("vocabulary"))
    self._check_workers(fixed)
    # Only now: what could not start is no run that another must agree with.
    self._record_configuration(fixed)

  @property
  def is_complete(self):
    """Whether all steps were made already."""
    return self.loop.step >= self.config.num_train_steps

  def train(self, make_batches, after_save=None):
    """Trains to the end; arguments and result as of `runner.train`."""
    self._keep_schedule()
    log = self._open_log()
    try:
      return runner.train(self.loop, self.saver, make_batches, log, after_save)
    finally:
      log.close()

  def evaluate(self, batches):
    """Returns {metric: float}, means over all `batches`.

    Raises:
      ValueError: if the weights come from no checkpoint.
    """
    self.check_weights()
    with distribution.losses_explained(self.strategy):
      return self.loop.evaluate(distribution.distribute(self.strategy, batches))

  def predict(self, batches):
    """Yields the outputs {name: float32 [B, ...]} of `batches`, in order.

    Raises:
      ValueError: if the weights come from no checkpoint.
    """
    self.check_weights()
    yield from self.loop.predict(
      distribution.distribute(self.strategy, batches)
    )

  def load(self, path):
    """Gives the model the weights of the checkpoint `path`, of any format."""
    checkpoint = reading.open_checkpoint(path)
    result = assignment.assign(
      {weight.path: weight for weight in self.model.weights},
      checkpoint.tensors,
      checkpoint.path,
      self.config.allow_partial,
      self._remedy,
      required_prefixes=self._required_prefixes,
    )
    logging.info("Weights from %s: %s.", checkpoint.path, result)
    return checkpoint

  def check_weights(self):
    """Raises ValueError if the weights come from no checkpoint."""
    if not self.saver.latest() and not self.config.init_checkpoint:
      raise ValueError(
        f"nothing to evaluate: output_dir ({self.config.output_dir}) holds no"
        " checkpoint; train with --do_train, or give --init_checkpoint."
      )

  def _open_log(self):
    if not self.is_chief:
      return run_log.NoLog()
    return run_log.RunLog(
      self.config.output_dir, self.loop.step, self.config.num_train_steps
    )

  def _check_workers(self, fixed):
    """Raises ValueError unless all workers do the same from the same step."""
    config = self.config
    given = {**vars(config), **fixed, "output_dir": None}
    checksum = zlib.crc32(json.dumps(given, sort_keys=True).encode()) % 2**24
    if self._is_another(checksum):
      raise ValueError(
        "the workers were given different flags, records or models: give all"
        " of them the same command."
      )
    step = self.loop.step
    if self._is_another(step):
      raise ValueError(
        f"output_dir ({config.output_dir}) must be one folder that all workers"
        f" see: this one finds step {step} in it, another one another step."
      )

  def _is_another(self, number):
    """Returns whether any worker has another number below 2**24."""
    chiefs, _ = distribution.agree(self.strategy, number, False)
    return distribution.any_worker(self.strategy, number != chiefs)

  def _record_configuration(self, fixed):
    """Writes what a continued run must agree on, which all workers must see.

    Raises:
      ValueError: another worker's folder is not the chief's.
    """
    if self.is_chief:
      self._write_record(
        {
          _NUM_REPLICAS: self.strategy.num_replicas_in_sync,
          _SCHEDULE: self._recorded().get(_SCHEDULE),
          **_configuration(self.config, fixed),
        }
      )
    distribution.wait_for_all(self.strategy)
    path = _configuration_path(self.config.output_dir)
    is_seen = self.is_chief or _appears(path)
    if distribution.any_worker(self.strategy, not is_seen):
      raise ValueError(
        f"output_dir ({self.config.output_dir}) must be one folder that all"
        " workers see: what the chief has written into it is not there for"
        f" {'another one' if is_seen else 'this one'}."
      )

  def _initialise(self, fingerprint):
    latest = self.saver.restore_latest()
    if latest:
      logging.info("Resuming at step %d from %s.", self.loop.step, latest)
      self._tell_of_replicas()
    elif self.config.init_checkpoint:
      checkpoint = self.load(self.config.init_checkpoint)
      self._warn_of_differences(checkpoint, fingerprint)
    else:
      logging.info("Weights drawn from seed %d.", self.config.random_seed)

  def _tell_of_replicas(self):
    """Tells if there were more or fewer of them before."""
    before = self._recorded().get(_NUM_REPLICAS)
    now = self.strategy.num_replicas_in_sync
    if before not in (None, now):
      logging.info(
        "%d replicas go on where %d stopped: with the same batches of %d"
        " examples in the same order, other dropout masks.",
        now,
        before,
        self.config.train_batch_size,
      )

  def _keep_schedule(self):
    """Records the schedule; tells if it was another one before this step."""
    config, step = self.config, self.loop.step
    before = self._recorded().get(_SCHEDULE)
    now = {
      "num_train_steps": config.num_train_steps,
      "num_warmup_steps": config.num_warmup_steps,
    }
    if step and before not in (None, now):
      logging.warning(
        "Another schedule from step %d on: %s, where it was %s; the learning"
        " rate is %.3g here, where it would be %.3g.",
        step,
        _listed(now),
        _listed(before),
        _schedule(config, **now)(step),
        _schedule(config, **before)(step),
      )
    if self.is_chief:
      self._write_record({**self._recorded(), _SCHEDULE: now})

  def _recorded(self):
    return report.read_json(_configuration_path(self.config.output_dir)) or {}

  def _write_record(self, content):
    files.write_json(_configuration_path(self.config.output_dir), content)

  def _warn_of_differences(self, checkpoint, fingerprint):
    """Tells what the same weights were not trained with."""
    if checkpoint.description:
      have_pooler = checkpoint.description.use_pooler and any(
        weight.path == names.POOLER for weight in self.model.weights
      )
      for difference in description.differences(
        self.model.config, checkpoint.description.config, have_pooler
      ):
        logging.warning("Unlike in %s, %s.", checkpoint.path, difference)
    theirs = vocabulary_fingerprint(checkpoint.folder)
    if fingerprint and theirs and fingerprint != theirs:
      logging.warning(
        "The vocabulary of this run is not the one beside %s: ids mean other"
        " tokens than those it was trained on.",
        checkpoint.path,
      )


def strategy_of(config):
  """Returns the strategy of a `TrainingConfig`, the same at each call.

  That of several workers has to be made before TensorFlow runs anything.

  Raises:
    ValueError: as `distribution.create_strategy`, or the batch does not divide
      among its replicas.
  """
  strategy = distribution.create_strategy(
    config.strategy_name,
    config.num_logical_cpus,
    tpu=config.tpu_name or config.master,
    zone=config.tpu_zone,
    project=config.gcp_project,
  )
  distribution.check_divisible(
    config.train_batch_size,
    strategy.num_replicas_in_sync,
    config.gradient_accumulation_steps,
  )
  return strategy


def check_same(config, fixed):
  """Checks that the run in the output directory, if there is one, is this one.

  Args:
    config: `TrainingConfig`.
    fixed: as `Experiment`.

  Raises:
    ValueError: it is another one; names the difference.
  """
  mine = _flat(_configuration(config, fixed))
  theirs = _flat(read_configuration(config.output_dir))
  # An older version of this program may have recorded less.
  for name in sorted(theirs):
    if mine.get(name) != theirs[name]:
      raise ValueError(
        f"output_dir ({config.output_dir}) holds a run with"
        f" {name}={theirs[name]!r}, not {mine.get(name)!r}: choose"
        " another --output_dir, or that value to continue it."
      )


def _flat(values):
  """Returns {name: value} with the entries of dicts as "name.key"."""
  flat = {}
  for name, value in values.items():
    if isinstance(value, dict):
      flat |= {f"{name}.{key}": inner for key, inner in value.items()}
    else:
      flat[name] = value
  return flat


def read_configuration(output_dir):
  """Returns {name: value} that continuing the run of a folder must agree on.

  {} if there is no run.
  """
  recorded = report.read_json(_configuration_path(output_dir)) or {}
  return {
    name: value
    for name, value in recorded.items()
    if name not in (_NUM_REPLICAS, _SCHEDULE)
  }


def _appears(path):
  """Returns whether a file that another machine wrote can be seen."""
  for _ in range(_PATIENCE_SECONDS):
    if tf.io.gfile.exists(path):
      return True
    time.sleep(1)
  return False


def _configuration_path(output_dir):
  return tf.io.gfile.join(output_dir, RUN_CONFIG_NAME)


def _configuration(config, fixed):
  """Returns {name: JSON value} of all that a continued run must agree on."""
  return {
    name: value
    for name, value in vars(config).items()
    if name not in config_lib.FREE_FIELDS
  } | fixed


def set_dtype_policy(config):
  """Makes the type of a `TrainingConfig` that of the models built from now."""
  keras.config.set_dtype_policy(
    "mixed_bfloat16" if config.dtype == "bfloat16" else "float32"
  )


def make_optimizer(config, model):
  """Returns the optimizer of a `TrainingConfig`, with its schedule."""
  schedule = _schedule(config, config.num_train_steps, config.num_warmup_steps)
  return _OPTIMIZERS[config.optimizer](
    schedule,
    weight_decay_rate=config.weight_decay_rate,
    beta_1=config.adam_beta_1,
    beta_2=config.adam_beta_2,
    epsilon=config.adam_epsilon,
    use_bias_correction=config.use_bias_correction,
    learning_rate_multipliers=layerwise.multipliers(
      [variable.path for variable in model.trainable_variables],
      model.config,
      config.layerwise_lr_decay,
    ),
  )


def _schedule(config, num_train_steps, num_warmup_steps):
  """Returns the schedule of a `TrainingConfig` with these numbers of steps."""
  return schedules.WarmupThenLinearDecay(
    config.learning_rate, num_warmup_steps, num_train_steps
  )


def _listed(values):
  """Returns "name=value, name=value" of a dict."""
  return ", ".join(f"{name}={value}" for name, value in values.items())


def vocabulary_fingerprint(folder):
  """Returns that of the vocabulary in `folder`, or None without one."""
  try:
    path = vocabulary_files.find_file(folder)
    return vocabulary.Vocabulary.load(path).fingerprint
  except (FileNotFoundError, ValueError):
    return None
