"""Every head of every family, from every file that is written here.

The names in safetensors were compared by hand with those of 56 models of
transformers 5.23, one for each family and head.
"""

import dataclasses
import pathlib

import numpy as np
import pytest

from keras_bert_impl import heads, models
from keras_bert_impl.checkpoints import reading, writing
from keras_bert_impl.checkpoints.descriptions import description
from keras_bert_impl.checkpoints.naming import mappings, names
from keras_bert_impl.models import checkpoint_loading
from tests import slow

PARITY = pathlib.Path(__file__).parents[1] / "data/parity"
CONFIGS = {
  name.rpartition("_")[0].removesuffix("_masked"): dataclasses.replace(
    reading.open_checkpoint(PARITY / name).description.config,
    num_hidden_layers=1,
  )
  for name in (
    "bert_classifier",
    "roberta_masked_lm",
    "albert_pretraining",
    "electra_discriminator",
    "distilbert_masked_lm",
    "xlm_roberta_masked_lm",
    "camembert_masked_lm",
    "mpnet_masked_lm",
    "xlnet_classifier",
    "deberta_masked_lm",
    "deberta_v2_classifier",
    "modernbert_classifier",
    "nomic_bert_encoder",
    "gte_encoder",
    "eurobert_classifier",
    "jina_embeddings_v3_classifier",
    "t5_encoder",
    "umt5_encoder",
    "modernbert_decoder_classifier",
    "ernie_encoder",
    "rembert_masked_lm",
    "longformer_masked_lm",
    "roformer_classifier",
    "bart_classifier",
  )
}
NUM_CLASSES = {
  heads.CLASSIFICATION: 3,
  heads.MULTI_LABEL: 3,
  heads.TOKEN_CLASSIFICATION: 3,
}
COMMON = (
  *heads.CLASSIFIERS,
  heads.QUESTION_ANSWERING,
  heads.FILL_MASK,
  heads.ENCODER,
)
HEADS = {
  "bert": (*COMMON, heads.PRETRAINING),
  "albert": (*COMMON, heads.PRETRAINING),
  "electra": (*COMMON, heads.REPLACED_TOKENS),
  "xlnet": (*COMMON, heads.ANSWER_BEAM),
  # Those that read its decoder too.
  "bart": (heads.CLASSIFICATION, heads.MULTI_LABEL, heads.REGRESSION),
  # The others begin with the whole of T5 in transformers.
  **dict.fromkeys(("t5", "umt5"), (heads.TOKEN_CLASSIFICATION, heads.ENCODER)),
}
# Every head of one family, and two heads of each family.
OWN = {
  "electra": heads.REPLACED_TOKENS,
  "xlnet": heads.ANSWER_BEAM,
  **dict.fromkeys(("roberta", "bart"), heads.MULTI_LABEL),
  **dict.fromkeys(("t5", "umt5"), heads.TOKEN_CLASSIFICATION),
}
CASES = [
  (form, family, head)
  for form, families in (
    ("safetensors", CONFIGS),
    ("google", ("bert", "albert", "electra")),
    ("keras", ("bert", "xlnet", "deberta", "modernbert")),
  )
  for family in families
  for head in HEADS.get(family, COMMON)
  if family == "bert"
  or head in (heads.CLASSIFICATION, heads.FILL_MASK, OWN.get(family))
]


def _is_quick(form, family, head):
  """Whether every run has this case: the other forms of one head a family."""
  return form == "safetensors" or head == OWN.get(family, heads.FILL_MASK)


def build(config, head):
  """Returns (model with fresh weights, its `Description`)."""
  rows = NUM_CLASSES.get(head, 1)
  labels = description.default_labels(rows) if rows > 1 else None
  # A bare DistilBERT or a bare ELECTRA has no pooler in transformers.
  described = description.Description(
    config, head, labels, use_pooler=config.family.has_pooler
  )
  shapes = {names.CLASSIFIER: (rows, config.hidden_size)}
  return checkpoint_loading.build(described, shapes), described


def write(form, folder, model, described):
  """Writes a model; returns the names of what has no place."""
  tensors = mappings.Arrays({weight.path: weight for weight in model.weights})
  if form == "safetensors":
    return writing.write_safetensors(folder, tensors, described, 10**9)
  if form == "google":
    return writing.write_google(folder, tensors, described)
  model.save(f"{folder}/model.keras")
  writing.write_labels(folder, described)
  return []


@pytest.mark.parametrize(
  "case",
  slow.all_but([case for case in CASES if _is_quick(*case)], CASES),
  ids="-".join,
)
def test_it_opens_with_the_same_weights(case, tmp_path):
  form, family, head = case
  model, described = build(CONFIGS[family], head)
  assert write(form, str(tmp_path), model, described) == []
  with_head = head != heads.ENCODER
  again = models.from_checkpoint(tmp_path, heads=with_head)
  assert type(again) is type(model)
  assert again.config == model.config
  assert again.output.keys() == model.output.keys()
  for weight, same in zip(model.weights, again.weights, strict=True):
    assert weight.path == same.path
    np.testing.assert_array_equal(weight, same)


def test_a_head_that_transformers_has_not_is_not_written(tmp_path):
  model, described = build(CONFIGS["deberta"], heads.MULTIPLE_CHOICE)
  with pytest.raises(ValueError, match="no model of Deberta with the head"):
    write("safetensors", str(tmp_path), model, described)
