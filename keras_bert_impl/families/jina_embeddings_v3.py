"""Jina embeddings 3: Sturua et al. 2024. XLM-RoBERTa with rotary positions.

Files of jinaai/xlm-roberta-flash-implementation are read too, which hold
adapters of rank 4 for tasks: a [tasks, 4, in] and b [tasks, out, 4] of each
dense layer, a [tasks, rows, 4] and b [tasks, 4, columns] of each table.

Source: that code, and its form in transformers.
"""

import dataclasses

from keras_bert_impl.families import family, roberta, rope, xlm_roberta

_OURS = "bert/encoder/layer_#/"
_THEIRS = "roberta/encoder/layers/#/"
_MODULES = "roberta/layers/#/"
_BASE = 20000.0
_IMPLIED = {"position_embedding_type": "rotary"}
_DEFAULTS = {
  "vocab_size": 250002,
  "max_position_embeddings": 8194,
  "type_vocab_size": 1,
  "layer_norm_eps": 1e-5,
  "rotary_base": _BASE,
}
_BASE_KEY, _TASKS_KEY = "rotary_emb_base", "lora_adaptations"
# What else says which code computes it, and what of the file it makes.
_OF_HUB = (
  *("auto_map", "load_trained_adapters", "lora_alpha", "lora_dropout_p"),
  *("lora_main_params_trainable", "lora_rank", "position_embedding_type"),
  *("task_instructions", "use_flash_attn", _BASE_KEY, _TASKS_KEY),
)


def read(values, origin):
  """Returns a config.json with the keys of transformers; see `Family.read`."""
  return rope.read(values, origin, values.get(_BASE_KEY, _BASE))


def write(values, config):
  """Returns a config.json as transformers has it; see `Family.write`."""
  kept = {key: values[key] for key in values if key not in _OF_HUB}
  return rope.write(kept, config)


FAMILY = dataclasses.replace(
  xlm_roberta.FAMILY,
  name="jina_embeddings_v3",
  marks={"model_type": "xlm-roberta", "position_embedding_type": "rotary"},
  tasks_key=_TASKS_KEY,
  class_stem="JinaEmbeddingsV3",
  presets={
    "jina_embeddings_v3": family.size(24, 1024, **_IMPLIED, **_DEFAULTS)
  },
  constants=roberta.FAMILY.constants | {"pad_token_id": 1},
  config_keys=family.CONFIG_KEYS | rope.KEYS,
  implied=_IMPLIED,
  fixed={"pruned_heads": {}},
  defaults=_DEFAULTS | family.size(24, 1024),
  read=read,
  write=write,
  columns=(family.FUSED_PROJECTIONS,),
  names=(
    ("bert/embeddings/LayerNorm", "roberta/emb_ln"),
    (_OURS + "attention/self/in_proj", _THEIRS + "mixer/Wqkv"),
    (_OURS + "attention/output/dense", _THEIRS + "mixer/out_proj"),
    (_OURS + "attention/output/LayerNorm", _THEIRS + "norm1"),
    (_OURS + "intermediate/dense", _THEIRS + "mlp/fc1"),
    (_OURS + "output/dense", _THEIRS + "mlp/fc2"),
    (_OURS + "output/LayerNorm", _THEIRS + "norm2"),
    # Of the modules, as peft stores adapters.
    *(
      (f"{_OURS}attention/self/{x}", f"{_MODULES}self_attn/{x[0]}_proj")
      for x in ("query", "key", "value")
    ),
    (_OURS + "attention/output/dense", _MODULES + "self_attn/o_proj"),
    (_OURS + "intermediate/dense", _MODULES + "mlp/fc1"),
    (_OURS + "output/dense", _MODULES + "mlp/fc2"),
    *roberta.FAMILY.names,
  ),
  architectures=family.MASKED_WORDS_ALONE | {"multiple_choice": None},
  encoder_parts=("emb_ln", "layers", *roberta.FAMILY.encoder_parts),
  keras_hub=None,
)
