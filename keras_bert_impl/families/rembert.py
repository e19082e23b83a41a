"""RemBERT: Chung et al. 2021. Narrow input embeddings, wide output ones."""

import dataclasses

from keras_bert_impl.families import bert, family

_DEFAULTS = family.size(32, 1152, vocab_size=250300) | {
  "embedding_size": 256,
  "output_embedding_size": 1664,
  "hidden_dropout_prob": 0.0,
  "attention_probs_dropout_prob": 0.0,
  "tie_word_embeddings": False,
}

FAMILY = dataclasses.replace(
  bert.FAMILY,
  name="rembert",
  class_stem="RemBert",
  presets={"rembert": _DEFAULTS},
  config_keys=family.CONFIG_KEYS
  | {
    "embedding_size": "input_embedding_size",
    "output_embedding_size": "output_embedding_size",
  },
  constants={"bos_token_id": 312, "eos_token_id": 313, "pad_token_id": 0},
  defaults=_DEFAULTS,
  names=(
    ("bert/encoder/layer_#/", "rembert/encoder/layer/#/"),
    ("bert/", "rembert/"),
    ("cls/predictions/transform/", "cls/predictions/"),
    ("cls/predictions", "cls/predictions"),
    *family.TASKS,
  ),
  parameters=(
    family.decoder("cls/predictions/decoder/weight"),
    ("cls/predictions/output_bias", "cls/predictions/decoder/bias"),
  ),
  prefix="rembert",
  architectures=family.MASKED_WORDS_ALONE,
  causal_class="ForCausalLM",
  google=None,
  keras_hub=None,
  sentencepiece_file="sentencepiece.model",
  sentencepiece_options={
    "do_lower_case": False,
    "keep_accents": True,
    "remove_space": True,
  },
)
