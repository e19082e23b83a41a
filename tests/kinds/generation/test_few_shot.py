"""Questions after examples, beside transformers and the harness' formulas."""

import json
import pathlib
import shutil

import numpy as np
import pytest

import keras_bert_impl as kb
from keras_bert_impl.kinds.generation import few_shot

DATA = pathlib.Path(__file__).parents[2] / "data"
FIXTURE = json.loads((DATA / "few_shot.json").read_text(encoding="utf-8"))
QUESTION = {"text": "the cat", "choices": ["sat", "ran"], "label": 0}


@pytest.fixture(name="words", scope="module")
def fixture_words(tmp_path_factory):
  """The small GPT-2 of transformers, with a token for each word."""
  folder = tmp_path_factory.mktemp("few") / "gpt2"
  shutil.copytree(DATA / "decoders/gpt2", folder)
  vocab = {word: number for number, word in enumerate(FIXTURE["words"])}
  tokenizer = {
    "version": "1.0",
    "added_tokens": [],
    "pre_tokenizer": {"type": "Whitespace"},
    "model": {"type": "WordLevel", "vocab": vocab, "unk_token": "[UNK]"},
  }
  (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
  return kb.TextGenerator.from_checkpoint(folder)


@pytest.mark.parametrize("number", [0, 1])
def test_scores_are_those_of_transformers_and_its_harness(words, number):
  found = words.few_shot(FIXTURE["questions"], [FIXTURE["example"]], number)
  expected = FIXTURE["expected"][str(number)]
  np.testing.assert_allclose(
    [answer.scores for answer in found["answers"]], expected["sums"], rtol=1e-5
  )
  for name in ("acc", "acc_norm", "acc_bytes"):
    assert found["scores"][name] == pytest.approx(expected[name])
    error = found["scores"][f"{name}_stderr"]
    assert error == pytest.approx(expected[f"{name}_stderr"])


def test_rolling_perplexity_is_that_of_the_harness(words):
  found = words.rolling_perplexity([FIXTURE["document"]])
  assert found == pytest.approx(FIXTURE["rolling"], rel=1e-5)
  twice = words.rolling_perplexity([FIXTURE["document"]] * 2)
  assert twice == pytest.approx(found, rel=1e-6)


def test_a_choice_is_the_likeliest_by_its_length(words):
  question = FIXTURE["questions"][0]
  [answer] = words.few_shot([question])["answers"]
  by_tokens = np.array(answer.scores) / answer.num_tokens
  assert answer.chosen["acc_tokens"] == int(np.argmax(by_tokens))
  assert answer.num_tokens == [len(x.split()) for x in question["choices"]]


def test_examples_are_drawn_by_the_seed_and_are_not_the_question(gpt):
  generator = kb.TextGenerator.from_checkpoint(gpt)
  examples = [QUESTION | {"text": text} for text in ("a", "b", "the cat", "d")]
  found = generator.few_shot([QUESTION] * 3, examples, 2, random_seed=1)
  again = generator.few_shot([QUESTION] * 3, examples, 2, random_seed=1)
  assert found == again
  prompts = {
    f"{one} sat\n\n{other} sat\n\nthe cat": (one, other)
    for one in "abd"
    for other in "abd"
    if one != other
  }
  known = {
    prompt: generator.score(prompt, [" sat", " ran"]) for prompt in prompts
  }
  for answer in found["answers"]:
    assert any(
      np.allclose(answer.scores, scores, rtol=1e-4) for scores in known.values()
    )
  assert len({answer.scores[0] for answer in found["answers"]}) > 1


@pytest.mark.parametrize("name", ["gpt", "kobart"])
def test_prompts_lose_the_first_examples_where_there_is_no_room(
  folder_of, name, caplog
):
  generator = kb.TextGenerator.from_checkpoint(folder_of(name))
  if name == "kobart":
    generator = kb.TextGenerator.from_checkpoint(
      folder_of(name), max_seq_length=20
    )
  long = {"text": "x" * 40, "choices": ["sat", "ran"], "label": 1}
  examples = [long | {"text": f"{k}" * 40} for k in range(3)]
  found = generator.few_shot([QUESTION], examples)
  [answer] = found["answers"]
  assert answer.num_examples < 3
  assert "1 of 1 prompts have fewer than 3 examples" in caplog.text
  blank = "" if name == "kobart" else " "
  order = np.random.default_rng((0, 0)).choice(3, 3, False)
  kept = [examples[k]["text"] + " ran" for k in order][
    3 - answer.num_examples :
  ]
  prompt = "\n\n".join([*kept, "the cat"])
  scores = generator.score(prompt, [f"{blank}sat", f"{blank}ran"])
  np.testing.assert_allclose(answer.scores, scores, rtol=1e-4)


def test_a_question_without_room_loses_its_beginning(gpt):
  generator = kb.TextGenerator.from_checkpoint(gpt)
  texts = [f"{'é ' * 200}the cat", f"{'x' * 500} the cat"]
  long = [QUESTION | {"text": text} for text in texts]
  for text, answer in zip(
    texts, generator.few_shot(long)["answers"], strict=True
  ):
    while True:
      text = text[-(-len(text) // 10) :]
      try:
        expected = generator.score(text, [" sat", " ran"])
        break
      except ValueError:
        continue
    np.testing.assert_allclose(answer.scores, expected, rtol=1e-4)


def test_questions_without_labels_are_answered_but_not_scored(gpt):
  generator = kb.TextGenerator.from_checkpoint(gpt)
  unknown = {name: QUESTION[name] for name in ("text", "choices")}
  found = generator.few_shot([unknown])
  assert found["scores"] == {}
  [answer] = found["answers"]
  expected = generator.score("the cat", [" sat", " ran"])
  np.testing.assert_allclose(answer.scores, expected, rtol=1e-4)
  assert {*answer.chosen} == {*few_shot.METRICS}
  assert answer.chosen["acc"] == int(np.argmax(expected))
  [one] = generator.few_shot([QUESTION])["answers"]
  assert one == answer


def test_wrong_questions_are_named(gpt, t5):
  generator = kb.TextGenerator.from_checkpoint(gpt)
  for data, examples, number, message in (
    ([QUESTION], [QUESTION], 2, r"num_examples \(2\) must be at most 1, the"),
    ([QUESTION], [], -1, r"num_examples \(-1\) must be"),
    ([QUESTION | {"choices": ["a", " "]}], [], 0, r"data\[0\] has an empty ch"),
    ([QUESTION | {"label": 2}], [], 0, r"data\[0\].label \(2\) must be an int"),
    ([QUESTION], [QUESTION | {"label": None}], 1, r"examples\[0\].label"),
    (
      [QUESTION, QUESTION | {"choices": ["a", "b" * 99]}],
      [QUESTION],
      1,
      r"data\[1\] has a choice with more tokens than the model has room for",
    ),
  ):
    with pytest.raises(ValueError, match=message):
      generator.few_shot(data, examples, number)
  with pytest.raises(ValueError, match="has a decoder: perplexity"):
    kb.TextGenerator.from_checkpoint(t5).rolling_perplexity(["a b"])
