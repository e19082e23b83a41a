"""ELECTRA: Clark et al. 2020."""

from keras_bert_impl.families import family

FAMILY = family.Family(name="electra", class_stem="Electra")
