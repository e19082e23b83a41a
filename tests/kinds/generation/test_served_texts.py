"""Generation in a SavedModel: equal to Python, and to each row alone."""

import json
import pathlib

import numpy as np
import pytest
import tensorflow as tf

import keras_bert_impl as kb
from tests import slow
from tests.kinds.generation import small_models

SEARCHES = {
  "greedy": {},
  "beams": {
    "num_beams": 3,
    "num_return_sequences": 2,
    "no_repeat_ngram_size": 2,
  },
  "drawn": {"do_sample": True, "top_k": 50, "top_p": 0.9, "random_seed": 7},
}
CASES = [(name, how) for name in small_models.NAMES for how in SEARCHES]


@pytest.fixture(name="case", scope="module")
def fixture_case(request, folder_of, tmp_path_factory):
  """The generator of a model, settings, and signatures of its SavedModel."""
  name, how = request.param
  generator = kb.TextGenerator.from_checkpoint(folder_of(name))
  values = SEARCHES[how] | {"max_new_tokens": 10}
  folder = tmp_path_factory.mktemp("served")
  loaded = tf.saved_model.load(generator.export(folder, **values))
  return generator, values, loaded.signatures


cases = pytest.mark.parametrize(
  "case",
  slow.all_but([("kogpt", "drawn"), ("kobart", "beams")], CASES),
  ids="-".join,
  indirect=True,
)


@cases
def test_it_writes_what_python_writes(case):
  generator, values, signatures = case
  prompts = small_models.prompts(200)
  found = generator.generate(prompts, **values)
  texts = []
  for start in range(0, len(prompts), 32):
    batch = tf.constant(prompts[start : start + 32])
    texts += signatures["generate"](text=batch)["texts"].numpy().tolist()
  # No broken UTF-8.
  texts = [[text.decode("utf-8") for text in row] for row in texts]
  assert texts == [[one["text"] for one in row] for row in found]
  assert len({*map(tuple, texts)}) > 50


@cases
def test_rows_of_a_batch_do_not_influence_each_other(case):
  _, _, signatures = case
  prompts = small_models.prompts(32)
  together = signatures["serving_default"](text=tf.constant(prompts))
  for row, prompt in enumerate(prompts):
    alone = signatures["serving_default"](text=tf.constant([prompt]))
    for name in ("text", "texts", "num_tokens"):
      np.testing.assert_array_equal(alone[name][0], together[name][row])
    np.testing.assert_allclose(
      alone["scores"][0], together["scores"][row], rtol=1e-4
    )


@cases
def test_ids_are_answered_with_the_ids_of_the_texts(case):
  generator, _, signatures = case
  prompts = small_models.prompts(20)
  generator.generate(prompts[:1])  # Until then it has no servable.
  rows = generator.tokenizer(prompts)
  answer = signatures["token_ids"](
    **{name: rows[name] for name in ("input_ids", "input_mask")}
  )
  ids, lengths = answer["ids"].numpy(), answer["num_tokens"].numpy()
  expected = signatures["generate"](text=tf.constant(prompts))
  np.testing.assert_array_equal(lengths, expected["num_tokens"])
  np.testing.assert_allclose(answer["scores"], expected["scores"], rtol=1e-4)
  ends = generator._servable.token_ids.end
  for row, of_row, of_text in zip(ids, lengths, expected["texts"], strict=True):
    for one, length, text in zip(row, of_row, of_text, strict=True):
      size = generator.tokenizer.vocab_size
      kept = [x for x in one[:length] if x not in ends and x < size]
      [decoded] = generator.tokenizer.detokenize([kept]).numpy()
      assert decoded.decode("utf-8", "replace") == text.numpy().decode("utf-8")


