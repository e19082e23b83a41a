"""Scales: sizes, steps and rates of an experiment, from tiny to the paper's."""

import dataclasses

from etils import epy

# Keras, which takes seconds to import, is not for --help.
with epy.lazy_imports():
  from keras_bert_impl import configs


@dataclasses.dataclass(frozen=True)
class Scale:
  """How large the models of an experiment are, and how long they train.

  Attributes:
    size: (layers, hidden size, heads) of the model.
    shrink: callable, a size of the paper's table 6 -> the size here.
    vocab_size: int, tokens to learn from the corpus.
    max_seq_length: int.
    records: {flag of create_pretraining_data.py: value}.
    pretraining: {flag of run_pretraining.py: value}.
    fine_tuning: {flag of the fine-tuning scripts: value}.
    features: {the same: value} that differ where the encoder is frozen.
    answers: {the same: value} that differ for answers in a text.
    num_restarts: int, runs of each fine-tuning.
    num_points: int, checkpoints of figure 5.
    config: {field of EncoderConfig: value}.
    masks: {flag of run_pretraining.py: value} of objectives that mask tokens.
  """

  size: tuple[int, int, int]
  shrink: object
  vocab_size: int
  max_seq_length: int
  records: dict
  pretraining: dict
  fine_tuning: dict
  features: dict
  answers: dict
  num_restarts: int
  num_points: int = 5
  config: dict = dataclasses.field(default_factory=dict)
  masks: dict = dataclasses.field(default_factory=dict)

  @property
  def checkpoint_steps(self):
    """Steps after which a pre-training writes a checkpoint, range."""
    total = self.pretraining["num_train_steps"]
    every = max(total // self.num_points, 1)
    return range(every, total + 1, every)

  def encoder_config(self, model, vocab_size=None):
    """Returns the `EncoderConfig` of a model at this scale.

    Args:
      model: `table_rows.Pretraining`.
      vocab_size: int, of the vocabulary; default: that of the scale.
    """
    layers, hidden, heads = self.shrink(model.size) if model.size else self.size
    preset = configs.EncoderConfig.preset(model.preset)
    width = preset.embedding_size
    return dataclasses.replace(
      preset,
      vocab_size=vocab_size or self.vocab_size,
      num_hidden_layers=layers,
      hidden_size=hidden,
      num_attention_heads=heads,
      intermediate_size=4 * hidden,
      embedding_size=width and min(width, hidden),
      **self.config,
      **model.config,
    )


def _tiny(size):
  layers, hidden, heads = size
  return -(-layers // 3), hidden // 8, {12: 4, 3: 1, 16: 4}[heads]


def _small(size):
  layers, hidden, heads = size
  return -(-layers // 2), hidden // 3 // 12 * 12, {12: 6, 3: 2, 16: 6}[heads]


_CORRECTED = {"use_bias_correction": True}


def _training(batch_size, learning_rate, steps, warmup_steps):
  """Returns the flags of a pre-training."""
  return {
    "train_batch_size": batch_size,
    "learning_rate": learning_rate,
    "num_train_steps": steps,
    "num_warmup_steps": warmup_steps,
  }


def _tuning(batch_size, learning_rate, epochs):
  """Returns the flags of a fine-tuning."""
  return {
    "train_batch_size": batch_size,
    "learning_rate": learning_rate,
    "num_train_epochs": epochs,
  }


# A few minutes a model on two CPU cores: tests a table.
_TINY = Scale(
  size=(4, 128, 2),
  shrink=_tiny,
  vocab_size=8000,
  max_seq_length=64,
  records={"max_predictions_per_seq": 10, "dupe_factor": 1},
  pretraining=_training(32, 2e-3, 400, 40) | _CORRECTED,
  fine_tuning=_tuning(32, 5e-4, 4) | _CORRECTED,
  features={"learning_rate": 2e-3, "num_train_epochs": 6},
  answers={"max_query_length": 24, "doc_stride": 32},
  num_restarts=2,
  # The default run of run_pretraining.py has it too.
  config={"initializer_range": 0.05},
)

SCALES = {
  "tiny": _TINY,
  # Minutes a model: that of the default run of run_pretraining.py. Muon learns
  # most in these; so does [MASK] alone, where a table does not say what masks
  # become: docs/recipes.md. With dropout it would not learn more than how
  # common words are.
  "mini": dataclasses.replace(
    _TINY,
    size=(2, 128, 2),
    pretraining=_training(32, 5e-3, 2000, 200)
    | _CORRECTED
    | {"optimizer": "muon"},
    masks={"mask_token_prob": 1.0, "random_token_prob": 0.0},
    config=_TINY.config
    | {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0},
    num_restarts=3,
  ),
  # Hours a model on two CPU cores, minutes on a GPU.
  "small": Scale(
    size=(4, 256, 4),
    shrink=_small,
    vocab_size=16000,
    max_seq_length=128,
    records={"max_predictions_per_seq": 20, "dupe_factor": 5},
    pretraining=_training(64, 1e-3, 20000, 2000) | _CORRECTED,
    fine_tuning=_tuning(32, 1e-4, 3) | _CORRECTED,
    features={"learning_rate": 1e-3, "num_train_epochs": 10},
    answers={"max_query_length": 32, "doc_stride": 64},
    num_restarts=5,
    num_points=10,
    config={"initializer_range": 0.03},
  ),
  # Devlin et al. 2019, appendices A.2, A.3 and C.1: for TPUs and GPUs.
  "base": Scale(
    size=(12, 768, 12),
    shrink=lambda size: size,
    vocab_size=30522,
    max_seq_length=128,
    records={"max_predictions_per_seq": 20, "dupe_factor": 10},
    pretraining=_training(256, 1e-4, 1000000, 10000),
    fine_tuning=_tuning(32, 3e-5, 3) | {"recipe": "paper"},
    features={"learning_rate": 1e-3, "num_train_epochs": 20},
    # From the original's README.
    answers={"max_seq_length": 384, "doc_stride": 128},
    num_restarts=5,
    num_points=10,
  ),
}
