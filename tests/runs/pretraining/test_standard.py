"""Standard scores: one text, one draw, and bytes that compare vocabularies."""

import types

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import configs, tokenizers
from keras_bert_impl.runs.pretraining import standard
from keras_bert_impl.tasks import objectives
from keras_bert_impl.tasks.basics import pretraining
from keras_bert_impl.tasks.masking import masking
from tests import architectures
from tests.tokenizers import vocabularies

TEXTS = ["The café's  cat\tsat 1987, 한국어\n中😀. " * 20, "hello\u00a0world"]
LENGTH, NUM_ROWS = 16, 6
VOCABULARY = tokenizers.Vocabulary(
  ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmno")
)


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
  """{kind of a vocabulary: a tokenizer}."""
  folders = {k: tmp_path_factory.mktemp(k) for k in vocabularies.WRITERS}
  return {
    kind: tokenizers.load(write(folders[kind]))
    for kind, write in vocabularies.WRITERS.items()
  }


def test_bytes_are_those_of_the_raw_text_without_white_space(loaded):
  text = "".join(TEXTS)
  size = len("".join(text.split()).encode("utf-8"))
  rows = {k: standard.make_rows(t, TEXTS, 3) for k, t in loaded.items()}
  assert rows["byte_bpe"].num_bytes.sum() == size
  # An unknown word covers none.
  known = size - 20 * len("한국어".encode())
  assert rows["wordpiece"].num_bytes.sum() == known


def test_the_draw_depends_on_the_place_in_the_text_alone(loaded):
  drawn = {}
  for kind, tokenizer in loaded.items():
    starts = tokenizer.tokenize_with_offsets(TEXTS[0])[1].numpy()
    for length in (3, LENGTH):
      rows = standard.make_rows(tokenizer, TEXTS[:1], length)
      assert (rows.ids[:, 0] == tokenizer.vocabulary.cls_id).all()
      assert (rows.ids[:, -1] == tokenizer.vocabulary.sep_id).all()
      is_masked = rows.is_masked[:, 1:-1].ravel()
      for start, value in zip(starts, is_masked):
        assert drawn.setdefault(start, value) == value, (kind, length)
  assert 0.1 < np.mean([*drawn.values()]) < 0.2


def test_a_long_text_is_sampled_and_a_short_one_read_whole(tmp_path):
  documents = [
    [f"Sentence {k} of document {n}." for k in range(50)] for n in range(800)
  ]
  texts = "\n\n".join(map("\n".join, documents))
  (tmp_path / "long.txt").write_text(texts)
  (tmp_path / "short.txt").write_text(
    "\n\n".join(map("\n".join, documents[:9]))
  )
  passages = standard.read_passages([str(tmp_path / "long.txt")])
  assert len(passages) == 32
  assert 250_000 < sum(map(len, passages)) < 270_000 < len(texts)
  assert "of document 7" in passages[-1]
  [*whole] = standard.read_passages([str(tmp_path / "short.txt")])
  assert " ".join(whole) == " ".join(sum(documents[:9], []))


def rows_of(seed=0):
  """Returns `Rows` of random tokens."""
  random = np.random.default_rng(seed)
  ids = random.integers(5, VOCABULARY.size, (NUM_ROWS, LENGTH), np.int32)
  ids[:, 0], ids[:, -1] = VOCABULARY.cls_id, VOCABULARY.sep_id
  is_masked = np.random.default_rng(1).random(ids.shape) < 0.3
  is_masked[:, [0, -1]] = False
  return standard.Rows(ids, is_masked, 2 + 0 * ids, VOCABULARY)


FIELDS = {
  "bert": {},
  "roberta": {},
  "modernbert": architectures.MODERNBERT,
  "spanbert": {},
  "electra": {},
  "xlnet": architectures.XLNET,
  "left_to_right": {"use_causal_mask": True},
  "right_to_left": architectures.RIGHT_TO_LEFT,
  "bidirectional_pair": architectures.PAIR,
}