def test_scores_are_served(folder_of, tmp_path):
  generator = kb.TextGenerator.from_checkpoint(folder_of("kogpt"))
  loaded = tf.saved_model.load(generator.export(tmp_path, max_new_tokens=8))
  candidates = [" 앉았다", " 수도 cat", "", "한국어 " * 60]
  answer = loaded.signatures["score"](
    text=tf.constant(["고양이가"] * 4), candidate=tf.constant(candidates)
  )
  np.testing.assert_allclose(
    answer["score"][:3], generator.score("고양이가", candidates[:3]), rtol=1e-4
  )
  assert (answer["score"][2], answer["num_tokens"][2]) == (0, 0)
  assert answer["is_cut"].numpy().tolist() == [False, False, False, True]
  with pytest.raises(ValueError, match="no room for those after it"):
    generator.score("고양이가", candidates)


@pytest.mark.integration
@pytest.mark.parametrize(
  ("name", "begin"), [("bart", [0]), ("kobart", []), ("t5", [])]
)
def test_a_decoder_is_scored_as_it_learns(folder_of, name, begin, tmp_path):
  generator = kb.TextGenerator.from_checkpoint(folder_of(name))
  tokenizer, model = generator.tokenizer, generator.model
  candidates = ["the cat sat", "a", "sat on the mat the cat"]
  config = json.loads(
    (pathlib.Path(folder_of(name)) / "config.json").read_text()
  )
  expected = []
  for candidate in candidates:
    [pieces] = tokenizer.tokenize([candidate]).to_list()
    target = [*begin, *pieces, config["eos_token_id"]]
    read = [config["decoder_start_token_id"], *target[:-1]]
    rows = tokenizer(["the mat"]) | {"decoder_ids": tf.constant([read])}
    shares = tf.nn.log_softmax(model(rows)["token_logits"][0]).numpy()
    expected.append(shares[np.arange(len(target)), target].sum())
  found = generator.score("the mat", candidates)
  np.testing.assert_allclose(found, expected, rtol=1e-5)
  loaded = tf.saved_model.load(generator.export(tmp_path, max_new_tokens=8))
  answer = loaded.signatures["score"](
    text=tf.constant(["the mat"] * 3), candidate=tf.constant(candidates)
  )
  np.testing.assert_allclose(answer["score"], found, rtol=1e-5)
  assert answer["num_tokens"][1] == len(begin) + 1 + len(
    tokenizer.tokenize(["a"])[0]
  )


@pytest.mark.parametrize("name", slow.all_but(["gpt"], ["gpt", "kobart"]))
def test_a_prompt_without_room_is_told(folder_of, name, tmp_path):
  generator = kb.TextGenerator.from_checkpoint(folder_of(name))
  long = "한국어 " * 100
  with pytest.raises(ValueError, match=r"A prompt has more than \d+ tokens"):
    generator.generate(["the cat", long], max_new_tokens=20)
  cut = kb.TextGenerator.from_checkpoint(folder_of(name), max_seq_length=20)
  [found, _] = cut.generate([long, "the cat"], max_new_tokens=4)
  loaded = tf.saved_model.load(cut.export(tmp_path, max_new_tokens=4))
  answer = loaded.signatures["generate"](text=tf.constant([long, "the cat"]))
  assert answer["is_cut"].numpy().tolist() == [True, False]
  assert answer["text"][0].numpy().decode() == found[0]["text"]
  ids = tf.ones([1, 21], tf.int32)
  with pytest.raises(tf.errors.InvalidArgumentError, match="at most 20 ids"):
    loaded.signatures["token_ids"](input_ids=ids, input_mask=ids)


@pytest.mark.parametrize("how", SEARCHES)
def test_logits_that_are_no_numbers_are_told(folder_of, how):
  broken = kb.TextGenerator.from_checkpoint(folder_of("gpt"))
  for weight in broken.model.weights:
    weight.assign(np.full(weight.shape, np.nan))
  for ask in (
    lambda: broken.generate("the cat", max_new_tokens=3, **SEARCHES[how]),
    lambda: broken.score("the cat", [" sat"]),
    lambda: broken.perplexity(["the cat sat"]),
  ):
    with pytest.raises(ValueError, match="are NaN or infinite"):
      ask()
