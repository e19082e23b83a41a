"""Keras models wired from the layers."""

from keras_bert_impl.models.encoder import TransformerEncoder
from keras_bert_impl.models.pretrainer import PretrainingModel

__all__ = ["PretrainingModel", "TransformerEncoder"]
