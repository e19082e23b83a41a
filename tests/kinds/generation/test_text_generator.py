"""Text that is generated from strings, in Python and in a SavedModel."""

import json
import pathlib
import shutil

import numpy as np
import pytest
import tensorflow as tf

import keras_bert_impl as kb
from keras_bert_impl.kinds.generation import search_defaults

PROMPTS = ["안녕하세요 한국어", "the cat", "é é sat on", "x"]


@pytest.fixture(name="folder", params=["gpt", "t5"])
def fixture_folder(request):
  return request.getfixturevalue(request.param)


def test_a_savedmodel_writes_what_python_does(folder, tmp_path):
  generator = kb.TextGenerator.from_checkpoint(folder)
  settings = {"max_new_tokens": 7, "num_beams": 3, "num_return_sequences": 2}
  found = generator.generate(PROMPTS, **settings)
  assert [len(texts) for texts in found] == [2] * len(PROMPTS)
  loaded = tf.saved_model.load(generator.export(tmp_path / "model", **settings))
  answer = loaded.signatures["serving_default"](text=tf.constant(PROMPTS))
  for row, texts in enumerate(found):
    best, *_ = texts
    assert answer["text"][row].numpy().decode() == best["text"]
    for number, one in enumerate(texts):
      assert answer["texts"][row, number].numpy().decode() == one["text"]
      assert answer["num_tokens"][row, number] == one["num_tokens"] <= 7
      np.testing.assert_allclose(
        answer["scores"][row, number], one["score"], rtol=1e-4
      )
    assert texts[0]["score"] >= texts[1]["score"]
  one = generator.generate(PROMPTS[0], **settings)
  assert [x["text"] for x in one] == [x["text"] for x in found[0]]


def test_drawn_texts_depend_on_seed_and_prompt_alone(gpt):
  generator = kb.TextGenerator.from_checkpoint(gpt)
  settings = {"max_new_tokens": 8, "do_sample": True, "top_p": 0.9}

  def texts(prompts, seed):
    found = generator.generate(prompts, random_seed=seed, **settings)
    return [one["text"] for [one] in found]

  first = texts(PROMPTS, 1)
  assert texts(PROMPTS[::-1], 1) == first[::-1]
  assert texts(PROMPTS, 2) != first


def test_scores_are_sums_of_the_logarithms_of_probabilities(gpt):
  generator = kb.TextGenerator.from_checkpoint(gpt)
  candidates = [" sat on the", " ran", "한국"]
  found = generator.score("the cat", candidates)
  for score, candidate in zip(found, candidates, strict=True):
    prompt, pieces = (
      generator.tokenizer.tokenize([x]).to_list()[0]
      for x in ("the cat", candidate)
    )
    ids = np.array([prompt + pieces])
    logits = generator.model({"input_ids": ids})["token_logits"][0]
    shares = tf.nn.log_softmax(logits).numpy()
    places = np.arange(len(prompt) - 1, ids.shape[1] - 1)
    np.testing.assert_allclose(score, shares[places, pieces].sum(), rtol=1e-5)


def test_perplexity_is_that_of_windows(gpt):
  generator = kb.TextGenerator.from_checkpoint(gpt)
  text = " ".join(PROMPTS * 9)
  pieces = generator.tokenizer.tokenize([text]).to_list()[0]
  assert len(pieces) > 80
  losses, counted = [], 1
  for start in range(0, len(pieces), 40):
    ids = np.array([pieces[start : start + 80]])
    logits = generator.model({"input_ids": ids})["token_logits"][0]
    shares = tf.nn.log_softmax(logits).numpy()
    for place in range(max(counted, start + 1), start + ids.shape[1]):
      losses.append(-shares[place - start - 1, pieces[place]])
    counted = start + ids.shape[1]
    if counted >= len(pieces):
      break
  expected = np.exp(np.mean(losses))
  np.testing.assert_allclose(
    generator.perplexity([text], stride=40), expected, rtol=1e-4
  )


def test_a_bert_from_left_to_right_goes_on_before_its_sep(tmp_path):
  source = pathlib.Path(__file__).parents[2] / "data/parity/bert_pretraining"
  folder = tmp_path / "bert"
  shutil.copytree(source, folder)
  config = json.loads((folder / "config.json").read_text())
  (folder / "config.json").write_text(json.dumps(config | {"is_decoder": True}))
  tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat"]
  tokens += [f"w{n}" for n in range(config["vocab_size"] - len(tokens))]
  (folder / "vocab.txt").write_text("\n".join(tokens) + "\n")
  generator = kb.TextGenerator.from_checkpoint(folder)
  [found] = generator.generate("the cat", max_new_tokens=1)
  ids = np.array([[2, 5, 6]])  # [CLS] the cat
  logits = generator.model({"input_ids": ids})["token_logits"]
  best = int(np.argmax(logits[0, -1]))
  assert found["text"] == ("" if best < 4 else tokens[best])
  share = tf.nn.log_softmax(logits[0, -1])[best]
  np.testing.assert_allclose(found["score"], share, rtol=1e-4)
  shares = tf.nn.log_softmax(logits[0])
  question = {"text": "the", "choices": ["cat", "the"], "label": 0}
  [answer] = generator.few_shot([question])["answers"]
  expected = [shares[1, 6], shares[1, 5]]
  np.testing.assert_allclose(answer.scores, expected, rtol=1e-4)
  bits = generator.rolling_perplexity(["the cat"])["bits_per_byte"]
  total = -(shares[0, 5] + shares[1, 6]) / np.log(2)
  np.testing.assert_allclose(bits, total / len("the cat"), rtol=1e-4)


