"""XLNet's heads as they are served: [CLS] stands at the end of a row.

Where a text is alone in its batch, there is no padding: what a batch of several
is answered must be the same.
"""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import configs, kinds, models, tokenizers
from tests import slow
from tests.tokenizers import vocabularies

TEXTS = ["the cat sat", "a dog", "the old house by the river and a tree"]
TEXT, PAIR = {"text": TEXTS}, {"text": TEXTS[::-1], "text_pair": TEXTS}
CHOICES = TEXT | {"choices": [["a", "sat on the mat"]] * 3}
MASKED = {"text": ["<mask> cat", "a <mask> sat <mask> mat", "the dog"]}
# {model: (what makes it, its head, a request, lengths and labels)}.
HEADS = {
  "classification": (
    lambda config: models.SequenceClassifier(config, 2),
    *("classification", TEXT, 40, ("a", "b")),
  ),
  "multiple_choice": (models.MultipleChoice, "multiple_choice", CHOICES, 40),
  "question_answering": (
    models.QuestionAnswering,
    *("question_answering", PAIR, 60, 128, 30),
  ),
  "answer_beam": (models.AnswerBeam, "question_answering", PAIR, 60, 128, 30),
  "token_classification": (
    lambda config: models.TokenClassifier(config, 3),
    *("token_classification", TEXT, 40, ("O", "B-X", "I-X")),
  ),
  "fill_mask": (models.PermutationLanguageModel, "fill_mask", MASKED, 40),
  "encoder": (models.make_encoder, "encoder", TEXT, 40),
}


@pytest.fixture(name="tokenizer", scope="module")
def fixture_tokenizer(tmp_path_factory):
  folder = tmp_path_factory.mktemp("vocabulary")
  path = vocabularies.write_sentencepiece(
    folder,
    vocab_size=110,
    pad_id=-1,
    unk_id=0,
    bos_id=1,
    eos_id=2,
    control_symbols=["<cls>", "<sep>", "<pad>", "<mask>", "<eod>", "<eop>"],
  )
  (folder / "config.json").write_text('{"model_type": "xlnet"}')
  return tokenizers.load(path)


def make(head, tokenizer):
  """Returns the servable of a head."""
  config = configs.EncoderConfig.preset(
    "xlnet_base",
    vocab_size=tokenizer.vocabulary.size,
    hidden_size=16,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=24,
    initializer_range=0.4,
  )
  make_model, name, _, *options = HEADS[head]
  servable_class = kinds.servables()[name]
  return servable_class(make_model(config), tokenizer, *options)


@pytest.mark.parametrize(
  "head", slow.all_but(("fill_mask", "question_answering"), HEADS)
)
def test_a_row_is_answered_the_same_alone_and_among_others(head, tokenizer):
  answer = make(head, tokenizer).answer
  rows = {name: tf.constant(values) for name, values in HEADS[head][2].items()}
  together = answer(**rows)
  for index in range(3):
    alone = answer(**{name: x[index : index + 1] for name, x in rows.items()})
    for name, value in alone.items():
      expected = np.asarray(together[name][index])
      expected = expected[tuple(slice(size) for size in value.shape[1:])]
      if value.dtype.is_floating:
        np.testing.assert_allclose(value[0], expected, atol=1e-5, err_msg=name)
      else:
        np.testing.assert_array_equal(value[0], expected, name)


def test_rows_are_those_of_the_family(tokenizer):
  vocabulary = tokenizer.vocabulary
  assert dataclasses.asdict(tokenizer.framing)["cls_at_end"]
  inputs = tokenizer(["the cat", "a"], ["a dog", "the"])
  ids, mask, segments = (np.asarray(x) for x in inputs.values())
  assert (ids[:, -1] == vocabulary.cls_id).all()
  assert (ids[:, -2] == vocabulary.sep_id).all()
  assert (segments[:, -1] == 2).all() and (segments[:, -2] == 1).all()
  assert (ids[mask == 0] == vocabulary.pad_id).all()
  assert (segments[mask == 0] == 3).all()
  assert mask[1].tolist() == sorted(mask[1].tolist()) != mask[0].tolist()


def test_the_null_answer_is_that_of_cls(tokenizer):
  servable = make("question_answering", tokenizer)
  answer = servable.answer(
    tf.constant(["a dog"]), tf.constant(["the cat sat on the mat"])
  )
  rows = tokenizer(["a dog"], ["the cat sat on the mat"])
  outputs = servable.load_model()(rows)
  expected = outputs["start_logits"][0, -1] + outputs["end_logits"][0, -1]
  np.testing.assert_allclose(answer["null_score"], [expected], atol=1e-5)


def test_vectors_of_tokens_are_those_of_the_encoder(tokenizer):
  servable = make("encoder", tokenizer)
  found = servable.embed_tokens(tf.constant(["the cat sat", "a"]))
  alone = servable.load_model()(tokenizer(["the cat sat"]))
  np.testing.assert_allclose(
    found["embeddings"][0], alone["sequence_output"][0, :-2], atol=1e-5
  )
