"""run_pretraining.py of objectives with decoders, or with two texts."""

import json

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_text  # noqa: F401  Registers the ops of the tokenizer.

import keras_bert_impl as kb
from tests import slow
from tests.official_tasks import scripts, test_run_pretraining

SENTINELS = [f"<extra_id_{k}>" for k in range(3)]
DECODER = {
  "num_decoder_layers": 1,
  "type_vocab_size": 0,
  "decoder_transform": False,
  "hidden_dropout_prob": 0.1,
}
# Fields of a configuration, and its losses.
OBJECTIVES = {
  "bart": (DECODER | {"model_type": "bart"}, "denoising"),
  "t5": (
    DECODER
    | {
      "model_type": "t5",
      "position_embedding_type": "none",
      "relative_attention_num_buckets": 8,
    },
    "denoising",
  ),
  "gpt": (
    {
      "model_type": "gpt2",
      "use_causal_mask": True,
      "type_vocab_size": 0,
      "decoder_transform": False,
      "decoder_bias": False,
    },
    "language_model",
  ),
  "next_sentence_words": (
    DECODER | {"model_type": "bart"},
    "next_sentence_words",
  ),
  "next_sentence_ranking": ({}, "next_sentence_ranking"),
}
STEPS, PROMPT = 12, "the cat sees"
pytestmark = pytest.mark.integration
QUICK = ("t5", "next_sentence_ranking")
NAMES = pytest.mark.parametrize("name", slow.all_but(QUICK, OBJECTIVES))


def prepare(folder, name, masking="dynamic"):
  """Writes model, text and records; returns flags of a run."""
  scripts.write_model_files(folder, **OBJECTIVES[name][0])
  with open(folder / "vocab.txt", "a", encoding="utf-8") as file:
    file.write("\n".join(SENTINELS) + "\n")
  path = folder / "bert_config.json"
  values = json.loads(path.read_text())
  values["vocab_size"] += len(SENTINELS)
  path.write_text(json.dumps(values))
  records = scripts.write_records(folder, masking=masking, objective=name)
  return {
    "objective": name,
    "input_file": records,
    "bert_config_file": path,
    "output_dir": folder / "out",
    "eval_text_file": folder / "text.txt",
    "example_text": PROMPT,
    "max_seq_length": scripts.LENGTH,
    "do_train": True,
    "do_eval": True,
    "train_batch_size": 16,
    "learning_rate": 1e-2,
    "num_train_steps": STEPS,
    "num_warmup_steps": 2,
  }


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
  """{name: (folder, what its run printed)}, each run when it is asked for."""

  class Runs(dict):
    def __missing__(self, name):
      folder = tmp_path_factory.mktemp(name)
      status, out, err = scripts.run("run_pretraining", **prepare(folder, name))
      assert status == 0, err
      self[name] = folder / "out", out
      return self[name]

  return Runs()


@NAMES
def test_an_objective_learns_evaluates_and_ends_in_an_example(runs, name):
  folder, out = runs[name]
  results, loss = scripts.results(folder), OBJECTIVES[name][1]
  assert 0 <= results["eval"][f"{loss}_accuracy"] <= 1
  assert 0 < results["eval"][f"{loss}_loss"] < 6
  has_standard = name == "gpt"
  assert ("standard" in results["eval"]) == has_standard
  if has_standard:
    score = results["eval"]["standard"]["next_token_bits_per_byte"]
    assert 0 < score < 8
  is_generator = name != "next_sentence_ranking"
  # What an hour would teach is not asked for: an answer may be empty.
  assert (f"\n{PROMPT}\n" in out) == is_generator
  if is_generator:
    assert PROMPT in scripts.report(folder)