def test_settings_of_editors_are_those_of_the_search():
  from keras_bert_impl.generation import settings
  from keras_bert_impl.kinds.generation import text_generator

  typed = text_generator.SearchSettings.__annotations__
  assert {*typed} == {*settings.SearchSettings.__dataclass_fields__}


def test_wrong_settings_are_named(gpt, t5, tmp_path):
  generator = kb.TextGenerator.from_checkpoint(gpt)
  for settings, message in (
    ({"max_new_tokens": 0}, r"max_new_tokens \(0\) must be"),
    ({"max_new_tokens": 78}, r"max_new_tokens \(78\) must be at most 77"),
    ({"num_beams": 3, "do_sample": True}, r"num_beams \(3\) must be 1"),
    ({"temperature": 0.5}, r"temperature \(0.5\) needs do_sample"),
    ({"num_return_sequences": 2}, r"must be at most num_beams"),
    ({"early_stopping": "yes"}, r"early_stopping \('yes'\)"),
    ({"num_beams": 300}, r"num_beams \(300\) must be in \[1, 256\]"),
  ):
    with pytest.raises(ValueError, match=message):
      generator.generate(["a"], **settings)
  for stride in (0, 81):
    with pytest.raises(ValueError, match=rf"stride \({stride}\) must be"):
      generator.perplexity(["a b"], stride)
  with pytest.raises(ValueError, match="has a decoder"):
    kb.TextGenerator.from_checkpoint(t5).perplexity(["a b"])
  bert = pathlib.Path(__file__).parents[2] / "data/parity/bert_classifier"
  with pytest.raises(ValueError, match="--head=generation does not fit"):
    kb.TextGenerator.from_checkpoint(bert).generate(["a"])


def test_a_beam_for_each_token_is_the_most(tmp_path):
  source = pathlib.Path(__file__).parents[2] / "data/decoders/gpt2"
  folder = tmp_path / "few"
  shutil.copytree(source, folder)
  config = json.loads((folder / "config.json").read_text())
  size = config["vocab_size"]
  vocab = {f"w{number}": number for number in range(size - 1)} | {"[UNK]": 119}
  (folder / "tokenizer.json").write_text(
    json.dumps(
      {
        "version": "1.0",
        "added_tokens": [],
        "pre_tokenizer": {"type": "Whitespace"},
        "model": {"type": "WordLevel", "vocab": vocab, "unk_token": "[UNK]"},
      }
    )
  )
  generator = kb.TextGenerator.from_checkpoint(folder)
  with pytest.raises(ValueError, match=rf"num_beams \({size + 1}\) must be at"):
    generator.generate(["w1 w2"], num_beams=size + 1, max_new_tokens=2)


def test_what_is_scored_has_the_room_of_the_model(gpt):
  generator = kb.TextGenerator.from_checkpoint(gpt)
  tokenizer, prompt = generator.tokenizer, "x" * 60
  [pieces] = tokenizer.tokenize([prompt]).to_list()
  assert 80 - 64 < len(pieces) < 79  # Room that max_new_tokens would take.
  [score] = generator.score(prompt, ["y"])
  [found] = generator.score("x", [prompt[1:] + "y"])
  [before] = generator.score("x", [prompt[1:]])
  np.testing.assert_allclose(score, found - before, atol=1e-3)
  with pytest.raises(ValueError, match="A prompt has more than"):
    generator.score("x", ["y", "y" * 200])


def test_logits_that_are_no_numbers_are_named(folder):
  generator = kb.TextGenerator.from_checkpoint(folder)
  *_, last = [
    w for w in generator.model.weights if w.path.endswith("LayerNorm/gamma")
  ]
  kept = np.array(last)
  last.assign(kept * np.nan)
  for settings in ({}, {"num_beams": 2}, {"do_sample": True}):
    with pytest.raises(ValueError, match="logits of the model are NaN"):
      generator.generate(["x"], max_new_tokens=2, **settings)
  with pytest.raises(ValueError, match="logits of the model are NaN"):
    generator.score("x", ["y"])


def test_a_search_is_as_the_files_say_unless_it_is_said(t5, tmp_path):
  folder = shutil.copytree(t5, tmp_path / "t5")
  path = folder / "generation_config.json"
  beams = {"num_beams": 3, "length_penalty": 2, "early_stopping": True}
  common, warm = {"no_repeat_ngram_size": 2}, {"temperature": 0.7, "top_k": 50}
  said = beams | common | warm | {"max_length": 9, "min_length": 5}
  ids = json.loads((folder / "config.json").read_text())
  ids = {k: v for k, v in ids.items() if k.endswith("_token_id")}
  lengths = {"max_new_tokens": 8, "min_new_tokens": 4}
  drawn = {"do_sample": True}
  for more, given, same in (
    ({}, {}, beams | common | lengths),
    (
      {},
      {"max_new_tokens": 3},
      beams | common | {"max_new_tokens": 8, "min_new_tokens": 3},
    ),
    (
      {"max_new_tokens": 6},
      {},
      beams | common | lengths | {"max_new_tokens": 6},
    ),
    ({}, drawn, common | warm | lengths),
    (drawn, {}, common | warm | lengths | drawn),
    (drawn, {"num_beams": 2}, beams | common | lengths),
  ):
    path.write_text(json.dumps(ids | said | more | {"diversity_penalty": 0.0}))
    assert search_defaults.read(folder, given) == same
  generator = kb.TextGenerator.from_checkpoint(str(folder))
  plain = kb.TextGenerator.from_checkpoint(str(t5))
  assert generator.generate(PROMPTS, num_beams=2) == plain.generate(
    PROMPTS, **beams | lengths | common | {"num_beams": 2}
  )
