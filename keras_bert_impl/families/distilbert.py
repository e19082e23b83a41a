"""DistilBERT: Sanh et al. 2019. BERT with half of its layers, no segments.

In `transformers`, the sequence classifier has another dense layer before it,
with ReLU: our pooler.
"""

from keras_bert_impl.families import family

_OURS = "bert/encoder/layer_#/"
_THEIRS = "distilbert/transformer/layer/#/"
_IMPLIED = {"type_vocab_size": 0, "pooler_act": "relu"}

FAMILY = family.Family(
  name="distilbert",
  class_stem="DistilBert",
  presets={
    "distilbert_base": family.size(6, 768, vocab_size=30522, **_IMPLIED)
  },
  config_keys={
    "vocab_size": "vocab_size",
    "hidden_size": "dim",
    "num_hidden_layers": "n_layers",
    "num_attention_heads": "n_heads",
    "intermediate_size": "hidden_dim",
    "max_position_embeddings": "max_position_embeddings",
    "hidden_act": "activation",
    "hidden_dropout_prob": "dropout",
    "attention_probs_dropout_prob": "attention_dropout",
    **family.same("initializer_range", "tie_word_embeddings"),
  },
  implied=_IMPLIED,
  defaults=family.BERT_DEFAULTS | {"num_hidden_layers": 6},
  constants={
    "pad_token_id": 0,
    "qa_dropout": 0.1,
    "seq_classif_dropout": 0.2,
    "sinusoidal_pos_embds": False,
  },
  names=(
    ("bert/embeddings/", "distilbert/embeddings/"),
    (_OURS + "attention/self/query", _THEIRS + "attention/q_lin"),
    (_OURS + "attention/self/key", _THEIRS + "attention/k_lin"),
    (_OURS + "attention/self/value", _THEIRS + "attention/v_lin"),
    (_OURS + "attention/output/dense", _THEIRS + "attention/out_lin"),
    (_OURS + "attention/output/LayerNorm", _THEIRS + "sa_layer_norm"),
    (_OURS + "intermediate/dense", _THEIRS + "ffn/lin1"),
    (_OURS + "output/dense", _THEIRS + "ffn/lin2"),
    (_OURS + "output/LayerNorm", _THEIRS + "output_layer_norm"),
    ("bert/pooler/dense", "pre_classifier"),
    ("cls/predictions/transform/dense", "vocab_transform"),
    ("cls/predictions/transform/LayerNorm", "vocab_layer_norm"),
    ("cls/predictions", "vocab_projector"),
    *family.TASKS,
  ),
  prefix="distilbert",
  encoder_parts=("embeddings", "transformer"),
  parameters=(family.decoder("vocab_projector/weight"),),
  has_pooler=False,
  keras_hub=family.KerasHubLayout(backbone="DistilBertBackbone"),
  framing=family.Framing(segments=False),
)
