"""Descriptions from weights, and what these do not show."""

import dataclasses

import pytest

from keras_bert_impl import heads
from keras_bert_impl.checkpoints.descriptions import description
from keras_bert_impl.checkpoints.naming import names
from tests import architectures

BERT = architectures.tiny(num_hidden_layers=2)


def test_labels_must_be_as_many_as_classes():
  declared = description.Description(BERT, labels=("yes", "no"))
  shapes = {names.CLASSIFIER: (3, 8), names.POOLER: (8, 8)}
  with pytest.raises(ValueError, match="2 labels .* there, .* 3 classes"):
    description.complete(declared, shapes, "there")


def test_a_name_that_comes_twice_loses_no_class():
  names_ = ("pos", "neg", "pos", "pos_2", "pos")
  declared = description.Description(BERT, heads.CLASSIFICATION, labels=names_)
  shapes = {names.CLASSIFIER: (5, 8), names.POOLER: (8, 8)}
  found = description.complete(declared, shapes, "there").labels
  assert found == ("pos", "neg", "pos_2", "pos_2_3", "pos_4")
  # Tags have a meaning, and are told by their place.
  tagger = dataclasses.replace(declared, head=heads.TOKEN_CLASSIFICATION)
  assert description.complete(tagger, shapes, "there").labels == names_


def test_the_weights_show_pooler_and_head():
  declared = description.Description(BERT, heads.FILL_MASK)
  bare = description.complete(declared, {}, "there")
  assert not bare.use_pooler and bare.head == heads.ENCODER
  shapes = {names.CLASSIFIER: (1, 8), names.POOLER: (8, 8)}
  assert description.complete(declared, shapes, "").head == heads.REGRESSION
  several = shapes | {names.CLASSIFIER: (3, 8)}
  assert description.complete(declared, several, "").head == (
    heads.CLASSIFICATION
  )
  choice = description.Description(BERT, heads.MULTIPLE_CHOICE)
  assert description.complete(choice, shapes, "").head == heads.MULTIPLE_CHOICE


def test_what_weights_do_not_show_is_told_apart():
  other = dataclasses.replace(
    BERT, num_attention_heads=4, hidden_dropout_prob=0.3, layer_norm_eps=1e-5
  )
  assert description.differences(BERT, BERT) == []
  assert description.differences(BERT, other) == [
    "num_attention_heads is 2, not 4",
    "layer_norm_eps is 1e-12, not 1e-05",
  ]
