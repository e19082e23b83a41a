"""Training configuration: hyper-parameters and hardware, as flags."""

import dataclasses

from keras_bert_impl import options

DTYPES = ("float32", "bfloat16")
OPTIMIZERS = ("adamw", "lamb")
STRATEGIES = ("one_device", "mirrored", "multi_worker_mirrored", "tpu")


@dataclasses.dataclass(frozen=True)
class TrainingConfig:
  """Hyper-parameters and hardware of a training run.

  Its fields become flags of the scripts. Names, meanings and defaults are those
  of google-research/bert where it has them. A "step" is one optimizer update.

  Raises:
    ValueError: if a value is out of range.
  """

  output_dir: str | None = options.common(
    None, "Folder for checkpoints, logs, results and exports."
  )
  init_checkpoint: str | None = options.common(
    None,
    "Checkpoint to start from: a prefix such as bert_model.ckpt, the output_dir"
    " of another run, a folder of safetensors, or a .keras file.",
  )
  allow_partial: bool = options.field(
    False,
    "Draw from the seed what init_checkpoint lacks or has in another shape,"
    " instead of stopping.",
  )
  train_batch_size: int = options.common(
    32, "Examples per step, over all replicas.", interval="[1, inf)"
  )
  eval_batch_size: int = options.field(
    8, "Examples per evaluation step.", interval="[1, inf)"
  )
  learning_rate: float = options.common(
    5e-5, "Learning rate after the warm-up.", interval="[0, inf)"
  )
  num_train_steps: int = options.common(
    100000, "Steps of the whole run.", interval="[1, inf)"
  )
  num_warmup_steps: int = options.common(
    10000, "Steps of the warm-up.", interval="[0, inf)"
  )
  save_checkpoints_steps: int = options.field(
    1000, "Steps between checkpoints.", interval="[1, inf)"
  )
  keep_checkpoint_max: int = options.field(
    5, "Number of checkpoints kept.", interval="[1, inf)"
  )
  iterations_per_loop: int = options.field(
    1000,
    "Most steps between two returns to the host.",
    interval="[1, inf)",
  )
  max_eval_steps: int = options.field(
    100, "Most evaluation steps.", interval="[1, inf)"
  )
  random_seed: int = options.field(
    12345, "Seed of everything that is drawn.", interval="[0, 2147483647]"
  )
  optimizer: str = options.field(
    "adamw", "The optimizer; lamb for very large batches.", OPTIMIZERS
  )
  weight_decay_rate: float = options.field(
    0.01, "Weight decay of the optimizer.", interval="[0, inf)"
  )
  adam_beta_1: float = options.field(
    0.9, "Decay of the first moment.", interval="[0, 1)"
  )
  adam_beta_2: float = options.field(
    0.999, "Decay of the second moment.", interval="[0, 1)"
  )
  adam_epsilon: float = options.field(
    1e-6, "Added to the root of the second moment.", interval="(0, inf)"
  )
  use_bias_correction: bool = options.field(
    False, "Adam's bias correction, which the original leaves out."
  )
  layerwise_lr_decay: float = options.field(
    1.0,
    "Factor of the learning rate from each layer to the one below it; the head"
    " has the whole of it.",
    interval="(0, 1]",
  )
  clip_norm: float = options.field(
    1.0,
    "Global norm that gradients are clipped to; 0 for no clipping.",
    interval="[0, inf)",
  )
  gradient_accumulation_steps: int = options.field(
    1,
    "Micro-batches per step and replica; train_batch_size stays the size of a"
    " step.",
    interval="[1, inf)",
  )
  rematerialize: bool = options.field(
    False,
    "Whether each transformer block is computed again in the backward pass,"
    " instead of kept: less memory, up to a third more work, the same results.",
  )
  distribution_strategy: str = options.common(
    "one_device", "Where to train.", STRATEGIES
  )
  num_logical_cpus: int = options.field(
    0,
    "Replicas on the CPU for the mirrored strategy, without GPUs.",
    interval="[0, inf)",
  )
  use_tpu: bool = options.field(False, "Same as distribution_strategy=tpu.")
  tpu_name: str | None = options.field(
    None, "TPU name or address; local on its VM."
  )
  master: str | None = options.field(
    None, "Address of the TPU; other name of tpu_name."
  )
  num_tpu_cores: int = options.field(
    8, "Accepted for the original's command lines: all cores are used."
  )
  tpu_zone: str | None = options.field(
    None, "Zone of the TPU, if not this VM's."
  )
  gcp_project: str | None = options.field(
    None, "Project of the TPU, if not this VM's."
  )
  dtype: str = options.common("float32", "Type of the computation.", DTYPES)
  jit_compile: bool = options.field(
    False, "XLA for the forward and backward pass."
  )

  def __post_init__(self):
    options.check_fields(self)

  @property
  def strategy_name(self):
    """Name of the strategy; `use_tpu` means "tpu"."""
    return "tpu" if self.use_tpu else self.distribution_strategy


# A run may continue with other values of these: they do not change what is
# trained, or (the numbers of steps) are how a run is cut short or prolonged.
FREE_FIELDS = frozenset(
  (
    "output_dir",
    "allow_partial",
    "eval_batch_size",
    "num_train_steps",
    "num_warmup_steps",
    "save_checkpoints_steps",
    "keep_checkpoint_max",
    "iterations_per_loop",
    "max_eval_steps",
    "rematerialize",
    "distribution_strategy",
    "num_logical_cpus",
    "use_tpu",
    "tpu_name",
    "master",
    "num_tpu_cores",
    "tpu_zone",
    "gcp_project",
  )
)
