"""Experiment: trains and evaluates a task in one output directory.

Order of initialisation: (1) a checkpoint in the output directory is resumed,
(2) else `init_checkpoint`, of any known format, is loaded, (3) else weights are
drawn from the seed.
"""

import contextlib
import json
import zlib

import keras
import tensorflow as tf
from absl import logging

from keras_bert_impl import locks
from keras_bert_impl.checkpoints import assignment, reading
from keras_bert_impl.checkpoints.descriptions import description
from keras_bert_impl.checkpoints.naming import adapters, names
from keras_bert_impl.models import lora
from keras_bert_impl.optimizers import optimization
from keras_bert_impl.tokenizers.formats import vocabularies
from keras_bert_impl.training import (
  distribution,
  freezing,
  run_configuration,
  run_log,
  runner,
  savers,
  training_loop,
)


class Experiment:
  """Trains and evaluates the model of a task in an output directory.

      run = Experiment(task, config, fixed).start()
      run.train(make_batches)

  Args:
    task: `tasks.basics.task.Task`.
    config: `TrainingConfig`.
    fixed: {name: JSON value}, what else a continued run must agree on (model,
      vocabulary, records); `vocabulary` is a fingerprint or None. Default:
      nothing.
    required_prefixes: tuple of str, beginnings of the paths of the variables
      that a checkpoint of other weights must have.
    remedy: str, what to do where it lacks them; as `assignment.assign`.

  Attributes, from `start` on:
    strategy: `tf.distribute.Strategy`.
    is_chief: bool, whether this worker writes the files.
    model: `keras.Model`.
    loop: `TrainingLoop`.
    saver: `Saver`.
  """

  def __init__(
    self, task, config, fixed=None, required_prefixes=("",), remedy=None
  ):
    self.task = task
    self.config = config
    self._fixed = fixed or {}
    self._required_prefixes = required_prefixes
    self._remedy = remedy

  def start(self):
    """Builds the model, initialises its weights and opens the folder.

    All workers call it together and wait in it for each other.

    Returns:
      The experiment itself.

    Raises:
      ValueError: the output directory holds a run of another configuration, a
        checkpoint does not fit the model, or the workers differ.
    """
    config = self.config
    check_start(config)
    self.strategy = strategy_of(config)
    self.is_chief = distribution.is_chief(self.strategy)
    tf.io.gfile.makedirs(config.output_dir)
    if savers.latest(config.output_dir):
      run_configuration.check_same(config, self._fixed)
    self._build()
    self._initialise()
    _check_workers(self.strategy, config, self._fixed, self.loop.step)
    # Recorded last: a run that could not start binds no other.
    self._record_configuration()
    return self

  @property
  def is_complete(self):
    """Whether all steps are done already."""
    return self.loop.step >= self.config.num_train_steps

  def train(
    self, make_batches, after_save=None, before_save=None, on_report=None
  ):
    """Trains to the last step; arguments and result as in `runner.train`.

    `on_report` is as of `RunLog`.
    """
    self._keep_schedule()
    with contextlib.closing(self._open_log(on_report)) as log:
      return runner.train(
        self.loop, self.saver, make_batches, log, after_save, before_save
      )

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
    """Loads the weights of the checkpoint `path`, of any format.

    Its adapters are merged; those of the model begin anew.
    """
    checkpoint = reading.open_checkpoint(path)
    for weight in self.model.weights:
      if weight.path.endswith(adapters.B):
        weight.assign(keras.ops.zeros_like(weight))
    required = self.task.required_prefixes
    result = assignment.assign(
      {
        weight.path: weight
        for weight in self.model.weights
        if not weight.path.endswith(adapters.PARTS)
      },
      self.task.given_weights(checkpoint.tensors),
      checkpoint.path,
      self.config.allow_partial and not required,
      self._remedy,
      required_prefixes=required or self._required_prefixes,
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

  def _open_log(self, on_report):
    if not self.is_chief:
      return run_log.NoLog()
    config = self.config
    return run_log.RunLog(
      config.output_dir, self.loop.step, config.num_train_steps, on_report
    )

  def _build(self):
    """Builds model, optimizer, loop and saver."""
    config = self.config
    set_dtype_policy(config)
    keras.utils.set_random_seed(config.random_seed)
    with self.strategy.scope():
      self.model = self.task.build_model()
      _freeze(self.model, config)
      optimizer = optimization.make_optimizer(config, self.model)
    self.loop = training_loop.TrainingLoop(
      self.task, self.model, optimizer, self.strategy, config
    )
    self.saver = savers.Saver(
      config.output_dir,
      self.model,
      optimizer,
      config.keep_checkpoint_max,
      self.is_chief,
    )

  def _record_configuration(self):
    """Writes the run's configuration and checks that all workers see it.

    Raises:
      ValueError: another worker's folder is not the chief's.
    """
    output_dir = self.config.output_dir
    if self.is_chief:
      run_configuration.write(
        self.config, self._fixed, self.strategy.num_replicas_in_sync
      )
    distribution.wait_for_all(self.strategy)
    is_seen = self.is_chief or run_configuration.appears(output_dir)
    distribution.refuse_if_any(
      self.strategy,
      not is_seen,
      f"output_dir ({output_dir}) must be one folder that all workers see:"
      " what the chief has written into it is not there for"
      f" {'another one' if is_seen else 'this one'}.",
    )

  def _initialise(self):
    """Initialises the weights: resumed, loaded, or random."""
    latest = self.saver.restore_latest()
    if latest:
      logging.info("Resuming at step %d from %s.", self.loop.step, latest)
      self._tell_of_replicas()
    elif self.config.init_checkpoint:
      checkpoint = self.load(self.config.init_checkpoint)
      self._warn_of_differences(checkpoint)
    elif self.task.required_prefixes:
      raise ValueError(
        "--init_checkpoint must be given: a part of this model is not trained"
        " and stays as it is there."
      )
    else:
      logging.info("Weights drawn from seed %d.", self.config.random_seed)

  def _tell_of_replicas(self):
    """Logs if the number of replicas has changed."""
    recorded = run_configuration.read(self.config.output_dir)
    before = recorded.get(run_configuration.NUM_REPLICAS)
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
    """Records the schedule; logs if it has changed before this step."""
    config, step = self.config, self.loop.step
    recorded = run_configuration.read(config.output_dir)
    before = recorded.get(run_configuration.SCHEDULE)
    now = optimization.schedule_steps(config)
    if step and before not in (None, now):
      logging.warning(
        "Another schedule from step %d on: %s, where it was %s; the learning"
        " rate is %.3g here, where it would be %.3g.",
        step,
        _listed(now),
        _listed(before),
        optimization.make_schedule(config, **now)(step),
        optimization.make_schedule(config, **before)(step),
      )
    if self.is_chief:
      run_configuration.write_schedule(config.output_dir, now)

  def _warn_of_differences(self, checkpoint):
    """Logs how the model differs from that of the loaded checkpoint."""
    if checkpoint.description:
      have_pooler = checkpoint.description.use_pooler and any(
        weight.path == names.POOLER for weight in self.model.weights
      )
      for difference in description.differences(
        self.model.config, checkpoint.description.config, have_pooler
      ):
        logging.warning("Unlike in %s, %s.", checkpoint.path, difference)
    fingerprint = self._fixed.get("vocabulary")
    theirs = vocabulary_fingerprint(checkpoint.folder)
    if fingerprint and theirs and fingerprint != theirs:
      logging.warning(
        "The vocabulary of this run is not the one beside %s: ids mean other"
        " tokens than those it was trained on.",
        checkpoint.path,
      )


def _freeze(model, config):
  """Freezes what a `TrainingConfig` does not train; adds its adapters."""
  freezing.freeze(model, config.train_layers)
  if config.lora_rank:
    lora.lora(model, config.lora_rank, config.lora_targets, config.lora_alpha)
    freezing.log_share(model)


def check_folder(output_dir):
  """Raises ValueError if a run would replace files of a model in its folder."""
  latest = savers.latest(output_dir)
  if latest and savers.is_of_run(latest) or run_configuration.read(output_dir):
    return
  if reading.holds_model(output_dir):
    raise ValueError(
      f"output_dir ({output_dir}) holds a model, whose configuration and"
      " vocabulary the run would replace: choose another --output_dir."
    )


def check_start(config):
  """Checks that the run of a `TrainingConfig` can begin, or go on.

  Raises:
    ValueError: as `check_folder`, or adapters would be of random weights.
  """
  check_folder(config.output_dir)
  is_random = not (config.init_checkpoint or savers.latest(config.output_dir))
  if config.lora_rank and is_random:
    raise ValueError(
      f"lora_rank ({config.lora_rank}) needs --init_checkpoint: adapters of"
      " random weights learn next to nothing."
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
  distribution.check_batch(config, strategy.num_replicas_in_sync)
  return strategy


@contextlib.contextmanager
def holding(strategy, output_dir):
  """Context in which no other run writes into an output directory.

  All workers enter it together; the chief locks the folder for all.

  Raises:
    ValueError: another process has locked it.
  """
  error = None
  with contextlib.ExitStack() as stack:
    if distribution.is_chief(strategy):
      try:
        stack.enter_context(locks.of_folder(output_dir))
      except ValueError as in_use:
        error = in_use
    distribution.refuse_if_any(
      strategy,
      error is not None,
      str(error or f"output_dir ({output_dir}) is in use by another run."),
    )
    yield


def _check_workers(strategy, config, fixed, step):
  """Raises ValueError unless all workers agree on configuration and step."""
  given = {**vars(config), **fixed, "output_dir": None}
  checksum = zlib.crc32(json.dumps(given, sort_keys=True).encode()) % 2**24
  for number, message in (
    (
      checksum,
      "the workers were given different flags, records or models: give all of"
      " them the same command.",
    ),
    (
      step,
      f"output_dir ({config.output_dir}) must be one folder that all workers"
      f" see: this one finds step {step} in it, another one another step.",
    ),
  ):
    chiefs, _ = distribution.agree(strategy, number, False)
    distribution.refuse_if_any(strategy, number != chiefs, message)


def set_dtype_policy(config):
  """Sets Keras' global dtype policy to that of a `TrainingConfig`."""
  keras.config.set_dtype_policy(
    "mixed_bfloat16" if config.dtype == "bfloat16" else "float32"
  )


def _listed(values):
  """Returns "name=value, name=value" of a dict."""
  return ", ".join(f"{name}={value}" for name, value in values.items())


def vocabulary_fingerprint(folder):
  """Returns the fingerprint of the vocabulary in `folder`, None without one."""
  try:
    return vocabularies.Vocabulary.load(folder).fingerprint
  except (FileNotFoundError, ValueError):
    return None
