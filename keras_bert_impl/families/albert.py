"""ALBERT: Lan et al. 2020."""

from keras_bert_impl.families import family

FAMILY = family.Family(name="albert", class_stem="Albert")
