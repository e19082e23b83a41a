"""Encoders of 2019 to 2026, fine-tuned by the class of each kind and exported.

Two steps of training; then the SavedModel answers what Python does. LiteRT and
ONNX files of them are tested with the others, in tests/serving/small.
"""

import dataclasses
import json
import shutil

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_bert_impl as kb
from keras_bert_impl import heads
from keras_bert_impl.checkpoints import writing
from keras_bert_impl.checkpoints.naming import mappings
from tests import slow
from tests.models import test_every_head
from tests.tokenizers import vocabularies

# {family: what writes its tokenizer}.
FAMILIES = {
  **dict.fromkeys(("nomic_bert", "ernie", "roformer"), vocabularies.write),
  **dict.fromkeys(
    ("gte", "jina_embeddings_v3", "rembert"), vocabularies.write_sentencepiece
  ),
  "eurobert": lambda folder: vocabularies.copy("eurobert", folder),
  "modernbert_decoder": lambda folder: vocabularies.copy("modernbert", folder),
  "t5": lambda folder: vocabularies.copy("t5", folder),
}
TEXTS = ["the cat sat", "hello world", "안녕 한국", "play in the sun"] * 2
TOP_K = 16
PAIRS = [(f"who is {x}", x) for x in TEXTS]
ASKED = [
  {"question": "who sat", "context": "the cat sat"},
  {"question": "what is it", "context": "hey cat"},
] * 4
FOUND = {"text": ["cat"], "answer_start": [4]}
CHOSEN = [
  {"text": "the cat", "choices": ["sat", "world"], "label": 0},
  {"text": "hello", "choices": ["sat", "world"], "label": 1},
] * 4
PARSED = [
  {"words": ["the", "cat", "sat"], "heads": [2, 3, 0], "relations": "dsr"},
  {"words": ["hello", "world"], "heads": [2, 0], "relations": "dr"},
] * 4
PARSED = [row | {"relations": [*row["relations"]]} for row in PARSED]
RESOLVED = [
  {"sentences": [["the", "cat", "sat"], ["it", "sat"]], "clusters": x}
  for x in ([[[0, 2], [3, 4]]], [[[1, 2], [3, 4]]])
] * 4
# {door: (class, examples, targets or None, inputs to predict)}.
DOORS = {
  "classes": ("TextClassifier", TEXTS, ["a", "b"] * 4, TEXTS[:3]),
  "pairs": ("TextClassifier", PAIRS, ["a", "b"] * 4, PAIRS[:3]),
  "tags": (
    "TokenTagger",
    [text.split() for text in TEXTS],
    [["B-X", *["O"] * (len(text.split()) - 1)] for text in TEXTS],
    TEXTS[:3],
  ),
  "answers": ("QuestionAnswerer", ASKED, [FOUND] * 8, ASKED[:3]),
  "choices": (
    "ChoiceAnswerer",
    CHOSEN,
    None,
    [{k: row[k] for k in ("text", "choices")} for row in CHOSEN[:3]],
  ),
  "trees": ("DependencyParser", PARSED, None, TEXTS[:3]),
  "coreference": (
    "CoreferenceResolver",
    RESOLVED,
    None,
    ["the cat sat. it sat.", "hello", "안녕 한국"],
  ),
  "ranking": ("Reranker", [(*x, "no") for x in PAIRS], None, PAIRS[:3]),
  "vectors": ("SentenceEncoder", PAIRS[:4], None, TEXTS[:3]),
  "sparse": ("SparseEncoder", PAIRS[:4], None, TEXTS[:3]),
  "late": ("MultiVectorEncoder", PAIRS[:4], None, TEXTS[:3]),
}
CASES = [
  (family, door)
  for family in FAMILIES
  for door in DOORS
  if (family, door) != ("t5", "sparse")  # It has no masked words.
]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
  """Function of a family that returns the folder of its encoder."""
  made = {}

  def write(family):
    if family not in made:
      folder = tmp_path_factory.mktemp(family)
      FAMILIES[family](folder)
      known = test_every_head.CONFIGS[family]
      (folder / "config.json").write_text(
        f'{{"model_type": "{known.model_type}"}}'
      )
      config = dataclasses.replace(
        known,
        vocab_size=kb.load_tokenizer(folder).vocab_size,
        max_position_embeddings=128,
        initializer_range=0.2,
      )
      head = heads.ENCODER if family == "t5" else heads.FILL_MASK
      keras.utils.set_random_seed(1)
      model, described = test_every_head.build(config, head)
      tensors = mappings.Arrays({w.path: w for w in model.weights})
      writing.write_safetensors(str(folder), tensors, described, 10**9)
      made[family] = str(folder)
    return made[family]

  return write


