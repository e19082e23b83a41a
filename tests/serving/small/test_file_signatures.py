"""Raw texts to LiteRT and ONNX files: answers as those of SavedModels."""

import json
import pathlib
import subprocess
import sys
import unicodedata

import numpy as np
import pytest
import tensorflow as tf

import keras_bert_impl as kb
from keras_bert_impl import tokenizers
from keras_bert_impl.kinds import file_answers, opening
from keras_bert_impl.kinds.multi_task import multi_task_servable
from keras_bert_impl.model_folders import model_files
from keras_bert_impl.models.heads import multi_task_classifier
from keras_bert_impl.serving.local import errors, loading, saved_models
from keras_bert_impl.serving.small import (
  export,
  file_signatures,
  span_answers,
  text_rows,
)
from keras_bert_impl.tokenizers.graph import text_words
from tests import slow
from tests.kinds.tags import test_spans
from tests.serving import all_heads, answers, bad_requests, toy

pytest.importorskip("ai_edge_litert")
pytest.importorskip("tf2onnx")
pytest.importorskip("onnxruntime")

DATA = pathlib.Path(__file__).parents[2] / "data"
# Offsets and special tokens are of each kind of tokenizer.
OTHERS = [
  f"{head}_of_{kind}"
  for head in ("question_answering", "token_classification")
  for kind in ("byte_bpe", "kobart", "t5")
]
CASES = [(name, "onnx") for name in (*all_heads.NAMES, *OTHERS)]
CASES.append(("fill_mask", "litert"))
EVERY_RUN = [
  (name, "onnx")
  for name in (
    "classification_of_pairs",
    "question_answering",
    "token_classification",
    "fill_mask",
  )
]
TEXTS = ["The CAT sat on the mat.", "", "a dog", "고양이가 앉았다", "x " * 50]


def make_folder(name, file_format, folder):
  """Returns the `all_heads.Head` of a name and the folder of its export."""
  head = all_heads.make(name, folder)
  return head, export.export(head.servable, str(folder / "made"), file_format)


@pytest.mark.integration
@pytest.mark.parametrize("case", slow.all_but(EVERY_RUN, CASES), ids="-".join)
def test_every_head_answers_as_with_a_saved_model(case, tmp_path):
  head, folder = make_folder(*case, tmp_path)
  found = file_signatures.load(folder)
  assert found.keys() == head.expected.keys()
  for name, request in head.requests.items():
    if name == "token_ids":  # Those of a file are its own outputs.
      continue
    signature = found[name]
    for part in answers.PARTS:
      answer = signature.run(answers.part_of(request, part))
      answers.check(answer, head.expected[name], part)
      for output, values in answer.items():
        assert signature.outputs[output].dtype == values.dtype
        assert signature.outputs[output].fits(values.shape), output


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
  """A classifier of pairs, and the folder of its LiteRT file."""
  folder = tmp_path_factory.mktemp("pairs")
  return make_folder("classification_of_pairs", "litert", folder)


def test_it_is_described_as_a_saved_model_is(pairs):
  head, folder = pairs
  shown = loading.load(folder, 1, file_signatures.load).signature_defs
  graph = saved_models.of_functions(head.servable.signatures)
  for name, signature in graph.items():
    inputs = {name: spec.dtype for name, spec in signature.inputs.items()}
    found = file_signatures.load(folder)[name]
    assert {k: spec.dtype for k, spec in found.inputs.items()} == inputs
    assert found.outputs.keys() == signature.outputs.keys()
    assert shown[name]["inputs"].keys() == inputs.keys()
  labels = shown["serving_default"]["outputs"]["labels"]
  assert labels["dtype"] == "DT_STRING"
  assert [axis["size"] for axis in labels["tensor_shape"]["dim"]] == ["-1", "3"]


def test_token_ids_are_what_the_file_says_of_them(pairs):
  head, folder = pairs
  answer = file_signatures.load(folder)["token_ids"].run(all_heads.TOKEN_IDS)
  answers.check(answer, head.expected["token_ids"])


def test_bad_requests_are_refused_as_by_a_saved_model(pairs):
  head, folder = pairs
  found = file_signatures.load(folder)
  refused = 0
  for name, inputs, message in bad_requests.of(head):
    # The server itself compares ranks with a signature.
    if message != bad_requests.WRONG_RANK:
      with pytest.raises(errors.RequestError) as raised:
        found[name].run(inputs)
      if "at most" in message:
        message = "cannot read these ids"
      assert message in str(raised.value)
      refused += 1
  assert refused > 5
  for examples, message in (
    ([b"\n"], "not a serialized tf.Example"),
    ([b""], "has no feature text"),
  ):
    with pytest.raises(errors.RequestError, match=message):
      found["tf_example"].run({"examples": np.array(examples, object)})


