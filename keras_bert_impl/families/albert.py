"""ALBERT: Lan et al. 2020. One block for all layers, small embeddings.

Source: google-research/albert, modeling.py.
"""

from keras_bert_impl.families import family

_OURS = "bert/encoder/group_#/"
_THEIRS = "albert/encoder/albert_layer_groups/#/albert_layers/0/"
# Of the blocks of a group after its first.
_OUR_INNER = "bert/encoder/group_#_inner_+/"
_THEIR_INNER = "albert/encoder/albert_layer_groups/#/albert_layers/+/"
# No release of Google's has any.
_GOOGLES = "bert/encoder/transformer/group_#/inner_group_0/"

_EMBEDDING_SIZE = 128


def _size(num_hidden_layers, hidden_size, num_attention_heads, dropout):
  """Lan et al. 2020, table 1."""
  return family.size(
    num_hidden_layers,
    hidden_size,
    num_attention_heads=num_attention_heads,
    vocab_size=30000,
    embedding_size=_EMBEDDING_SIZE,
    hidden_act="gelu_new",
    hidden_dropout_prob=dropout,
    attention_probs_dropout_prob=dropout,
    num_hidden_groups=1,
  )


def _names(ours, theirs):
  return (
    (ours + "attention/output/dense", theirs + "attention/dense"),
    (ours + "attention/output/LayerNorm", theirs + "attention/LayerNorm"),
    (ours + "attention/self/", theirs + "attention/"),
    (ours + "intermediate/dense", theirs + "ffn"),
    (ours + "output/dense", theirs + "ffn_output"),
    (ours + "output/LayerNorm", theirs + "full_layer_layer_norm"),
  )


def read(values, origin):
  """Counts all blocks, checks the size of embeddings; see `Family.read`."""
  size = values.get("hidden_size")
  if size is not None and values.get("embedding_size", _EMBEDDING_SIZE) == size:
    raise ValueError(
      f"embedding_size in {origin} must not be hidden_size ({size}): "
      "transformers' code maps the one to the other even then, Google's and "
      "ours do not."
    )
  layers = values.get("num_hidden_layers", 12)
  inner = values.get("inner_group_num", 1)
  are_known = isinstance(layers, int) and isinstance(inner, int)
  return values | {
    "num_hidden_layers": layers * max(inner, 1) if are_known else layers
  }


def write(values, config):
  """Returns a config.json whose layers are whole groups; see `Family.write`."""
  layers = config.num_hidden_layers // config.inner_group_num
  return values | {"num_hidden_layers": layers}


FAMILY = family.Family(
  name="albert",
  class_stem="Albert",
  presets={
    "albert_base_v1": _size(12, 768, 12, dropout=0.1),
    "albert_large_v1": _size(24, 1024, 16, dropout=0.1),
    "albert_xlarge_v1": _size(24, 2048, 16, dropout=0.1),
    "albert_xxlarge_v1": _size(12, 4096, 64, dropout=0.0),
    "albert_base_v2": _size(12, 768, 12, dropout=0.0),
    "albert_large_v2": _size(24, 1024, 16, dropout=0.0),
    "albert_xlarge_v2": _size(24, 2048, 16, dropout=0.0),
    "albert_xxlarge_v2": _size(12, 4096, 64, dropout=0.0),
  },
  config_keys=family.CONFIG_KEYS
  | family.same("embedding_size", "num_hidden_groups", "inner_group_num"),
  constants={
    "bos_token_id": 2,
    "classifier_dropout_prob": 0.1,
    "eos_token_id": 3,
    "pad_token_id": 0,
  },
  fixed=family.FIXED
  | {"net_structure_type": 0, "num_memory_blocks": 0, "ln_type": "postln"},
  defaults=_size(12, 4096, 64, dropout=0.0),
  read=read,
  write=write,
  names=(
    *_names(_OURS, _THEIRS),
    *_names(_OUR_INNER, _THEIR_INNER),
    ("bert/pooler/dense", "albert/pooler"),
    ("bert/", "albert/"),
    ("cls/predictions/transform/", "predictions/"),
    ("cls/predictions", "predictions"),
    ("cls/seq_relationship", "sop_classifier/classifier"),
    *family.TASKS,
  ),
  parameters=(family.decoder("predictions/decoder/weight"),),
  prefix="albert",
  sentence_logits="sop_logits",
  sentencepiece_options={
    "do_lower_case": True,
    "keep_accents": False,
    "remove_space": True,
  },
  google=family.GoogleLayout(
    checkpoint="model.ckpt-best",
    config_file="albert_config.json",
    names=(
      (_OURS + "attention/output/LayerNorm", _GOOGLES + "LayerNorm"),
      (_OURS + "output/LayerNorm", _GOOGLES + "LayerNorm_1"),
      (_OURS + "attention/", _GOOGLES + "attention_1/"),
      (
        _OURS + "output/dense",
        _GOOGLES + "ffn_1/intermediate/output/dense",
      ),
      (_OURS + "intermediate/dense", _GOOGLES + "ffn_1/intermediate/dense"),
      *family.GOOGLE_CLASSIFIER,
    ),
    # The second is in brightmart/albert_zh.
    marks=("num_hidden_groups", "ln_type"),
    constants={
      "net_structure_type": 0,
      "gap_size": 0,
      "num_memory_blocks": 0,
      "inner_group_num": 1,
      "down_scale_factor": 1,
    },
    # Google's GELU is the form with tanh.
    activations={"gelu": "gelu_new"},
    sentencepiece_file="30k-clean.model",
  ),
  keras_hub=family.KerasHubLayout(
    backbone="AlbertBackbone",
    config_keys=family.KERAS_HUB_KEYS
    | {
      "embedding_size": "embedding_dim",
      "num_hidden_groups": "num_groups",
      "type_vocab_size": "num_segments",
    },
    implied={"hidden_act": "gelu_new"},
    fixed={"num_inner_repetitions": 1},
    names=((_OURS, "group_#_inner_layer_0/"),),
  ),
)