def assert_close(found, expected):
  """Compares answers: lists, dicts, numbers and texts."""
  if isinstance(expected, dict):
    assert found.keys() == expected.keys()
    found, expected = ([x[k] for k in expected] for x in (found, expected))
  if isinstance(expected, list | tuple):
    assert len(found) == len(expected)
    for one, other in zip(found, expected):
      assert_close(one, other)
  elif isinstance(expected, float):
    assert found == pytest.approx(expected, abs=1e-5)
  else:
    np.testing.assert_array_equal(found, expected)


def served_answers(model, path, inputs):
  """Returns what a SavedModel answers, as the class has it."""
  serve = tf.saved_model.load(path).signatures["serving_default"]
  if isinstance(model, kb.SentenceEncoder):
    return serve(text=tf.constant(inputs))["embeddings"].numpy().tolist()
  if isinstance(model, kb.SparseEncoder):
    found = serve(text=tf.constant(inputs))
    rows = zip(found["tokens"].numpy(), found["weights"].numpy().tolist())
    return [
      {token.decode(): x for token, x in zip(*row) if x > 0} for row in rows
    ]
  if isinstance(model, kb.MultiVectorEncoder):
    found = serve(
      query=tf.constant(inputs[:1] * 3), document=tf.constant(inputs)
    )
    return found["scores"].numpy().tolist()
  questions = model._questions(inputs)
  batch = {name: [x[name] for x in questions] for name in questions[0]}
  found = serve(**{name: tf.constant(x) for name, x in batch.items()})
  rows = [{k: x[n].numpy() for k, x in found.items()} for n in range(3)]
  return [model._answer(row) for row in rows]


def answers(model, inputs):
  if isinstance(model, kb.SentenceEncoder):
    return model.encode(inputs).tolist()
  if isinstance(model, kb.SparseEncoder):
    return model.encode(inputs, max_tokens=TOP_K)
  if isinstance(model, kb.MultiVectorEncoder):
    found = model.rank(inputs[0], inputs)
    return [x["score"] for x in sorted(found, key=lambda x: x["index"])]
  return model.predict(inputs)


QUICK = [("eurobert", "classes"), ("nomic_bert", "vectors")]


@pytest.mark.integration
@pytest.mark.parametrize("case", slow.all_but(QUICK, CASES), ids="-".join)
def test_a_family_is_fine_tuned_and_served(case, folders, tmp_path):
  family, door = case
  name, examples, targets, inputs = DOORS[door]
  # No vocabulary here has the usual marks of queries and documents.
  marks = {"query_prefix": "", "document_prefix": ""}
  options = marks if door == "late" else {}
  model = getattr(kb, name).from_checkpoint(folders(family), **options)
  with_targets = {} if targets is None else {"targets": targets}
  settings = {"epochs": 1, "batch_size": len(examples) // 2, "verbose": 0}
  settings |= {"max_unknown_share": 1.0}  # T5 has few of the words.
  if name == "MultiVectorEncoder":
    settings |= {"batch_size": 2}
  if door == "coreference":
    settings |= {"keep_singletons": True, "span_units": 16}
  before = answers(model, inputs) if hasattr(model, "encode") else None
  model.fit(examples, learning_rate=1e-2, **with_targets, **settings)
  found = answers(model, inputs)
  assert found != before and "nan" not in str(found)
  options = {"top_k": TOP_K} if door == "sparse" else {}
  path = model.export(tmp_path / "served", **options)
  assert_close(served_answers(model, path, inputs), found)


@pytest.mark.parametrize(
  "family", slow.all_but(("eurobert", "modernbert_decoder"), FAMILIES)
)
def test_a_folder_of_sentence_transformers_is_read(family, folders, tmp_path):
  folder = tmp_path / "model"
  shutil.copytree(folders(family), folder)
  classes = {"own.Transformer": "", "sentence_transformers.models.Pooling": "1"}
  modules = [{"type": x, "path": y} for x, y in classes.items()]
  pooling = {"pooling_mode_lasttoken": True, "pooling_mode_mean_tokens": False}
  tokenizer = folder / "tokenizer_config.json"
  settings = json.loads(tokenizer.read_text()) if tokenizer.exists() else {}
  (folder / "1").mkdir()
  for name, values in {
    "modules.json": modules,
    "1/config.json": pooling,
    "config_sentence_transformers.json": {"prompts": {"query": "hello "}},
    # Where padding stands changes no last token.
    "tokenizer_config.json": settings | {"padding_side": "left"},
  }.items():
    (folder / name).write_text(json.dumps(values))
  encoder = kb.SentenceEncoder.from_checkpoint(folder)
  texts = ["the cat sat on the mat", "cat"]
  vectors = encoder.encode(texts, prompt_name="query")
  inputs = encoder.tokenizer([f"hello {text}" for text in texts])
  states = np.asarray(encoder.model.encoder(inputs)["sequence_output"])
  last = np.asarray(inputs["input_mask"]).sum(axis=1) - 1
  np.testing.assert_allclose(vectors, states[[0, 1], last], atol=1e-5)