def answer_of(servable, request):
  tensors = {name: tf.constant(x) for name, x in request.items()}
  return {name: x.numpy() for name, x in servable.answer(**tensors).items()}


def strings(texts):
  return np.vectorize(str.encode, otypes="O")(np.array(texts, object))


@pytest.mark.integration
@pytest.mark.parametrize(
  ("name", "chosen", "more"),
  [
    ("sentences", {}, {}),
    ("sentences", {"prompt": "query: ", "truncate_dim": 3}, {}),
    ("sentences", {"precision": "int8"}, {}),
    ("sentences", {"precision": "binary"}, {}),
    ("sparse", {}, {}),
    ("cross_encoder", {"text_pairs": True}, {"text_pair": TEXTS[::-1]}),
    (
      "zero_shot",
      {"head": "zero_shot"},
      {"labels": [["cat", "dog"], ["cat", ""], ["", ""], *[["a", "b"]] * 2]},
    ),
    (
      "zero_shot",
      {"head": "zero_shot", "multi_label": True},
      {"labels": [["cat", "dog"], ["cat", ""], ["", ""], *[["a", "b"]] * 2]},
    ),
  ],
)
def test_vectors_and_scores_are_those_of_the_servable(
  name, chosen, more, tmp_path
):
  chosen = dict(chosen)
  servable, _ = opening.make_servable(
    model_files.ModelFilesConfig(),
    str(DATA / name),
    head=chosen.pop("head", None),
    chosen=chosen,
  )
  folder = export.export(servable, str(tmp_path), "onnx")
  request = {"text": strings(TEXTS)}
  request |= {name: strings(values) for name, values in more.items()}
  found = file_signatures.load(folder)["serving_default"].run(request)
  expected = answer_of(servable, request)
  assert found.keys() == expected.keys()
  for output, values in expected.items():
    assert found[output].dtype == values.dtype, output
    if values.dtype.kind == "f":
      np.testing.assert_allclose(found[output], values, atol=1e-5)
    elif values.dtype == np.int8:
      np.testing.assert_allclose(found[output], values, atol=1)
    else:
      np.testing.assert_array_equal(found[output], values)


def test_what_needs_the_graph_is_left_to_it(tmp_path):
  name = "question_answering_of_sentencepiece"
  head, folder = make_folder(name, "onnx", tmp_path)
  # It strips accents: the library cuts Hangul otherwise.
  assert file_signatures.load(folder) is None
  found = file_answers.load(folder)
  answer = found["serving_default"].run(head.requests["serving_default"])
  answers.check(answer, head.expected["serving_default"])
  about = pathlib.Path(folder, "model.json")
  other = json.loads(about.read_text("utf-8")) | {"head": "late"}
  about.write_text(json.dumps(other), "utf-8")
  assert file_signatures.load(folder) is None


def several_tasks(tokenizer):
  """Returns the servable of a task of texts and one of tags."""
  model = multi_task_classifier.MultiTaskClassifier(
    toy.config(tokenizer), {"of_texts": 2, "of_tags": 3}, ["of_tags"]
  )
  tags = {"token_unit": "word", "doc_stride": 8, "tag_scheme": "iob2"}
  heads = {"of_texts": "classification", "of_tags": "token_classification"}
  labels = {"of_texts": ("a", "b"), "of_tags": ("O", "B-A", "I-A")}
  return multi_task_servable.MultiTaskServable(
    model,
    tokenizer,
    toy.MAX_SEQ_LENGTH,
    {name: {"head": heads[name], "labels": labels[name]} for name in heads},
    tasks_of_tags={"of_tags": tags},
  )


@pytest.mark.integration
@pytest.mark.parametrize("make", [test_spans.make, several_tasks])
def test_heads_without_ids_are_served_with_the_graph(make, tmp_path):
  toy.write_vocabulary(tmp_path / "vocab.txt")
  servable = make(toy.tokenizer(tmp_path / "vocab.txt"))
  folder = export.export(servable, str(tmp_path / "made"), "onnx")
  request = {"text": strings(TEXTS)}
  found = file_answers.load(folder)["serving_default"].run(request)
  answers.check(found, answer_of(servable, request))


