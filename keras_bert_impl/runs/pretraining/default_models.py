"""The small models of run_pretraining.py, by objective and by recipe.

Without a recipe, a model is of the family of the objective's paper: its preset
in small, the kind of vocabulary that its releases have, and what its training
has of its own.
"""

import dataclasses

from keras_bert_impl import configs, families
from keras_bert_impl.checkpoints.descriptions import google_config
from keras_bert_impl.tokenizers.formats import vocabulary_files

_HIDDEN_SIZE = 128
_NUM_LAYERS = 2
# Of the search in docs/recipes.md, for any encoder and masks.
_LEARNS_MOST = {
  "optimizer": "muon",
  "learning_rate": 5e-3,
  "use_bias_correction": True,
  "mask_token_prob": 1.0,
  "random_token_prob": 0.0,
  "word_vectors": "records",
}


@dataclasses.dataclass(frozen=True)
class DefaultModel:
  """What a run of an objective or a recipe has of its own.

  Attributes:
    preset: str, of `configs.PRESETS`.
    tokenizer: str, of `vocabulary_learning.methods.METHODS`.
    num_sentinels: int, tokens of its vocabulary that stand for spans.
    config: {field of `EncoderConfig`: value}, in place of the preset's.
    flags: {flag of run_pretraining.py: value}, in place of its defaults and of
      `default_pretraining.FLAG_VALUES`; `num_train_steps` for the default text.
  """

  preset: str
  tokenizer: str = "wordpiece"
  num_sentinels: int = 0
  config: dict = dataclasses.field(default_factory=dict)
  flags: dict = dataclasses.field(default_factory=dict)


MODELS = {
  # What learned most and leaves encoder and losses as they are.
  "bert": DefaultModel("bert_tiny", flags=_LEARNS_MOST),
  "roberta": DefaultModel("roberta_base", "byte_bpe"),
  "albert": DefaultModel(
    "albert_base_v2",
    "sentencepiece_unigram",
    # Smaller than H, as in all of its sizes.
    config={"embedding_size": _HIDDEN_SIZE // 2},
  ),
  "spanbert": DefaultModel("spanbert_base"),
  "electra": DefaultModel("electra_small"),
  "left_to_right": DefaultModel("left_to_right_base"),
  "right_to_left": DefaultModel(
    "left_to_right_base", config={"causal_direction": "right_to_left"}
  ),
  # Of these two a step takes several times as long: it predicts each token
  # twice, and LSTMs take a step for each token (the width is half of the
  # preset's eight times H).
  "bidirectional_pair": DefaultModel(
    "left_to_right_base",
    config={"causal_direction": "both"},
    flags={"num_train_steps": 500},
  ),
  "elmo": DefaultModel(
    "elmo",
    config={"intermediate_size": 512},
    flags={"num_train_steps": 500},
  ),
  "xlnet": DefaultModel(
    "xlnet_base",
    "sentencepiece_unigram",
    config={"max_position_embeddings": 2**15},  # No table limits the length.
  ),
  "modernbert": DefaultModel(
    "modernbert_base",
    "byte_bpe",
    # Warner et al. 2024, section 2.2, but for the rates.
    flags={
      "optimizer": "stable_adamw",
      "clip_norm": 0.0,
      "adam_beta_2": 0.98,
      "learning_rate_schedule": "trapezoidal",
    },
  ),
  "deberta": DefaultModel("deberta_base", "byte_bpe"),
  "deberta_v3": DefaultModel(
    "deberta_v3_small",
    "sentencepiece_unigram",
    # The release's 256 buckets are for 512 positions.
    config={"position_buckets": 32},
  ),
  # A step takes several times as long: decoders predict each token.
  "bart": DefaultModel(
    "bart_base", "byte_bpe", flags={"num_train_steps": 1000}
  ),
  "t5": DefaultModel(
    "t5_small",
    "sentencepiece_unigram",
    num_sentinels=100,
    flags={"optimizer": "muon", "learning_rate": 5e-3},
  ),
  "gpt": DefaultModel("gpt2", "byte_bpe", flags={"num_train_steps": 1000}),
  "next_sentence_words": DefaultModel(
    "bart_base",
    "byte_bpe",
    flags={"num_train_steps": 1000, "bucket_by_length": True},
  ),
  "next_sentence_ranking": DefaultModel(
    "bert_tiny", flags={"num_train_steps": 1000}
  ),
}

# What learned most in equal time: docs/recipes.md has the search.
RECIPES = {
  "fast": DefaultModel(
    "modernbert_base",
    config={"num_hidden_layers": 4, "num_attention_heads": 4},
    flags={
      "objective": "modernbert",
      "num_train_steps": 3000,
      **_LEARNS_MOST,
    },
  ),
}


def of_data(data):
  """Returns the `DefaultModel` of a run's `recipe` and `objective`.

  Args:
    data: `pretraining_config.DataConfig`, or flags that have these names.
  """
  return RECIPES.get(data.recipe) or MODELS[data.objective]


def encoder_of(data, vocab_size):
  """Returns the `EncoderConfig` that is given, or the `DefaultModel`'s.

  Args:
    data: `pretraining_config.DataConfig`.
    vocab_size: int, of the vocabulary of a model that is not given.
  """
  if data.bert_config_file:
    return google_config.read(data.bert_config_file)
  return encoder_config(of_data(data), vocab_size, data.max_seq_length)


def encoder_config(model, vocab_size, max_seq_length):
  """Returns the `EncoderConfig` of a `DefaultModel`.

  Differs from the presets but for the size: no dropout, because two epochs do
  not overfit, and a larger initializer_range, because 0.02 suits 768 units and
  slows 128 down.

  Args:
    model: `DefaultModel`.
    vocab_size: int, of its vocabulary.
    max_seq_length: int.
  """
  preset = configs.EncoderConfig.preset(model.preset)

  def shrunk(size):
    return size and size * _HIDDEN_SIZE // preset.hidden_size

  changes = {
    "vocab_size": vocab_size,
    "hidden_size": _HIDDEN_SIZE,
    "num_hidden_layers": _NUM_LAYERS,
    "num_decoder_layers": min(preset.num_decoder_layers, _NUM_LAYERS),
    "num_attention_heads": _HIDDEN_SIZE // 64,
    "intermediate_size": shrunk(preset.intermediate_size),
    "embedding_size": shrunk(preset.embedding_size),
    "max_position_embeddings": max_seq_length + preset.position_offset,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
    "initializer_range": 0.05,
  }
  return dataclasses.replace(preset, **changes | model.config)


def tokenizer_options(method, family):
  """Returns the options of a vocabulary to learn for a family.

  Args:
    method: `vocabulary_learning.methods.Method`.
    family: str, of `families.FAMILIES`.
  """
  options = method.options
  own = families.FAMILIES[family].sentencepiece_options
  if method.kind == vocabulary_files.SENTENCEPIECE and own is not None:
    options = type(options)(**own)
  return dataclasses.replace(options, family=family)
