"""XLNet: Yang et al. 2019. Relative positions, a stream of queries.

Texts stand on the left of [SEP] and [CLS]; segments only tell whether two
tokens have the same one.

Source: zihangdai/xlnet, modeling.py.
"""

from keras_bert_impl.families import family

_OURS = "bert/encoder/layer_#/"
_THEIRS = "transformer/layer/#/"
_SUMMARY = (
  ("bert/pooler/dense", "sequence_summary/summary"),
  ("classifier", "logits_proj"),
)
_ACTIVATIONS = ("tanh", "gelu", "gelu_new", "relu", "silu", "linear")
# Fields of all sizes. No table limits the length; records do.
_SHARED = {
  "max_position_embeddings": 2**15,
  "position_embedding_type": "transformer_xl",
  "type_vocab_size": 4,
}


def read(values, origin):
  """Checks the size of heads; see `Family.read`."""
  size, heads, head_size = (
    values.get(key) for key in ("d_model", "n_head", "d_head")
  )
  # A d_head that is left out fits; the others are checked elsewhere.
  are_known = all(isinstance(x, int) for x in (size, heads, head_size))
  if are_known and size != heads * head_size:
    raise ValueError(
      f"d_head ({head_size!r}) in {origin} must be d_model / n_head "
      f"({size!r} / {heads!r})."
    )
  return values


FAMILY = family.Family(
  name="xlnet",
  class_stem="XLNet",
  presets={
    "xlnet_base": family.size(12, 768, vocab_size=32000, **_SHARED),
    "xlnet_large": family.size(24, 1024, vocab_size=32000, **_SHARED),
  },
  config_keys={
    "vocab_size": "vocab_size",
    "hidden_size": "d_model",
    "num_hidden_layers": "n_layer",
    "num_attention_heads": "n_head",
    "intermediate_size": "d_inner",
    "hidden_act": "ff_activation",
    "hidden_dropout_prob": "dropout",
    "attention_probs_dropout_prob": "dropout",
    "initializer_range": "initializer_range",
    "layer_norm_eps": "layer_norm_eps",
    "use_causal_mask": "attn_type",
    "clamp_len": "clamp_len",
    "same_length": "same_length",
    "bi_data": "bi_data",
    "mem_len": "mem_len",
    "reuse_len": "reuse_len",
    "summary_type": "summary_type",
    "summary_use_proj": "summary_use_proj",
    "pooler_act": "summary_activation",
    "tie_word_embeddings": "tie_word_embeddings",
  },
  implied=_SHARED,
  defaults=family.size(24, 1024, vocab_size=32000) | {"mem_len": 512},
  values={
    "attn_type": {"bi": False, "uni": True},
    "summary_activation": {
      None: "linear",
      **{name: name for name in _ACTIVATIONS},
    },
  },
  constants={
    "bos_token_id": 1,
    "end_n_top": 5,
    "eos_token_id": 2,
    "pad_token_id": 5,
    "start_n_top": 5,
    "summary_last_dropout": 0.1,
  },
  fixed={
    "add_cross_attention": False,
    "is_decoder": False,
    "pruned_heads": {},
    "untie_r": True,
  },
  read=read,
  names=(
    (_OURS + "attention/output/LayerNorm", _THEIRS + "rel_attn/layer_norm"),
    (_OURS + "intermediate/dense", _THEIRS + "ff/layer_1"),
    (_OURS + "output/dense", _THEIRS + "ff/layer_2"),
    (_OURS + "output/LayerNorm", _THEIRS + "ff/layer_norm"),
    ("bert/embeddings/word_embeddings", "transformer/word_embedding"),
    ("cls/predictions", "lm_loss"),
    ("cls/beam/start", "start_logits/dense"),
    ("cls/beam/end", "end_logits"),
    ("cls/beam/answer", "answer_class"),
    *family.TASKS,
    *_SUMMARY[:1],
  ),
  head_names=dict.fromkeys((*family.CLASSIFIERS, "multiple_choice"), _SUMMARY),
  parameters=(
    (_OURS + "attention/self/query", _THEIRS + "rel_attn/q"),
    (_OURS + "attention/self/key", _THEIRS + "rel_attn/k"),
    (_OURS + "attention/self/value", _THEIRS + "rel_attn/v"),
    (_OURS + "attention/self/distance", _THEIRS + "rel_attn/r"),
    (_OURS + "attention/self/content_bias", _THEIRS + "rel_attn/r_w_bias"),
    (_OURS + "attention/self/distance_bias", _THEIRS + "rel_attn/r_r_bias"),
    (_OURS + "attention/self/segment_bias", _THEIRS + "rel_attn/r_s_bias"),
    (_OURS + "attention/self/segments", _THEIRS + "rel_attn/seg_embed"),
    (_OURS + "attention/self/output", _THEIRS + "rel_attn/o"),
    ("bert/embeddings/mask_embedding", "transformer/mask_emb"),
    ("cls/beam/answer_weights", "answer_class/dense_1/weight"),
    family.decoder("lm_loss/weight"),
  ),
  prefix="transformer",
  encoder_parts=("layer", "mask_emb", "word_embedding"),
  has_pooler=False,
  causal_class="LMHeadModel",
  architectures={
    "fill_mask": "LMHeadModel",
    "question_answering": "ForQuestionAnsweringSimple",
    "answer_beam": "ForQuestionAnswering",
  },
  framing=family.Framing(cls_at_end=True),
  sentencepiece_options={
    "do_lower_case": False,
    "keep_accents": False,
    "remove_space": True,
  },
)
