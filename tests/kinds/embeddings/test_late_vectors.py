"""Late interaction as served, beside the model alone."""

import pathlib

import numpy as np
import pytest
import tensorflow as tf

import keras_bert_impl as kb
from tests.serving import test_linked_ops

FOLDER = pathlib.Path(__file__).parents[2] / "data/late"
QUERIES = ["who sat", "고양이가", ""]
DOCUMENTS = ["the cats sat on the mat.", "고양이가 앉았다", "cat , " * 40]


@pytest.mark.integration
def test_an_export_embeds_and_scores_strings(tmp_path):
  encoder = kb.MultiVectorEncoder.from_checkpoint(FOLDER)
  with pytest.raises(ValueError, match="precision is no option of an export"):
    encoder.export(tmp_path, precision="int8")
  version = encoder.export(tmp_path)
  test_linked_ops.check_ops(pathlib.Path(version))
  signatures = tf.saved_model.load(version).signatures
  queries = encoder.encode_query(QUERIES)
  documents = encoder.encode_document(DOCUMENTS)
  answer = signatures["queries"](text=tf.constant(QUERIES))
  np.testing.assert_allclose(answer["embeddings"], queries, atol=1e-5)
  assert answer["mask"].numpy().all()
  answer = {
    name: x.numpy()
    for name, x in signatures["documents"](text=tf.constant(DOCUMENTS)).items()
  }
  assert answer["is_cut"].tolist() == [False, False, True]
  for rows, mask, expected in zip(
    answer["embeddings"], answer["mask"], documents, strict=True
  ):
    np.testing.assert_allclose(rows[mask > 0], expected, atol=1e-5)
    assert not rows[mask == 0].any()
  answer = {
    name: x.numpy()
    for name, x in signatures["serving_default"](
      query=tf.constant(QUERIES), document=tf.constant(DOCUMENTS)
    ).items()
  }
  expected = np.diagonal(encoder.similarity(queries, documents))
  np.testing.assert_allclose(answer["scores"], expected, atol=1e-4)
  for number, pair in enumerate(zip(QUERIES, DOCUMENTS)):
    check_matches(
      {name: x[number] for name, x in answer.items()},
      encoder.highlight(*pair),
    )


def check_matches(row, expected):
  """Checks the places in a document against the words of `highlight`."""
  np.testing.assert_allclose(
    row["similarities"], [match["similarity"] for match in expected], atol=1e-5
  )
  places = zip(row["starts"], row["ends"], expected, strict=True)
  for start, end, match in places:
    if match["start"] is None or match["word_start"] is None:
      assert (start, end) == (-1, -1)
    else:
      assert match["word_start"] <= start < end <= match["word_end"]


def test_markers_that_the_vocabulary_lacks_are_refused():
  encoder = kb.MultiVectorEncoder.from_checkpoint(FOLDER, query_prefix="[X]")
  with pytest.raises(ValueError, match=r"query_prefix \('\[X\]'\) is no token"):
    encoder.servable()
