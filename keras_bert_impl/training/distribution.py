"""Distribution strategies: one device, several, several machines, a TPU."""

import collections
import contextlib
import functools
import os
import re

import tensorflow as tf
from absl import logging

from keras_bert_impl import files
from keras_bert_impl.training import stopping, training_config

_EXAMPLE = (
  '{"cluster": {"worker": ["host0:2222", "host1:2222"]},'
  ' "task": {"type": "worker", "index": 0}}'
)
_ADDRESS = re.compile(r".+:\d+")
# The errors of a collective when one of its workers is gone.
_LOSSES = (
  tf.errors.AbortedError,
  tf.errors.CancelledError,
  tf.errors.DeadlineExceededError,
  tf.errors.UnavailableError,
)


class WorkerLostError(stopping.StoppedError):
  """Another worker is gone; all must be restarted."""


# Strategies of one process disturb each other, and a TPU is initialised once.
@functools.cache
def create_strategy(name="one_device", num_logical_cpus=0, **tpu):
  """Returns the `tf.distribute.Strategy` of a name, the same at each call.

  Args:
    name: one of `config.STRATEGIES`. "mirrored" takes all GPUs of the host, or
      without one the logical CPUs; "multi_worker_mirrored" takes those of
      every worker of the cluster that the environment variable TF_CONFIG
      describes, and waits for them.
    num_logical_cpus: int, splits the CPU into that many devices for "mirrored"
      (to try replicas without GPUs); 0 leaves it whole.
    **tpu: arguments of `TPUClusterResolver`: `tpu` (name or grpc:// address,
      "local" on a TPU VM), `zone`, `project`.

  Raises:
    ValueError: on an unknown name or a wrong TF_CONFIG, or where devices were
      already in use when `num_logical_cpus` asked for a split.
  """
  if name == "one_device":
    return tf.distribute.get_strategy()
  if name == "mirrored":
    return _mirrored(num_logical_cpus)
  if name == "multi_worker_mirrored":
    check_cluster(os.environ.get("TF_CONFIG"))
    logging.info("Waiting for the workers of %s.", os.environ["TF_CONFIG"])
    return tf.distribute.MultiWorkerMirroredStrategy()
  if name == "tpu":
    return _tpu(**tpu)
  raise ValueError(
    f"distribution_strategy ({name!r}) must be one of"
    f" {', '.join(training_config.STRATEGIES)}."
  )


def _mirrored(num_logical_cpus):
  gpus = tf.config.list_logical_devices("GPU") if not num_logical_cpus else []
  if gpus:
    return tf.distribute.MirroredStrategy()
  split_cpu(max(num_logical_cpus, 1))
  devices = [device.name for device in tf.config.list_logical_devices("CPU")]
  return tf.distribute.MirroredStrategy(devices)


def split_cpu(count):
  """Splits the CPU into `count` logical devices, one for each replica."""
  cpu = tf.config.list_physical_devices("CPU")[0]
  current = tf.config.get_logical_device_configuration(cpu)
  if len(current or [None]) == count:
    return
  try:
    tf.config.set_logical_device_configuration(
      cpu, [tf.config.LogicalDeviceConfiguration()] * count
    )
  except RuntimeError as error:
    raise ValueError(
      f"num_logical_cpus ({count}) must be set before TensorFlow uses its"
      " devices; create the strategy first."
    ) from error


def _tpu(**tpu):
  """Returns a `TPUStrategy`, made in the order that TensorFlow documents."""
  resolver = tf.distribute.cluster_resolver.TPUClusterResolver(**tpu)
  tf.config.experimental_connect_to_cluster(resolver)
  tf.tpu.experimental.initialize_tpu_system(resolver)
  return tf.distribute.TPUStrategy(resolver)


def check_cluster(tf_config):
  """Raises ValueError unless TF_CONFIG names the workers.

  Args:
    tf_config: str, JSON, or None.
  """
  try:
    content = files.parse_json(tf_config or "", "TF_CONFIG")
    cluster, task = content["cluster"], content["task"]
    addresses = [
      one for kind in ("chief", "worker") for one in cluster.get(kind, [])
    ]
    is_sound = (
      {*cluster} <= {"chief", "worker"}
      and len(cluster.get("chief", [])) <= 1
      and all(map(_ADDRESS.fullmatch, addresses))
      and len({*addresses}) == len(addresses)
      and 0 <= int(task["index"]) < len(cluster[task["type"]])
    )
  except (AttributeError, ValueError, LookupError, TypeError):
    is_sound = False
  if not is_sound:
    raise ValueError(
      "distribution_strategy=multi_worker_mirrored needs the environment"
      " variable TF_CONFIG, with one cluster for all and a task for each"
      f" worker, as in {_EXAMPLE}; it is {tf_config!r}."
    )


def num_workers(strategy):
  """Returns the number of worker processes."""
  if not isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy):
    return 1
  cluster = strategy.cluster_resolver.cluster_spec().as_dict()
  return sum(len(addresses) for addresses in cluster.values())


def device_names():
  """Returns the devices of this machine, such as "2 x NVIDIA H100, CPU"."""
  names = collections.Counter(
    tf.config.experimental.get_device_details(device).get("device_name")
    or device.device_type
    for device in tf.config.list_physical_devices()
  )
  return ", ".join(
    f"{number} x {name}" if number > 1 else name
    for name, number in sorted(names.items())
  )


def is_chief(strategy):
  """Returns whether this process writes the files of the run."""
  return strategy.extended.should_checkpoint


