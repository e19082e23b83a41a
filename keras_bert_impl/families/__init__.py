"""Families of models: one file each, one line here.

Attributes:
  FAMILIES: {`model_type` of a config.json: `family.Family`}.
  DEFAULT: the name of the family to assume if no file names one.
"""

from keras_bert_impl.families import (
  albert,
  bart,
  bert,
  camembert,
  deberta,
  deberta_v2,
  distilbert,
  electra,
  ernie,
  eurobert,
  gpt2,
  gte,
  jina_embeddings_v3,
  longformer,
  marian,
  mbart,
  modernbert,
  modernbert_decoder,
  mpnet,
  mt5,
  nomic_bert,
  rembert,
  roberta,
  roformer,
  t5,
  umt5,
  xlm_roberta,
  xlnet,
)

FAMILIES = {
  module.FAMILY.name: module.FAMILY
  for module in (
    bert,
    roberta,
    albert,
    electra,
    distilbert,
    xlm_roberta,
    camembert,
    mpnet,
    xlnet,
    deberta,
    deberta_v2,
    modernbert,
    nomic_bert,
    gte,
    eurobert,
    t5,
    mt5,
    umt5,
    modernbert_decoder,
    jina_embeddings_v3,
    ernie,
    rembert,
    roformer,
    gpt2,
    bart,
    mbart,
    longformer,
    marian,
  )
}
DEFAULT = bert.FAMILY.name
