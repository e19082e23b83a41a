"""ELECTRA: Clark et al. 2020. A discriminator, and the generator beside it.

Source: google-research/electra, modeling.py and run_pretraining.py.
"""

from keras_bert_impl.families import family


def _size(num_hidden_layers, hidden_size, embedding_size):
  """Clark et al. 2020, table 6."""
  return family.size(
    num_hidden_layers,
    hidden_size,
    vocab_size=30522,
    embedding_size=embedding_size,
    pooler_act="gelu",
  )


FAMILY = family.Family(
  name="electra",
  class_stem="Electra",
  presets={
    "electra_small": _size(12, 256, embedding_size=128),
    "electra_base": _size(12, 768, embedding_size=768),
    "electra_large": _size(24, 1024, embedding_size=1024),
    # Beside them: 1/4, 1/3 and 1/4 of the width.
    "electra_small_generator": _size(12, 64, embedding_size=128),
    "electra_base_generator": _size(12, 256, embedding_size=768),
    "electra_large_generator": _size(24, 256, embedding_size=1024),
  },
  config_keys=family.CONFIG_KEYS | {"embedding_size": "embedding_size"},
  defaults=_size(12, 256, embedding_size=128),
  # The pooler is the classifier's in `transformers`; the paper has none.
  implied={"pooler_act": "gelu"},
  constants={
    "pad_token_id": 0,
    "summary_activation": "gelu",
    "summary_last_dropout": 0.1,
    "summary_type": "first",
    "summary_use_proj": True,
    "use_cache": True,
  },
  fixed=family.FIXED
  | {
    "summary_activation": "gelu",
    "summary_type": "first",
    "summary_use_proj": True,
  },
  names=(
    (
      "bert/encoder/embedding_hidden_mapping_in",
      "electra/embeddings_project",
    ),
    ("bert/encoder/layer_#/", "electra/encoder/layer/#/"),
    ("bert/pooler/dense", "sequence_summary/summary"),
    ("bert/", "electra/"),
    ("cls/predictions/transform/", "generator_predictions/"),
    ("cls/predictions", "generator_lm_head"),
    (
      "discriminator_predictions/dense_1",
      "discriminator_predictions/dense_prediction",
    ),
    ("discriminator_predictions/", "discriminator_predictions/"),
    *family.TASKS,
  ),
  head_names=family.DENSE_CLASSIFIER,
  prefix="electra",
  encoder_parts=("embeddings", "encoder", "embeddings_project"),
  parameters=(family.decoder("generator_lm_head/weight"),),
  has_pooler=False,
  google=family.GoogleLayout(
    checkpoint="electra_model.ckpt",
    names=(
      (
        "generator/encoder/embedding_hidden_mapping_in",
        "generator/embeddings_project",
      ),
      (
        "bert/encoder/embedding_hidden_mapping_in",
        "electra/embeddings_project",
      ),
      ("bert/", "electra/"),
      ("cls/predictions/output_bias", "generator_predictions/output_bias"),
      ("cls/predictions/transform/", "generator_predictions/"),
      *family.GOOGLE_CLASSIFIER,
    ),
    # The original code has no such file; these fields are for ours.
    own_fields=("model_type", "pooler_act"),
    has_state_file=True,
    only_weights=("discriminator_predictions/", "generator/"),
  ),
  keras_hub=family.KerasHubLayout(
    backbone="ElectraBackbone",
    config_keys=family.KERAS_HUB_KEYS
    | {
      "vocab_size": "vocab_size",
      "embedding_size": "embedding_dim",
      "type_vocab_size": "num_segments",
    },
    implied={"hidden_act": "gelu_new", "pooler_act": "tanh"},
  ),
)
