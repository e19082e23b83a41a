"""Types of what estimators take, for editors and type checkers.

A test holds the settings to the dataclasses that declare them.
"""

import os
from collections.abc import Iterable, Sequence
from typing import Any, TypedDict

Path = str | os.PathLike[str]
# Examples, or the path of a file of them.
Data = Iterable[Any] | Path
HeldOut = Data | tuple[Data, Iterable[Any]] | float


class FileNames(TypedDict, total=False):
  """Files to use instead of those beside a checkpoint."""

  bert_config_file: str | None
  do_lower_case: bool | None
  vocab_file: str | None


class ExportOptions(TypedDict, total=False):
  """Options of an export of any head."""

  compute_dtype: str
  fixed_length: int | None
  format: str
  signature_names: str
  weights_dtype: str | None


class FitSettings(TypedDict, total=False):
  """Settings of every `fit`: flags of the scripts, and what Keras has."""

  adam_beta_1: float
  adam_beta_2: float
  adam_epsilon: float
  allow_partial: bool
  bucket_by_length: bool
  clip_norm: float
  distillation_temperature: float
  distillation_weight: float
  distribution_strategy: str
  dtype: str
  early_stopping_patience: int
  ensemble_dirs: Sequence[str] | None
  eval_batch_size: int
  gcp_project: str | None
  gradient_accumulation_steps: int
  grid: str | None
  iterations_per_loop: int
  jit_compile: bool
  keep_checkpoint_max: int
  layerwise_lr_decay: float
  learning_rate: float
  learning_rate_schedule: str
  lora_alpha: float | None
  lora_rank: int
  lora_targets: str
  master: str | None
  max_seq_length: int
  max_unknown_share: float
  num_decay_steps: int | None
  num_logical_cpus: int
  num_restarts: int
  num_tpu_cores: int
  optimizer: str
  random_seed: int
  recipe: str | None
  rematerialize: bool
  save_checkpoints_steps: int
  teacher: Any
  tpu_name: str | None
  tpu_zone: str | None
  train_layers: str
  use_bias_correction: bool
  use_tpu: bool
  verbose: int | str
  warmup_proportion: float
  weight_decay_rate: float
