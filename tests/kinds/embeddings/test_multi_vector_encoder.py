"""Late interaction beside PyLate."""

import json
import pathlib
import shutil

import numpy as np
import pytest
import tensorflow as tf

import keras_bert_impl as kb
from keras_bert_impl.kinds import opening
from keras_bert_impl.model_folders import model_files

# Made by `make_late_fixture.py`.
FOLDER = pathlib.Path(__file__).parents[2] / "data/late"
EXPECTED = dict(np.load(FOLDER / "expected.npz"))
TEXTS = EXPECTED["texts"].tolist()
PAIRS = [(a, f"{a} on mat") for a in ("the cat", "cats sat", "고양이", "mat .")]
SETTINGS = "config_sentence_transformers.json"


@pytest.fixture(scope="module")
def encoder():
  return kb.MultiVectorEncoder.from_checkpoint(FOLDER)


def change(folder, name, **values):
  """Copies the folder, with other values in one of its files."""
  shutil.copytree(FOLDER, folder)
  path = folder / name
  path.write_text(json.dumps(json.loads(path.read_text()) | values))
  return folder


@pytest.mark.integration
@pytest.mark.parametrize("attend", [False, True])
def test_the_vectors_and_scores_are_those_of_pylate(attend):
  encoder = kb.MultiVectorEncoder.from_checkpoint(
    FOLDER, attend_to_expansion_tokens=attend
  )
  queries = encoder.encode_query(TEXTS, batch_size=2)
  expected = EXPECTED[f"queries_{attend}"]
  np.testing.assert_allclose(np.stack(queries), expected, atol=1e-5)
  documents = encoder.encode_document(TEXTS, batch_size=2)
  lengths = [len(rows) for rows in documents]
  assert lengths == EXPECTED[f"lengths_{attend}"].tolist()
  expected = EXPECTED[f"documents_{attend}"]
  np.testing.assert_allclose(np.concatenate(documents), expected, atol=1e-5)
  np.testing.assert_allclose(
    encoder.similarity(queries, documents),
    EXPECTED[f"scores_{attend}"],
    atol=1e-4,
  )


@pytest.mark.integration
def test_without_expansion_a_query_has_its_own_tokens_alone():
  encoder = kb.MultiVectorEncoder.from_checkpoint(
    FOLDER, do_query_expansion=False, query_prefix=""
  )
  # [CLS] who sat ? [SEP], and nothing of a query is skipped.
  assert [len(x) for x in encoder.encode_query(["who sat .", ""])] == [5, 2]
  assert len(encoder.encode_document("who sat .")) == 5  # with [D]


def test_documents_are_ranked_by_maxsim(encoder):
  ranked = encoder.rank("who sat", TEXTS, top_k=3)
  [scores] = encoder.similarity(
    encoder.encode_query("who sat"), encoder.encode_document(TEXTS)
  )
  order = np.argsort(-scores)[:3]
  assert [each["index"] for each in ranked] == order.tolist()
  assert [each["score"] for each in ranked] == scores[order].tolist()


@pytest.mark.parametrize(
  "query, document", [("Who sat?", TEXTS[1]), ("고양이가 앉았다", TEXTS[3])]
)
def test_a_match_names_the_words_and_sums_up_to_the_score(
  encoder, query, document
):
  found = encoder.highlight(query, document)
  vectors = encoder.encode_query(query), encoder.encode_document(document)
  assert len(found) == 10
  assert sum(each["similarity"] for each in found) == pytest.approx(
    encoder.similarity(*vectors).item(), 1e-5
  )
  words = set()
  for each in found:
    for text, name in ((query, ""), (document, "word_")):
      start, end = each[f"{name}start"], each[f"{name}end"]
      if start is not None:
        assert text[start:end] == each["word" if name else "token"]
    words.add(each["word"])
  # Whole words, whatever their pieces, or what stands around a text.
  whole = {"The", "CATS", "sat", "on", "the", "mat", "고양이가", "앉았다"}
  assert words <= whole | {"[CLS]", "[D] ", "[SEP]"} and words & whole
  in_query = [each["token"] for each in found if each["start"] is not None]
  pieces = ["고양이", "가", "앉", "았다"]
  assert in_query == (["Who", "sat", "?"] if "W" in query else pieces)


def test_what_is_saved_is_the_same_folder(encoder, tmp_path):
  encoder.save(tmp_path / "saved")
  again = kb.MultiVectorEncoder.from_checkpoint(tmp_path / "saved")
  assert again.texts == encoder.texts
  for a, b in zip(
    again.encode_document(TEXTS), encoder.encode_document(TEXTS), strict=True
  ):
    np.testing.assert_array_equal(a, b)
  for name in ("modules.json", SETTINGS, "1_Dense/config.json"):
    ours, theirs = (
      json.loads((folder / name).read_text())
      for folder in (tmp_path / "saved", FOLDER)
    )
    if name == SETTINGS:
      del theirs["__version__"]
    if name == "1_Dense/config.json":
      assert theirs.pop("use_residual") is False
    assert ours == theirs