@pytest.mark.integration
def test_late_interaction_is_served_as_it_was_trained(tmp_path):
  encoder = kb.MultiVectorEncoder.from_checkpoint(
    DATA / "late", query_length=9, query_prefix="cat", document_prefix="the"
  )
  servable = encoder.servable()
  folder = export.export(servable, str(tmp_path), "onnx")
  request = {"query": strings(TEXTS[2:4]), "document": strings(TEXTS[:2])}
  found = file_answers.load(folder)["serving_default"].run(request)
  answers.check(found, answer_of(servable, request))


@pytest.mark.integration
def test_static_vectors_are_told_to_be_for_clients(tmp_path):
  encoder = kb.StaticEncoder.from_checkpoint(DATA / "static")
  folder = encoder.export(tmp_path, format="onnx")
  with pytest.raises(ValueError, match="static vectors.*export a SavedModel"):
    file_answers.load(folder)


def test_a_folder_with_a_vocabulary_alone_is_read(tmp_path):
  head, folder = make_folder("regression", "litert", tmp_path)
  assert pathlib.Path(folder, "vocab.txt").exists()
  pathlib.Path(folder, "tokenizer.json").unlink()
  found = file_signatures.load(folder)["serving_default"]
  answer = found.run(head.requests["serving_default"])
  answers.check(answer, head.expected["serving_default"])


_WITHOUT_TENSORFLOW = """
import sys
NONE = {"tensorflow", "tensorflow_text", "keras", "jax", "torch"}
class Missing:
  def find_spec(self, name, *others):
    if name.partition(".")[0] in NONE:
      raise ModuleNotFoundError(f"No module named {name!r}")
sys.meta_path.insert(0, Missing())
import numpy as np
from official_tasks import serve  # Its imports are lazy.
from keras_bert_impl.kinds import file_answers
found = file_answers.load(sys.argv[1])["serving_default"]
texts = np.array([b"the cat sat", b"the mat"], object)
labels = found.run({name: texts for name in found.inputs})["label"]
assert {*labels} <= {x.encode() for x in ("no", "\uc608", "maybe")}, labels
from keras_bert_impl.serving.local import app, batching, server, versions
assert not NONE & {name.partition(".")[0] for name in sys.modules}
"""


def test_no_tensorflow_is_needed(pairs):
  _, folder = pairs
  result = subprocess.run(
    [sys.executable, "-c", _WITHOUT_TENSORFLOW, folder],
    capture_output=True,
    text=True,
    cwd=pathlib.Path(__file__).parents[3],
  )
  assert result.returncode == 0, result.stderr


def test_rows_of_like_length_run_together():
  lengths = [5, 5, 6, 40, 41, 200]
  groups = text_rows._groups(lengths)
  assert sorted(groups) == [(0, 3), (3, 5), (5, 6)]
  assert text_rows._groups([]) == []
  assert max(b - a for a, b in text_rows._groups([9] * 100)) == 32
  seen = []

  def run(rows):
    seen.append(rows["input_mask"].shape)
    return {"x": rows["input_ids"] * 2, "n": rows["input_mask"].sum(axis=1)}

  order = [200, 5, 40, 6, 41, 5]
  mask = (np.arange(200) < np.array(order)[:, np.newaxis]).astype(np.int32)
  found = text_rows.map_rows(run, {"input_ids": mask * 3, "input_mask": mask})
  np.testing.assert_array_equal(found["x"], mask * 6)
  np.testing.assert_array_equal(found["n"], order)
  assert sorted(seen) == [(1, 200), (2, 41), (3, 6)]


def test_words_are_those_of_the_graph():
  rng = np.random.default_rng(0)
  assigned = [
    chr(code)
    for code in range(0x20000)
    if unicodedata.category(chr(code)) not in ("Cs", "Cn", "Co")
  ]
  common = [*"ab .,-$\t\n\u200b\u00ad\u3000가漢é\u0301"]
  texts = [
    "".join(rng.choice(assigned if number % 2 else common, 40))
    for number in range(200)
  ]
  _, starts, ends = text_words.split_with_offsets(tf.constant(texts))
  for text, first, last in zip(texts, starts.to_list(), ends.to_list()):
    assert span_answers.split_words(text) == [*zip(first, last)], repr(text)


def test_pieces_and_offsets_are_those_of_the_graph(tmp_path):
  for name in ("sentences", "zero_shot"):
    graph = tokenizers.load(str(DATA / name))
    library = text_rows.TextRows(graph.vocabulary, graph.options, 64).library
    ids, starts, ends = (
      x.to_list() for x in graph.tokenize_with_offsets(tf.constant(TEXTS))
    )
    assert library.align(TEXTS) == [*zip(ids, starts, ends)]
