"""Configurations of architectures other than BERT, as fields to change."""

import numpy as np

from keras_bert_impl import configs

# Sizes that tests of models and of what is trained have in common.
SMALL = {
  "vocab_size": 50,
  "hidden_size": 16,
  "num_hidden_layers": 2,
  "num_attention_heads": 2,
  "intermediate_size": 32,
  "max_position_embeddings": 16,
  "initializer_range": 0.2,
}
TINY = {
  "vocab_size": 20,
  "hidden_size": 8,
  "num_hidden_layers": 1,
  "num_attention_heads": 2,
  "intermediate_size": 16,
  "max_position_embeddings": 10,
}
THREE_LAYERS = {
  "vocab_size": 20,
  "hidden_size": 8,
  "num_hidden_layers": 3,
  "num_attention_heads": 2,
  "intermediate_size": 16,
  "max_position_embeddings": 8,
}
# Three padded rows for them.
IDS = np.random.default_rng(0).integers(0, 50, (3, 7)).astype("int32")
MASK = (np.arange(7) < np.array([[7], [4], [5]])).astype("int32")
INPUTS = {"input_ids": IDS, "input_mask": MASK}

# Contents and positions attend apart; no positions in the input.
DEBERTA = {
  "clears_padding": True,
  "position_embedding_type": "none",
  "relative_attention": True,
  "pos_att_type": "c2p|p2c",
  "position_buckets": 6,
  "share_att_key": True,
  "type_vocab_size": 0,
}
# Rotary positions, every other layer local, gates, norms first, few biases.
MODERNBERT = {
  "type_vocab_size": 0,
  "position_embedding_type": "rotary",
  "attention_window": 4,
  "global_attention_every": 2,
  "norm_first": True,
  "gated_feed_forward": True,
  "attention_bias": False,
  "mlp_bias": False,
  "norm_bias": False,
}
# RMSNorm, SwiGLU, rotary positions and shared heads of keys; no biases.
EUROBERT = {
  "type_vocab_size": 0,
  "position_embedding_type": "rotary",
  "hidden_act": "silu",
  "norm_first": True,
  "norm_type": "rms_norm",
  "norm_bias": False,
  "embeddings_norm": False,
  "gated_feed_forward": True,
  "attention_bias": False,
  "mlp_bias": False,
  "num_key_value_heads": 1,
  "pooler_reads": "late",
  "decoder_transform": False,
  "decoder_bias": False,
  "tie_word_embeddings": False,
}
# Biases of each layer by distance, scores that are not scaled.
UMT5 = {
  **{name: EUROBERT[name] for name in ("norm_first", "norm_type", "norm_bias")},
  "type_vocab_size": 0,
  "position_embedding_type": "none",
  "embeddings_norm": False,
  "inner_dropout": True,
  "scale_scores": False,
  "pooler_reads": "mean",
  "relative_attention_num_buckets": 8,
  "relative_attention_max_distance": 6,
  "relative_attention_per_layer": True,
}
# A table of rotary positions, a wide output, embeddings of tasks.
TABLES = {
  "position_embedding_type": "rotary",
  "rotary_table": True,
  "embedding_size": 8,
  "output_embedding_size": 12,
  "task_type_vocab_size": 3,
  "tie_word_embeddings": False,
  "mlp_bias": False,
  "mlp_output_bias": True,
  "logits_bias": False,
}
# Windows with global tokens, RoBERTa's positions.
LONGFORMER = {
  "use_global_tokens": True,
  "attention_window": 4,
  "position_offset": 2,
  "type_vocab_size": 1,
}
XLNET = {"position_embedding_type": "transformer_xl", "type_vocab_size": 4}
RIGHT_TO_LEFT = {"use_causal_mask": True, "causal_direction": "right_to_left"}
PAIR = {"use_causal_mask": True, "causal_direction": "both"}
ELMO = PAIR | {"position_embedding_type": "recurrent", "type_vocab_size": 0}
TINY_DEBERTA = configs.EncoderConfig(
  vocab_size=30,
  hidden_size=8,
  num_hidden_layers=2,
  num_attention_heads=2,
  intermediate_size=16,
  max_position_embeddings=10,
  initializer_range=0.5,
  **DEBERTA,
)


def small(**changes):
  """Returns the configuration of `SMALL` with other values of some fields."""
  return configs.EncoderConfig(**SMALL | changes)


def tiny(**changes):
  """Returns the configuration of `TINY` with other values of some fields."""
  return configs.EncoderConfig(**TINY | changes)


def inputs(shape=(3, 7), seed=0):
  """Returns random tokens without padding, of two segments, for `SMALL`."""
  rng = np.random.default_rng(seed)
  return {
    "input_ids": rng.integers(0, 50, shape).astype("int32"),
    "input_mask": np.ones(shape, "int32"),
    "segment_ids": rng.integers(0, 2, shape).astype("int32"),
  }
