"""Where a model trains: one device, several replicas of a host, or a TPU."""

import functools

import tensorflow as tf

STRATEGIES = ("one_device", "mirrored", "tpu")


# Strategies of one process disturb each other, and a TPU is initialised once.
@functools.cache
def create_strategy(name="one_device", num_logical_cpus=0, **tpu):
  """Returns the `tf.distribute.Strategy` of that name, the same at each call.

  Args:
    name: one of `STRATEGIES`. "mirrored" takes all GPUs of the host, or
      without one the logical CPUs.
    num_logical_cpus: int, splits the CPU into that many devices for "mirrored"
      (to try replicas without GPUs); 0 leaves it whole.
    **tpu: arguments of `TPUClusterResolver`: `tpu` (name or grpc:// address,
      "local" on a TPU VM), `zone`, `project`.

  Raises:
    ValueError: on an unknown name, or where devices were already in use when
      `num_logical_cpus` asked for a split.
  """
  if name == "one_device":
    return tf.distribute.get_strategy()
  if name == "mirrored":
    return _mirrored(num_logical_cpus)
  if name == "tpu":
    return _tpu(**tpu)
  raise ValueError(
    f"distribution_strategy ({name!r}) must be one of {', '.join(STRATEGIES)}."
  )


def _mirrored(num_logical_cpus):
  gpus = tf.config.list_logical_devices("GPU") if not num_logical_cpus else []
  if gpus:
    return tf.distribute.MirroredStrategy()
  split_cpu(max(num_logical_cpus, 1))
  devices = [device.name for device in tf.config.list_logical_devices("CPU")]
  return tf.distribute.MirroredStrategy(devices)


def split_cpu(count):
  """Makes the CPU `count` logical devices, each with its own replica."""
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
  """The documented order: resolver, connect, initialise, strategy."""
  resolver = tf.distribute.cluster_resolver.TPUClusterResolver(**tpu)
  tf.config.experimental_connect_to_cluster(resolver)
  tf.tpu.experimental.initialize_tpu_system(resolver)
  return tf.distribute.TPUStrategy(resolver)


def distribute(strategy, dataset):
  """Hands every replica its rows of each global batch.

  Cutting the batch here, instead of letting tf.distribute re-batch, keeps the
  number of rows static and their order: replica r of R sees rows
  [r B / R, (r + 1) B / R) for any kind of strategy.

  Args:
    strategy: `tf.distribute.Strategy`.
    dataset: `tf.data.Dataset` of {name: tensor [B, ...]}, B static and a
      multiple of the number of replicas; the other axes need not be static.

  Returns:
    An iterable of per-replica {name: tensor [B / R, ...]}.

  Raises:
    ValueError: if the batch cannot be divided.
  """
  replicas = strategy.num_replicas_in_sync

  def dataset_of_worker(context):
    local = replicas // context.num_input_pipelines
    first = context.input_pipeline_id * local

    def cut(batch):
      return {
        name: split_rows(x, replicas)[first : first + local]
        for name, x in batch.items()
      }

    rows = dataset.map(cut).unbatch()
    # Where it might end, tf.distribute gives up the static number of rows.
    if dataset.cardinality() == tf.data.INFINITE_CARDINALITY:
      rows = rows.apply(
        tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY)
      )
    return rows.prefetch(tf.data.AUTOTUNE)

  batch_size = next(iter(dataset.element_spec.values())).shape[0]
  check_divisible(batch_size, replicas)
  return strategy.distribute_datasets_from_function(dataset_of_worker)


def split_rows(x, parts):
  """Returns x [B, ...] as [parts, B / parts, ...]; B must be static."""
  static = [parts, x.shape[0] // parts, *x.shape[1:]]
  shape = tf.concat([static[:2], tf.shape(x)[1:]], axis=0)
  return tf.ensure_shape(tf.reshape(x, shape), static)


def check_divisible(batch_size, replicas, accumulation=1):
  """Raises ValueError unless the batch divides into equal micro-batches."""
  if batch_size % (replicas * accumulation):
    raise ValueError(
      f"batch size ({batch_size}) must be a multiple of the number of replicas"
      f" ({replicas}) times gradient_accumulation_steps ({accumulation})."
    )