def task_of(name):
  sizes = architectures.SMALL | {"vocab_size": VOCABULARY.size}
  config = configs.EncoderConfig(**sizes | FIELDS[name])
  data = pretraining.PretrainingData(
    LENGTH, masking.Masking(VOCABULARY, LENGTH), is_packed=name == "spanbert"
  )
  return objectives.OBJECTIVES[name].task(config, data)


def evaluate(name, *list_of_rows):
  """Yields (scores, token_logits [R, P, V]) of a new model of an objective."""
  task = task_of(name)
  model, logits = task.build_model(), []

  def predict(batches):
    for batch in batches:
      outputs = model({x.name: batch[x.name] for x in model.inputs})
      logits.append(outputs["token_logits"].numpy())
      yield outputs

  experiment = types.SimpleNamespace(
    task=task, strategy=tf.distribute.get_strategy(), predict=predict
  )
  for rows in list_of_rows:
    scores = standard.evaluate(experiment, rows, 4)
    found = np.concatenate(logits)[:NUM_ROWS]
    logits.clear()
    yield scores, found


def bits_of(logits, labels):
  """Returns the mean of -log2 of a softmax, the plain way."""
  probs = np.exp(logits.astype("float64"))
  probs /= probs.sum(axis=-1, keepdims=True)
  return -np.log2(probs[np.arange(len(labels)), labels]).mean()


def test_the_draw_is_the_same_for_all_objectives_that_mask():
  ids, is_masked, *_ = rows_of()
  mask_id = VOCABULARY.mask_id
  bert, *others = (
    task_of(name).hide(ids, is_masked, mask_id)
    for name in ("bert", "roberta", "modernbert")
  )
  np.testing.assert_array_equal(bert["input_ids"] == mask_id, is_masked)
  for other in others:
    for name in bert:
      np.testing.assert_array_equal(other[name], bert[name], name)


@pytest.mark.parametrize("name", ["bert", "spanbert", "electra", "xlnet"])
def test_no_model_sees_the_tokens_that_it_is_to_predict(name):
  rows = rows_of()
  other = np.where(rows.is_masked, rows_of(2).ids, rows.ids)
  (scores, logits), (others, same) = evaluate(
    name, rows, rows._replace(ids=other)
  )
  is_label = np.arange(logits.shape[1]) < rows.is_masked.sum(1, keepdims=True)
  np.testing.assert_allclose(logits[is_label], same[is_label], atol=1e-5)
  for found, ids in ((scores, rows.ids), (others, other)):
    bits = bits_of(logits[is_label], ids[rows.is_masked])
    assert found["bits_per_token"] == pytest.approx(bits, abs=1e-5)
    assert found["bits_per_byte"] == pytest.approx(bits / 2, abs=1e-5)
    assert found["num_tokens"] == rows.is_masked.sum()
  assert scores.get("predicted_by") == {"electra": "generator"}.get(name)


@pytest.mark.parametrize(
  ("name", "side"),
  [("left_to_right", 1), ("right_to_left", -1), ("bidirectional_pair", 1)],
)
def test_language_models_predict_all_tokens_of_the_text(name, side):
  rows = rows_of()
  [(scores, logits)] = evaluate(name, rows)
  # The first or last token is predicted from [CLS] or [SEP] alone.
  first = 0 if side == 1 else 1
  shown = logits[:, first : first + LENGTH - 2].reshape(-1, VOCABULARY.size)
  start = "next_token_" if side == 1 else "previous_token_"
  bits = bits_of(shown, rows.ids[:, 1:-1].ravel())
  assert scores[start + "bits_per_token"] == pytest.approx(bits, abs=1e-5)
  low, high, _ = scores["intervals"][start + "bits_per_byte"].values()
  assert low < scores[start + "bits_per_byte"] < high
  assert scores["num_bytes"] == 2 * NUM_ROWS * (LENGTH - 2)
