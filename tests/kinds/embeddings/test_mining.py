"""Hard negatives for encoders, found by another encoder or by themselves."""

import keras
import numpy as np
import pytest

import keras_bert_impl as kb
from keras_bert_impl.kinds.embeddings import embedding_data, mining
from keras_bert_impl.kinds.embeddings.tasks import embedding_options
from tests.kinds.embeddings import small_encoders
from tfrecords import manifest

# Of words that the vocabulary has, all different.
WORDS = "the cat sat on mat cats mats 고양이 고양이가 앉았다".split()
PAIRS = [(f"{a} .", f"{a} {b}") for a, b in zip(WORDS, [*WORDS[3:], *WORDS])]
SETTINGS = {
  "epochs": 3,
  "batch_size": 5,
  "learning_rate": 3e-2,
  "verbose": 0,
  "mining_margin": -10.0,
  "num_negatives": 2,
}


def examples_of(pairs):
  return [
    embedding_data.example(str(k), pair, f"file:{k}")
    for k, pair in enumerate(pairs)
  ]


def dense():
  return kb.SentenceEncoder.from_checkpoint(small_encoders.DATA / "sentences")


@pytest.mark.parametrize("name", small_encoders.CLASSES)
def test_encoders_of_every_kind_find_what_they_search(name):
  encoder = small_encoders.opened(name)
  options = embedding_options.EmbeddingOptions(
    num_negatives=2, mining_margin=-100.0
  )
  found = mining.negatives(encoder, examples_of(PAIRS), options)
  documents = [document for _, document in PAIRS]
  searched = encoder.search([query for query, _ in PAIRS], documents)
  assert len(found) == len(PAIRS)
  for example, hits in zip(found, searched, strict=True):
    positive, *negatives = example.others
    near = [documents[hit["corpus_id"]] for hit in hits]
    assert negatives == [text for text in near if text != positive][:2]


@pytest.mark.integration
def test_mined_negatives_are_trained_on(tmp_path):
  encoder = kb.StaticEncoder.from_checkpoint(small_encoders.DATA / "static")
  history = encoder.fit(PAIRS, mine=dense(), output_dir=tmp_path, **SETTINGS)
  assert len(history.history["loss"]) == 3
  counts = manifest.read(str(tmp_path / "records/train.tf_record"))
  assert counts["num_records"] == 4 * len(PAIRS)
  assert not (tmp_path / "renewed").exists()


@pytest.mark.parametrize(
  "settings, message",
  [
    ({"num_negatives": 2}, r"num_negatives \(2\) needs mine"),
    ({"mine_every": 1}, r"mine_every \(1\) needs mine"),
    ({"mine": 3}, r"mine \(int\) must be an encoder, such as"),
    (
      {"mine": small_encoders.DATA / "late"},
      "makes late vectors: use kb.MultiVectorEncoder",
    ),
  ],
)
def test_wrong_settings_of_mining_are_refused(settings, message):
  with pytest.raises(ValueError, match=message):
    dense().fit(PAIRS, **settings)


@pytest.mark.parametrize(
  "last, what", [("the cat", "negatives"), (1.0, "a score")]
)
def test_negatives_are_found_for_pairs_alone(last, what):
  data = [(*pair, last) for pair in PAIRS]
  with pytest.raises(ValueError, match=rf"data\[0\] has {what} already"):
    dense().fit(data, mine=dense())


class Crash(keras.callbacks.Callback):
  """Ends the process, as it were, after the second epoch."""

  def on_epoch_end(self, epoch, logs=None):
    if epoch == 1:
      raise OSError("crash")


@pytest.mark.integration
def test_an_encoder_finds_its_own_negatives_anew_and_goes_on(tmp_path):
  settings = SETTINGS | {"mine_every": 1}
  encoder = dense()
  encoder.fit(PAIRS, mine=encoder, output_dir=tmp_path / "whole", **settings)
  hashes = {
    manifest.read(str(tmp_path / "whole" / name))["sha256"]
    for name in (
      "records/train.tf_record",
      "renewed/train_1.tf_record",
      "renewed/train_2.tf_record",
    )
  }
  assert len(hashes) > 1  # As it learns, other texts are near.
  once = dense()
  once.fit(PAIRS, mine=once, **SETTINGS)
  text = PAIRS[0][0]
  assert not np.allclose(once.encode(text), encoder.encode(text), atol=1e-4)
  for callbacks in ([Crash()], []):
    again = dense()
    try:
      again.fit(
        PAIRS,
        mine=again,
        output_dir=tmp_path / "killed",
        callbacks=callbacks,
        **settings,
      )
    except OSError as error:
      assert str(error) == "crash"
  np.testing.assert_array_equal(again.encode(text), encoder.encode(text))
  with pytest.raises(ValueError, match="mine_every"):
    dense().fit(PAIRS, mine=dense(), output_dir=tmp_path / "killed", **SETTINGS)
