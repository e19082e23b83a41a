"""T5: Raffel et al. 2020. An encoder, alone or with a decoder.

Norms without bias, no biases, scores that are not scaled, and biases of
attention by distance, which all layers share.

Source: google-research/text-to-text-transfer-transformer.
"""

from keras_bert_impl.families import family

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
  "decoder_transform": False,
  "decoder_bias": False,
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
_DECODER_LAYERS, _SCALES = "num_decoder_layers", "scale_decoder_outputs"


def _names(stack, cross=""):
  """Returns the pairs of names of the weights of a stack of blocks.

  Args:
    stack: str, "encoder" or "decoder".
    cross: str, its name of the half of a block that looks at another text; ""
      where there is none.
  """
  ours = f"bert/{stack}/layer_#/"
  theirs = f"transformer/{stack}/block/#/layer/"
  parts = [("attention", "SelfAttention")]
  parts += [("crossattention", cross)] if cross else []
  pairs = [(f"bert/{stack}/LayerNorm", f"transformer/{stack}/final_layer_norm")]
  for place, (part, name) in enumerate(parts):
    pairs += [
      (f"{ours}{part}/self/{x}", f"{theirs}{place}/{name}/{x[0]}")
      for x in ("query", "key", "value")
    ]
    pairs += [
      (f"{ours}{part}/output/dense", f"{theirs}{place}/{name}/o"),
      (f"{ours}{part}/output/LayerNorm", f"{theirs}{place}/layer_norm"),
    ]
  inner = f"{theirs}{len(parts)}/"
  return (
    *pairs,
    (ours + "intermediate/gate", inner + "DenseReluDense/wi_0"),
    (ours + "intermediate/up", inner + "DenseReluDense/wi_1"),
    (ours + "intermediate/dense", inner + "DenseReluDense/wi"),
    (ours + "output/dense", inner + "DenseReluDense/wo"),
    (ours + "output/LayerNorm", inner + "layer_norm"),
  )


NAMES = (
  ("bert/embeddings/word_embeddings", "transformer/shared"),
  ("bert/embeddings/word_embeddings", "transformer/encoder/embed_tokens"),
  ("bert/embeddings/word_embeddings", "transformer/decoder/embed_tokens"),
  *_names("encoder"),
  *_names("decoder", "EncDecAttention"),
  *family.TASKS,
)


def _names_in_keras_hub(stack):
  """Returns the pairs of names of the layers of a stack in KerasHub."""
  ours, theirs = f"bert/{stack}/layer_#/", f"transformer_{stack}_layer_#/"
  pairs = []
  for part, name in (
    ("attention", "self_attention"),
    ("crossattention", "cross_attention"),
  ):
    pairs += [
      (f"{ours}{part}/self/{x}", f"{theirs}{name}/{x}_projector")
      for x in ("query", "key", "value")
    ]
    pairs += [
      (f"{ours}{part}/output/dense", f"{theirs}{name}/output_projector"),
      (f"{ours}{part}/output/LayerNorm", f"{theirs}{name}_layer_norm"),
    ]
  return (
    *pairs,
    (
      f"bert/{stack}/relative_attention_bias/distance_embeddings",
      f"transformer_{stack}_layer_0/self_attention",
    ),
    (ours + "intermediate/gate", theirs + "input_projector"),
    (ours + "intermediate/up", theirs + "gate_projector"),
    (ours + "output/dense", theirs + "output_projector"),
    (ours + "output/LayerNorm", theirs + "layer_norm"),
    (f"bert/{stack}/LayerNorm", f"{stack}_output_layer_norm"),
  )


def _is_encoder(values):
  """Whether a config.json is of an encoder alone, whatever else it says."""
  [architecture, *_] = values.get("architectures") or [""]
  return str(architecture).endswith(("EncoderModel", "ForTokenClassification"))


def read(values, origin):
  """Divides the form of the feed-forward layer in two; see `Family.read`."""
  del origin
  form = values.get(_FORM, "relu")
  act = str(form).removeprefix(_GATED)
  is_gated = act != form
  values = dict(values)
  if _is_encoder(values):
    values |= {_DECODER_LAYERS: 0, _SCALES: False}
  is_tied = values.get("tie_word_embeddings", True)
  values.setdefault(_DECODER_LAYERS, values.get("num_layers", 6))
  values.setdefault(_SCALES, is_tied and not is_gated)
  if form == "gated-gelu":
    act = "gelu_new"
  return values | dict(zip(_PARTS, (act, is_gated), strict=True))


def write(values, config):
  """Joins the form of the feed-forward layer; see `Family.write`."""
  form = config.hidden_act
  if config.gated_feed_forward:
    form = _GATED + ("gelu" if form == "gelu_new" else form)
  whole = {"is_encoder_decoder": True, "use_cache": True}
  return values | {_FORM: form} | (whole if config.num_decoder_layers else {})


FAMILY = family.Family(
  name="t5",
  class_stem="T5",
  presets={
    f"t5_{name}{ending}": DEFAULTS
    | IMPLIED
    | family.size(layers, hidden)
    | {_DECODER_LAYERS: layers * is_whole, "scale_logits": is_whole}
    for name, layers, hidden in (
      ("small", 6, 512),
      ("base", 12, 768),
      ("large", 24, 1024),
    )
    for ending, is_whole in (("_encoder", False), ("", True))
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
    "scale_logits": _SCALES,
  }
  | family.same(
    "initializer_range",
    "num_decoder_layers",
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
    *(
      (
        f"bert/{stack}/relative_attention_bias/distance_embeddings",
        f"transformer/{stack}/block/0/layer/{BIAS}",
      )
      for stack in ("encoder", "decoder")
    ),
    *NAMES,
  ),
  every_head=("cls/predictions/",),
  parameters=(family.decoder("lm_head/weight"),),
  prefix="transformer",
  bare_heads=("encoder", "text_to_text"),
  encoder_parts=("shared", "encoder", "decoder"),
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
  keras_hub=family.KerasHubLayout(
    backbone="T5Backbone",
    config_keys={
      "vocab_size": "vocabulary_size",
      "hidden_size": "hidden_dim",
      "num_hidden_layers": "num_layers",
      "num_decoder_layers": "num_layers",
      "num_attention_heads": "num_heads",
      "attention_head_size": "key_value_dim",
      "intermediate_size": "intermediate_dim",
      "hidden_act": "activation",
      "gated_feed_forward": "use_gated_activation",
      "hidden_dropout_prob": "dropout",
      "attention_probs_dropout_prob": "dropout",
      "layer_norm_eps": "layer_norm_epsilon",
      "tie_word_embeddings": "tie_embedding_weights",
      "scale_logits": "tie_embedding_weights",
    },
    implied={
      key: DEFAULTS[key]
      for key in ("max_position_embeddings", "relative_attention_num_buckets")
    },
    names=(*_names_in_keras_hub("encoder"), *_names_in_keras_hub("decoder")),
  ),
  framing=family.Framing(segments=False, begin=False),
  sentencepiece_options={},
)
