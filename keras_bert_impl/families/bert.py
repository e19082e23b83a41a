"""BERT: Devlin et al. 2019."""

from keras_bert_impl.families import family

FAMILY = family.Family(name="bert", class_stem="Bert")
