"""Families of models: one file each, one line here.

Attributes:
  FAMILIES: {`model_type` of a config.json: `family.Family`}.
  DEFAULT: the one where nothing says another.
"""

from keras_bert_impl.families import albert, bert, electra, roberta

FAMILIES = {
  family.name: family
  for family in (
    bert.FAMILY,
    roberta.FAMILY,
    albert.FAMILY,
    electra.FAMILY,
  )
}
DEFAULT = bert.FAMILY.name