def agree(strategy, number, is_stopping):
  """Combines the decisions of all workers; each of them calls this.

  Args:
    strategy: `tf.distribute.Strategy`.
    number: int below 2**24.
    is_stopping: bool.

  Returns:
    The chief's number, and whether any worker is stopping.
  """
  votes = [number if is_chief(strategy) else 0, is_stopping]
  number, num_stopping = sum_over_workers(strategy, votes)
  return int(number), num_stopping > 0


def any_worker(strategy, is_true):
  """Returns whether `is_true` holds for any worker; each of them calls this."""
  return sum_over_workers(strategy, [is_true])[0] > 0


def refuse_if_any(strategy, is_wrong, message):
  """Raises an error in all workers if one finds something wrong.

  Args:
    strategy: `tf.distribute.Strategy`.
    is_wrong: bool, of this worker.
    message: str, of this worker's error.

  Raises:
    ValueError: `is_wrong` holds for any worker.
  """
  if any_worker(strategy, is_wrong):
    leave(strategy)
    raise ValueError(message)


def wait_for_all(strategy):
  """Waits until all workers have called this."""
  any_worker(strategy, False)


def leave(strategy):
  """Waits until all workers have received their last sum; each calls this.

  A worker that ends before breaks off the sum that others still receive. The
  sum that is broken off now tells nobody anything.
  """
  with contextlib.suppress(WorkerLostError):
    wait_for_all(strategy)


def sum_over_workers(strategy, values):
  """Returns the list of numbers `values` summed over all workers."""
  if num_workers(strategy) == 1:
    return values
  with losses_explained(strategy):
    return _worker_sum(strategy)(tf.constant(values, tf.float32)).numpy()


@functools.cache
def _worker_sum(strategy):
  def sum_in_replica(values):
    context = tf.distribute.get_replica_context()
    # A worker has one vote, however many replicas.
    local = context.num_replicas_in_sync // num_workers(strategy)
    is_first = context.replica_id_in_sync_group % local == 0
    votes = tf.where(is_first, values, 0.0)
    return context.all_reduce(tf.distribute.ReduceOp.SUM, votes)

  @tf.function(autograph=False)
  def sum_values(values):
    sums = strategy.run(sum_in_replica, args=(values,))
    return strategy.experimental_local_results(sums)[0]

  return sum_values


@contextlib.contextmanager
def losses_explained(strategy):
  """Turns the error of a worker that lost another one into one line.

  Raises:
    WorkerLostError: another worker has stopped.
  """
  try:
    yield
  except _LOSSES as error:
    if num_workers(strategy) == 1:
      raise
    raise WorkerLostError(
      "another worker has stopped, or cannot be reached"
      f" ({type(error).__name__}). Start all workers again with the same"
      " command: they continue from the last checkpoint."
    ) from error


@tf.autograph.experimental.do_not_convert
def distribute(strategy, batches):
  """Distributes global batches: each replica gets its rows.

  Cutting the batch here, instead of letting tf.distribute re-batch, keeps the
  number of rows static and their order: replica r of R sees rows
  [r B / R, (r + 1) B / R) for any kind of strategy.

  Args:
    strategy: `tf.distribute.Strategy`.
    batches: `tf.data.Dataset` of {name: tensor [B, ...]}, B static and a
      multiple of the number of replicas; the other axes need not be static. Or
      a callable (part, num_parts) -> dataset of that part of each batch, for
      hosts that need not prepare the rows of the others.

  Returns:
    An iterable of per-replica {name: tensor [B / R, ...]}.

  Raises:
    ValueError: if the batch cannot be divided.
  """
  replicas = strategy.num_replicas_in_sync
  part_of = batches if callable(batches) else _part_of(batches, replicas)

  def dataset_of_host(context):
    hosts = context.num_input_pipelines
    part = part_of(context.input_pipeline_id, hosts)
    if replicas == hosts:
      return part

    def cut(rows):
      return {n: split_rows(x, replicas // hosts) for n, x in rows.items()}

    rows = part.map(cut).unbatch()
    # If the data might end, tf.distribute drops the static number of rows.
    if part.cardinality() == tf.data.INFINITE_CARDINALITY:
      rows = rows.apply(
        tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY)
      )
    return rows.prefetch(tf.data.AUTOTUNE)

  return strategy.distribute_datasets_from_function(dataset_of_host)


def _part_of(dataset, replicas):
  """Returns a function (part, num_parts) -> dataset of that part's rows."""
  batch_size = next(iter(dataset.element_spec.values())).shape[0]
  check_divisible(batch_size, replicas)

  def part_of(part, num_parts):
    return dataset.map(
      lambda batch: {
        n: split_rows(x, num_parts)[part] for n, x in batch.items()
      }
    )

  return part_of


def split_rows(x, parts):
  """Reshapes x [B, ...] to [parts, B / parts, ...]; B must be static."""
  static = [parts, x.shape[0] // parts, *x.shape[1:]]
  shape = tf.concat([static[:2], tf.shape(x)[1:]], axis=0)
  return tf.ensure_shape(tf.reshape(x, shape), static)


def check_batch(config, replicas):
  """Raises as `check_divisible`, for the batches of a `TrainingConfig`."""
  accumulation = config.gradient_accumulation_steps
  check_divisible(config.train_batch_size, replicas, accumulation)


def check_divisible(batch_size, replicas, accumulation=1):
  """Raises ValueError unless the batch divides into equal micro-batches."""
  if batch_size % (replicas * accumulation):
    raise ValueError(
      f"batch size ({batch_size}) must be a multiple of the number of replicas"
      f" ({replicas}) times gradient_accumulation_steps ({accumulation})."
    )
