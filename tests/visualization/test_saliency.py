"""Gradient x input against differences of logits."""

import functools

import keras
import numpy as np
import pytest

from keras_bert_impl import heads, kinds, models
from keras_bert_impl.serving import text_row
from keras_bert_impl.visualization import saliency
from tests import architectures
from tests.visualization import toy

_STEP = 1e-2


def of(head):
  return kinds.servables()[head]


def make_row(*texts, head=heads.CLASSIFICATION):
  return text_row.make(
    toy.tokenizer(), list(texts), toy.LENGTH, of(head).reader({})
  )


def by_differences(monkeypatch, model, row, prediction):
  """Returns what a logit gains if the embedding of a token grows, of each."""
  embeddings = model.encoder.embeddings
  length = len(row.tokens)
  # A row that is longer in each place, and one that is shorter.
  steps = _STEP * np.concatenate([np.eye(length), -np.eye(length)])
  embed = embeddings.call

  def embed_scaled(*args, **kwargs):
    hidden, table = embed(*args, **kwargs)
    return hidden * (1 + steps[:, :, None].astype(np.float32)), table

  rows = {k: np.repeat(row.inputs[k], 2 * length, 0) for k in model.input}
  with monkeypatch.context() as patch:
    patch.setattr(embeddings, "call", embed_scaled)
    outputs = np.array(model(rows)[prediction.output])
  longer, shorter = np.split(outputs[(slice(None), *prediction.index)], 2)
  return (longer - shorter) / (2 * _STEP)


MODELS = {
  heads.CLASSIFICATION: lambda config: models.SequenceClassifier(config, 3),
  heads.MULTI_LABEL: lambda config: models.SequenceClassifier(config, 3),
  heads.REGRESSION: lambda config: models.SequenceClassifier(config, 1),
  heads.FILL_MASK: models.MaskedLanguageModel,
  heads.QUESTION_ANSWERING: models.QuestionAnswering,
  heads.TOKEN_CLASSIFICATION: lambda config: models.TokenClassifier(config, 3),
  heads.REPLACED_TOKENS: models.ReplacedTokenDetector,
}
slow = functools.partial(pytest.param, marks=pytest.mark.slow)
# Repeated words, one of them by its other name.
TEXTS = ("the cat [MASK] The dog 고양이", "a cat .")


@pytest.mark.integration
@pytest.mark.parametrize(
  "head, changes",
  [
    (heads.CLASSIFICATION, {"embedding_size": 8}),
    slow(heads.MULTI_LABEL, {}),
    slow(heads.REGRESSION, {"position_offset": 2}),
    slow(heads.FILL_MASK, architectures.MODERNBERT),
    slow(heads.QUESTION_ANSWERING, {}),
    slow(heads.TOKEN_CLASSIFICATION, architectures.DEBERTA),
    slow(heads.REPLACED_TOKENS, {"use_causal_mask": True}),
  ],
)
def test_it_is_what_a_logit_gains_if_an_embedding_grows(
  monkeypatch, head, changes
):
  keras.utils.set_random_seed(1)
  # Smaller weights than elsewhere: differences are nearly gradients then.
  model = MODELS[head](toy.config(initializer_range=0.2, **changes))
  row = make_row(*TEXTS, head=head)
  labels = (
    toy.tokenizer().vocabulary.tokens if head == heads.FILL_MASK else None
  )
  found, reason = saliency.predictions(model, of(head), row, labels)
  assert reason == ""
  values = saliency.saliency(model, row, found)
  assert values.shape == (len(found), len(row.tokens))
  for index in {0, len(found) - 1}:
    expected = by_differences(monkeypatch, model, row, found[index])
    assert np.abs(expected).max() > 1e-3
    np.testing.assert_allclose(values[index], expected, rtol=0.02, atol=2e-4)


def predictions(head, outputs, row, labels=None):
  """Returns the predictions of a model that returns `outputs`."""
  inputs = {"input_ids": keras.Input((None,), dtype="int32", name="input_ids")}

  class Model(keras.Model):
    encoder = None
    input = inputs

    def call(self, inputs):
      return {name: np.array([x], np.float32) for name, x in outputs.items()}

  return saliency.predictions(Model(), of(head), row, labels)[0]


def test_the_likeliest_class_is_named_with_its_probability():
  logits = {"logits": np.log([0.125, 0.75, 0.125])}
  row = make_row("the cat")
  labels = ["부정", "긍정", "중립"]
  [found] = predictions(heads.CLASSIFICATION, logits, row, labels)
  assert found.label == "긍정 (75.0%)" and found.index == (1,)
  [found] = predictions(heads.CLASSIFICATION, logits, row)
  assert found.label == "LABEL_1 (75.0%)"


def test_every_label_that_applies_is_named_or_the_likeliest():
  row = make_row("the cat")
  labels = ["욕설", "차별", "비방"]
  logits = {"logits": np.log([3.0, 0.25, 1.5])}
  found = predictions(heads.MULTI_LABEL, logits, row, labels)
  assert [x.label for x in found] == ["욕설 (75.0%)", "비방 (60.0%)"]
  assert [x.index for x in found] == [(0,), (2,)]
  logits = {"logits": np.log([1 / 9, 0.25, 1 / 4.5])}
  [found] = predictions(heads.MULTI_LABEL, logits, row, labels)
  assert found.label == "차별 (20.0%)"


def test_an_answer_ends_behind_its_start_in_the_context():
  row = make_row("the cat", "a big dog")  # [CLS] the cat [SEP] a big dog [SEP]
  logits = {"start_logits": np.array([9, 9, 9, 9, 0, 2, 1, 9.0])}
  logits["end_logits"] = np.array([9, 9, 9, 9, 5, 1, 2, 9.0])
  start, end = predictions(heads.QUESTION_ANSWERING, logits, row)
  assert start.label == "start of the answer: big" and start.place == 5
  assert end.label == "end of the answer: dog" and end.place == 6


def test_each_mask_has_its_filling():
  row = make_row("[MASK] cat [MASK]", head=heads.FILL_MASK)
  tokens = toy.tokenizer().vocabulary.tokens
  logits = np.zeros((5, len(tokens) + 2))  # A table with rows to spare.
  logits[:, -1] = 50
  logits[1, tokens.index("the")] = logits[3, tokens.index("본다")] = 20
  found = predictions(heads.FILL_MASK, {"token_logits": logits}, row, tokens)
  labels = [(one.label, one.place) for one in found]
  assert labels == [("the (100.0%)", 1), ("본다 (100.0%)", 3)]


def test_one_line_says_why_there_is_none():
  row = make_row("the cat")
  model = models.MaskedLanguageModel(toy.config())
  tokens = toy.tokenizer().vocabulary.tokens
  for head, reason in (
    (heads.ENCODER, "predicts nothing"),
    (heads.MULTIPLE_CHOICE, "several texts"),
    (heads.FILL_MASK, "no mask"),
  ):
    found, told = saliency.predictions(model, of(head), row, tokens)
    assert found == [] and reason in told
  pair = models.BidirectionalLanguageModel(toy.config(**architectures.PAIR))
  found, told = saliency.predictions(pair, of(heads.FILL_MASK), row, tokens)
  assert found == [] and "pair of encoders" in told
