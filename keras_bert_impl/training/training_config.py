"""Training configuration: hyper-parameters and hardware, as flags."""

import dataclasses

from keras_bert_impl import calls, options
from keras_bert_impl.training import freezing

DTYPES = ("float32", "bfloat16")
OPTIMIZERS = ("adamw", "lamb", "muon", "stable_adamw")
SCHEDULES = ("linear", "trapezoidal")
STRATEGIES = ("one_device", "mirrored", "multi_worker_mirrored", "tpu")


@calls.checked_init
@dataclasses.dataclass(frozen=True)
class TrainingConfig:
  """Hyper-parameters and hardware of a training run.

  Its fields become flags of the scripts. Names, meanings and defaults are those
  of google-research/bert where it has them. A "step" is one optimizer update.

  Raises:
    ValueError: a value is out of range or contradicts another.
  """

  output_dir: str | None = options.common(
    None, "Folder for checkpoints, logs, results and exports."
  )
  init_checkpoint: str | None = options.common(
    None,
    "Checkpoint to start from: a prefix such as bert_model.ckpt, the output_dir"
    " of another run, a folder of safetensors, a .keras file, or the name of a"
    " model such as klue/bert-base.",
  )
  allow_partial: bool = options.field(
    False,
    "Whether to initialise weights that init_checkpoint lacks or has in another"
    " shape, instead of stopping.",
  )
  train_batch_size: int = options.common(
    32,
    "Examples per step, summed over all replicas.",
    interval=options.BATCH_SIZES,
  )
  eval_batch_size: int = options.field(
    8, "Examples per evaluation step.", interval=options.BATCH_SIZES
  )
  learning_rate: float = options.common(
    5e-5, "Peak learning rate, at the end of the warm-up.", interval="[0, 1e30]"
  )
  num_train_steps: int = options.common(
    100000, "Total number of training steps.", interval=options.STEPS
  )
  num_warmup_steps: int | None = options.common(
    None,
    "Number of warm-up steps; default: 10000, or a tenth of num_train_steps if"
    " these are fewer than 10000.",
    interval="[0, 1000000000]",
  )
  learning_rate_schedule: str = options.field(
    "linear",
    "Learning rate after the warm-up: linear falls to zero, as in the original;"
    " trapezoidal is constant, and falls in the last num_decay_steps, as"
    " 1 - sqrt(their share).",
    SCHEDULES,
  )
  num_decay_steps: int | None = options.field(
    None,
    "Last steps, in which the trapezoidal learning rate falls to zero; default:"
    " a tenth of num_train_steps.",
    interval="[0, 1000000000]",
  )
  save_checkpoints_steps: int = options.field(
    1000, "Steps between checkpoints.", interval=options.STEPS
  )
  keep_checkpoint_max: int = options.field(
    5, "Number of recent checkpoints to keep.", interval="[1, 1000000]"
  )
  iterations_per_loop: int = options.field(
    1000,
    "Maximum number of steps per call of the training function.",
    interval=options.STEPS,
  )
  max_eval_steps: int = options.field(
    100, "Maximum number of evaluation steps.", interval=options.STEPS
  )
  random_seed: int = options.field(
    12345,
    "Seed for weights, data order, masking and dropout.",
    interval=options.SEEDS,
  )
  optimizer: str = options.field(
    "adamw",
    "Optimizer; lamb suits very large batches, muon learns more per step, and"
    " stable_adamw clips updates, so that it needs no clip_norm.",
    OPTIMIZERS,
  )
  weight_decay_rate: float = options.field(
    0.01, "Weight decay rate of the optimizer.", interval="[0, 1000]"
  )
  adam_beta_1: float = options.field(
    0.9, "Decay rate of the first moment.", interval="[0, 1)"
  )
  adam_beta_2: float = options.field(
    0.999, "Decay rate of the second moment.", interval="[0, 1)"
  )
  adam_epsilon: float = options.field(
    1e-6,
    "Constant added to the square root of the second moment.",
    interval="[1e-30, 1]",
  )
  use_bias_correction: bool = options.field(
    False, "Whether to use Adam's bias correction; BERT does not."
  )
  layerwise_lr_decay: float = options.field(
    1.0,
    "Factor by which each layer's learning rate is lower than that of the layer"
    " above; the head has the full rate.",
    interval="(0, 1]",
  )
  train_layers: str = options.common(
    freezing.ALL,
    "Layers to train: all; head, with the pooler; or last_N, head and last N"
    " blocks.",
  )
  lora_rank: int = options.field(
    0,
    "Rank of low-rank adapters (LoRA), which are trained with the head in the"
    " place of all layers; 0: none.",
    interval="[0, 4096]",
  )
  lora_alpha: float | None = options.field(
    None,
    "Adapters count lora_alpha / lora_rank times; default: lora_rank.",
    interval="[1e-6, 1e6]",
  )
  lora_targets: str = options.field(
    "query,value",
    "Dense layers that get adapters, comma-separated: ends of the paths of"
    " their weights, such as query or attention/output/dense.",
  )
  clip_norm: float = options.field(
    1.0,
    "Maximum global norm of the gradients; 0: no clipping.",
    interval="[0, 1e30]",
  )
  gradient_accumulation_steps: int = options.field(
    1,
    "Micro-batches per step and replica, to save memory; train_batch_size is"
    " that of the whole step.",
    interval=options.BATCH_SIZES,
  )
  rematerialize: bool = options.field(
    False,
    "Whether to recompute each transformer block in the backward pass (gradient"
    " checkpointing): less memory, up to a third more work, the same results.",
  )
  distribution_strategy: str = options.common(
    "one_device", "tf.distribute strategy.", STRATEGIES
  )
  num_logical_cpus: int = options.field(
    0,
    "Number of CPU replicas for the mirrored strategy without GPUs.",
    interval="[0, 1024]",
  )
  use_tpu: bool = options.field(False, "Same as distribution_strategy=tpu.")
  tpu_name: str | None = options.field(
    None, "Name or address of the TPU; local on a TPU VM."
  )
  master: str | None = options.field(
    None, "Address of the TPU; another name for tpu_name."
  )
  num_tpu_cores: int = options.field(
    8,
    "Ignored: all cores are used. For command lines of google-research/bert.",
    interval="[0, 1000000]",
  )
  tpu_zone: str | None = options.field(
    None, "Cloud zone of the TPU; default: the zone of this VM."
  )
  gcp_project: str | None = options.field(
    None, "Cloud project of the TPU; default: the project of this VM."
  )
  dtype: str = options.common("float32", "Compute dtype of layers.", DTYPES)
  jit_compile: bool = options.field(
    False, "Whether to compile the forward and backward pass with XLA."
  )

  def __post_init__(self):
    options.check_fields(self)
    freezing.num_blocks(self.train_layers)
    if self.lora_rank and self.train_layers != freezing.ALL:
      raise ValueError(
        f"train_layers ({self.train_layers!r}) must be all with lora_rank"
        f" ({self.lora_rank}): adapters and the head are trained."
      )
    if not self.lora_rank:
      options.check_unused(self, ("lora_alpha", "lora_targets"), "--lora_rank")
    is_linear = self.learning_rate_schedule == "linear"
    if is_linear and self.num_decay_steps is not None:
      raise ValueError(
        f"num_decay_steps ({self.num_decay_steps}) needs"
        " learning_rate_schedule=trapezoidal: give it, or leave the steps out."
      )

  @property
  def strategy_name(self):
    """Name of the strategy; `use_tpu` means "tpu"."""
    return "tpu" if self.use_tpu else self.distribution_strategy


# A resumed run may change these: they do not affect the trained weights, or, as
# the numbers of steps, they shorten or extend the run.
FREE_FIELDS = frozenset(
  (
    "output_dir",
    "allow_partial",
    "eval_batch_size",
    "num_train_steps",
    "num_warmup_steps",
    "num_decay_steps",
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