@pytest.mark.integration
def test_pairs_are_learned_in_place_and_scored(tmp_path):
  folder = shutil.copytree(FOLDER, tmp_path / "late")
  path = folder / "config.json"
  config = json.loads(path.read_text())  # Four pairs drown in dropout.
  config |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
  path.write_text(json.dumps(config))
  encoder = kb.MultiVectorEncoder.from_checkpoint(folder)
  before = encoder.evaluate(PAIRS)["mrr@10"]
  history = encoder.fit(
    PAIRS,
    output_dir=tmp_path / "run",
    epochs=30,
    batch_size=4,
    chunk_size=3,
    learning_rate=2e-3,
    query_length=8,
  )
  loss = history.history["loss"]
  assert loss[-1] < 0.3 * loss[0]
  assert encoder.texts.late.query_length == 8
  assert len(encoder.encode_query("cat")) == 8
  assert before < encoder.evaluate(PAIRS)["mrr@10"] == 1
  assert encoder.results["train"]["is_finished"]
  # The run itself and its folder are served alike.
  files, texts = model_files.ModelFilesConfig(), ["the cat"]
  [[score]] = encoder.similarity(
    encoder.encode_query(texts), encoder.encode_document(texts)
  )
  for name in ("run", "run/multi_vector_encoder"):
    servable, _ = opening.make_servable(files, str(tmp_path / name))
    answer = servable.answer(tf.constant(texts), tf.constant(texts))
    assert answer["scores"].numpy() == pytest.approx(score, abs=1e-4)


@pytest.mark.integration
def test_any_checkpoint_gets_a_projection():
  with pytest.warns(UserWarning, match="1 new .linear/kernel"):
    encoder = kb.MultiVectorEncoder.from_checkpoint(
      FOLDER.parent / "sentences",
      query_prefix="",
      document_prefix="",
      query_length=12,
    )
  assert encoder.embedding_size == 128
  assert encoder.encode_query(["the cat"])[0].shape == (12, 128)
  lengths = np.linalg.norm(encoder.encode_document("the cat"), axis=1)
  np.testing.assert_allclose(lengths, 1, atol=1e-6)


@pytest.mark.parametrize(
  "name, values, message",
  [
    (
      SETTINGS,
      {"query_prefix": "[Z]"},
      r"query_prefix \('\[Z\]'\) is no token",
    ),
    (SETTINGS, {"query_length": 2}, r"query_length \(2\)"),
    (SETTINGS, {"query_length": "8"}, "query_length.*must be"),
    (SETTINGS, {"model_type": "SparseEncoder"}, "must be 'ColBERT'"),
    ("1_Dense/config.json", {"use_residual": True}, "use_residual"),
    (
      "1_Dense/config.json",
      {"activation_function": "torch.nn.modules.activation.Tanh"},
      "must be linear",
    ),
    (
      "config_sentence_transformers.json",
      {"skiplist_words": [["."]]},
      "each of skiplist_words in .*transformers.json must be a text",
    ),
  ],
)
def test_other_folders_are_refused(tmp_path, name, values, message):
  folder = change(tmp_path / "other", name, **values)
  with pytest.raises(ValueError, match=message):
    kb.MultiVectorEncoder.from_checkpoint(folder).encode_query("cat")


def test_other_vectors_and_data_are_refused(encoder):
  with pytest.raises(ValueError, match="late vectors: use kb.MultiVector"):
    kb.SentenceEncoder.from_checkpoint(FOLDER)
  with pytest.raises(ValueError, match="sparse vectors: use kb.SparseEncoder"):
    kb.MultiVectorEncoder.from_checkpoint(FOLDER.parent / "sparse")
  with pytest.raises(ValueError, match="must be a list of arrays"):
    encoder.similarity([np.zeros(3)], encoder.encode_document(["cat"]))
  with pytest.raises(ValueError, match="must be a list of arrays"):
    encoder.similarity({"a": 1}, "b")
  for call in (encoder.encode_query, encoder.encode_document):
    with pytest.raises(ValueError, match=r"texts .* must be a str or a list"):
      call({"text": ["cat"]})
  for query in (None, ["Who", "sat?"]):
    with pytest.raises(ValueError, match=r"query \(.* must be a str"):
      encoder.rank(query, ["cat"])
  with pytest.raises(ValueError, match=r"document \(None\) must be a str"):
    encoder.highlight("cat", None)
  with pytest.raises(ValueError, match=r"skiplist_words \(1 among them\) must"):
    kb.MultiVectorEncoder.from_checkpoint(FOLDER, skiplist_words=[1])
  of_list = kb.MultiVectorEncoder.from_checkpoint(FOLDER, skiplist_words=["."])
  assert len(of_list.encode_document("cat.")) == len(
    of_list.encode_document("cat")
  )
  with pytest.raises(ValueError, match="vectors of one width"):
    encoder.similarity([np.ones((1, 3))], encoder.encode_document(["cat"]))
  with pytest.raises(ValueError, match=r"query_length \(32\) must be at most"):
    kb.MultiVectorEncoder.from_checkpoint(FOLDER, query_length=32).encode_query(
      "cat"
    )
  with pytest.raises(ValueError, match="has a score, but late interaction"):
    encoder.evaluate([("cat", "mat", 1.0), ("cat", "sat", 0.0)])
  with pytest.raises(ValueError, match="xlnet.*late interaction is not for"):
    kb.MultiVectorEmbeddingModel(
      kb.EncoderConfig.preset("xlnet_base", num_hidden_layers=1)
    )