@pytest.mark.parametrize(
  "name",
  slow.all_but(("t5", "gpt"), [n for n in OBJECTIVES if "ranking" not in n]),
)
def test_a_generator_opens_the_run_and_is_its_savedmodel(runs, name):
  folder, _ = runs[name]
  generator = kb.TextGenerator.from_checkpoint(str(folder))
  prompts = [PROMPT, f"a {SENTINELS[0]} [MASK] dog", "the"]
  length = scripts.LENGTH // (2 if name == "gpt" else 1)
  [[first]], *_ = found = [
    generator.generate([text], max_new_tokens=length) for text in prompts
  ]
  path = folder / "saved_model/generation/1"
  served = tf.saved_model.load(str(path)).signatures["serving_default"]
  answer = served(text=tf.constant(prompts))["text"].numpy()
  assert [text.decode() for text in answer] == [x[0][0]["text"] for x in found]
  assert first["num_tokens"] <= length


def test_a_ranking_run_is_served_as_vectors_of_sentences(runs):
  folder, _ = runs["next_sentence_ranking"]
  texts = ["the cat sees .", "a dog"]
  vectors = kb.SentenceEncoder.from_checkpoint(str(folder)).encode(texts)
  served = tf.saved_model.load(str(folder / "saved_model/encoder/1"))
  found = served.signatures["serving_default"](text=tf.constant(texts))
  np.testing.assert_allclose(found["embeddings"], vectors, atol=1e-5)


@pytest.mark.parametrize(
  "name", slow.all_but(("next_sentence_ranking",), OBJECTIVES)
)
def test_a_run_killed_twice_ends_with_the_same_bits(runs, name, tmp_path):
  whole, _ = runs[name]
  values = prepare(tmp_path, name)
  values |= {"save_checkpoints_steps": 1, "iterations_per_loop": 1}
  for step in (3, 7):
    process = scripts.start("run_pretraining", **values)
    test_run_pretraining.wait_for_step(tmp_path / "out", step, process)
    process.kill()
    process.communicate()
  status, _, err = scripts.run("run_pretraining", **values)
  assert status == 0, err
  states = map(test_run_pretraining.final_state, (tmp_path / "out", whole))
  test_run_pretraining.assert_equal_bitwise(*states)


@pytest.mark.parametrize("name", slow.all_but(("bart",), ("bart", "t5")))
def test_static_noise_is_learned_too(name, tmp_path):
  values = prepare(tmp_path, name, masking="static")
  status, _, err = scripts.run(
    "run_pretraining", **values | {"do_export": False}
  )
  assert status == 0, err


def test_records_and_models_of_others_are_refused(tmp_path):
  folders = {
    name: prepare(tmp_path / name, name, masking)
    for name, masking in (
      ("bart", "static"),
      ("t5", "dynamic"),
      ("next_sentence_words", "dynamic"),
    )
  }
  bert = prepare(tmp_path / "bert", "next_sentence_ranking")
  bart, t5, words = folders.values()
  two, one = "have two texts each, which", "have one text each, which"
  scripts.check_mistakes(
    "run_pretraining",
    [
      (bart | {"input_file": words["input_file"]}, two),
      (words | {"input_file": t5["input_file"]}, one),
      (words | {"input_file": bart["input_file"]}, two),
      (
        bert | {"objective": "bert", "input_file": bart["input_file"]},
        "masked with masking_policy=permuted_infilling",
      ),
      (t5 | {"input_file": bart["input_file"]}, "needs span_corruption"),
      (words | {"masked_lm_prob": 0.5}, "masks nothing"),
    ],
    dict,
  )


def test_text_without_sentinels_or_following_sentences_is_refused(tmp_path):
  scripts.write_model_files(tmp_path)
  (tmp_path / "text.txt").write_text("one cat .\n\na dog .\n\nthe bird .\n")
  values = {
    "input_file": tmp_path / "text.txt",
    "output_file": tmp_path / "records",
    "vocab_file": tmp_path / "vocab.txt",
    "max_seq_length": scripts.LENGTH,
  }
  scripts.check_mistakes(
    "create_pretraining_data",
    [
      (
        {"objective": "next_sentence_words"},
        "no document of the corpus has two sentences",
      ),
      (
        {"objective": "t5"},
        "has 0 of the 2 sentinels <extra_id_0> to <extra_id_1>",
      ),
      ({"objective": "gpt", "pack_sequences": True}, "must be left out"),
    ],
    lambda **given: (
      values | {"output_file": tmp_path / given["objective"]} | given
    ),
  )
