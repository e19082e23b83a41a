"""RoBERTa: Liu et al. 2019."""

from keras_bert_impl.families import family

FAMILY = family.Family(
  name="roberta",
  class_stem="Roberta",
  framing=family.Framing(separators=2, segments=False),
)
