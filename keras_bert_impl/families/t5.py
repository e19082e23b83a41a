"""T5: Raffel et al. 2020. Its encoder, without the decoder.

Norms without bias, no biases, scores that are not scaled, and biases of
attention by distance, which all layers share.

Source: google-research/text-to-text-transfer-transformer.
"""

from keras_bert_impl.families import family

OURS = "bert/encoder/layer_#/"
THEIRS = "transformer/encoder/block/#/layer/"
BIAS = "0/SelfAttention/relative_attention_bias"
IMPLIED = {
  "position_embedding_type": "none",
  "type_vocab_size": 0,
  "norm_first": True,
  "norm_type": "rms_norm",
  "norm_bias": False,
  "embeddings_norm": False,
  "attention_bias": False,
  "mlp_bias": False,
  "inner_dropout": True,
  "scale_scores": False,
  # Texts have no [CLS].
  "pooler_reads": "mean",
}
DEFAULTS = {
  **family.size(6, 512, vocab_size=32128),
  "max_position_embeddings": 512,
  "hidden_act": "relu",
  "layer_norm_eps": 1e-6,
  "relative_attention_num_buckets": 32,
}
HEAD_SIZE = {"attention_head_size": 64}
_GATED = "gated-"
_FORM = "feed_forward_proj"
# Keys that `read` makes of that one.
_PARTS = ("dense_act_fn", "is_gated_act")
NAMES = (
  ("bert/embeddings/word_embeddings", "transformer/shared"),
  ("bert/embeddings/word_embeddings", "transformer/encoder/embed_tokens"),
  ("bert/encoder/LayerNorm", "transformer/encoder/final_layer_norm"),
  (OURS + "attention/self/query", THEIRS + "0/SelfAttention/q"),
  (OURS + "attention/self/key", THEIRS + "0/SelfAttention/k"),
  (OURS + "attention/self/value", THEIRS + "0/SelfAttention/v"),
  (OURS + "attention/output/dense", THEIRS + "0/SelfAttention/o"),
  (OURS + "attention/output/LayerNorm", THEIRS + "0/layer_norm"),
  (OURS + "intermediate/gate", THEIRS + "1/DenseReluDense/wi_0"),
  (OURS + "intermediate/up", THEIRS + "1/DenseReluDense/wi_1"),
  (OURS + "intermediate/dense", THEIRS + "1/DenseReluDense/wi"),
  (OURS + "output/dense", THEIRS + "1/DenseReluDense/wo"),
  (OURS + "output/LayerNorm", THEIRS + "1/layer_norm"),
  *family.TASKS,
)


def read(values, origin):
  """Divides the form of the feed-forward layer in two; see `Family.read`."""
  del origin
  form = values.get(_FORM, "relu")
  act = str(form).removeprefix(_GATED)
  is_gated = act != form
  if form == "gated-gelu":
    act = "gelu_new"
  return values | dict(zip(_PARTS, (act, is_gated), strict=True))


def write(values, config):
  """Joins the form of the feed-forward layer; see `Family.write`."""
  form = config.hidden_act
  if config.gated_feed_forward:
    form = _GATED + ("gelu" if form == "gelu_new" else form)
  return values | {_FORM: form}


FAMILY = family.Family(
  name="t5",
  class_stem="T5",
  presets={
    f"t5_{name}_encoder": DEFAULTS | IMPLIED | family.size(layers, hidden)
    for name, layers, hidden in (
      ("small", 6, 512),
      ("base", 12, 768),
      ("large", 24, 1024),
    )
  },
  config_keys={
    "vocab_size": "vocab_size",
    "hidden_size": "d_model",
    "num_hidden_layers": "num_layers",
    "num_attention_heads": "num_heads",
    "intermediate_size": "d_ff",
    "hidden_act": _PARTS[0],
    "gated_feed_forward": _PARTS[1],
    "hidden_dropout_prob": "dropout_rate",
    "attention_probs_dropout_prob": "dropout_rate",
    "layer_norm_eps": "layer_norm_epsilon",
  }
  | family.same(
    "initializer_range",
    "max_position_embeddings",
    "relative_attention_max_distance",
    "relative_attention_num_buckets",
    "tie_word_embeddings",
  ),
  implied=IMPLIED,
  constants={
    "decoder_start_token_id": 0,
    "eos_token_id": 1,
    "is_decoder": False,
    "is_encoder_decoder": False,
    "pad_token_id": 0,
    "use_cache": False,
  },
  fixed={"is_decoder": False},
  defaults=DEFAULTS | HEAD_SIZE,
  head_size_key="d_kv",
  read=read,
  write=write,
  columns=(family.TWO_GATES,),
  names=(
    (
      "bert/encoder/relative_attention_bias/distance_embeddings",
      THEIRS.replace("#", "0") + BIAS,
    ),
    *NAMES,
  ),
  prefix="transformer",
  encoder_parts=("shared", "encoder"),
  has_pooler=False,
  architectures={
    "encoder": "EncoderModel",
    # Those that there are begin with the whole of T5.
    **dict.fromkeys(
      (
        *("classification", "multi_label", "regression", "multiple_choice"),
        *("fill_mask", "pretraining", "replaced_tokens", "question_answering"),
      )
    ),
  },
  framing=family.Framing(segments=False),
  sentencepiece_options={},
)
