import numpy as np
import pytest

from keras_bert_impl.tokenizers.graph import prompts
from tests.serving import toy

TEXTS = ["cat sat.", "", "the CAT"]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
  path = tmp_path_factory.mktemp("prompts") / "vocab.txt"
  toy.write_vocabulary(path)
  return toy.tokenizer(path)


def encode(tokenizer, prompt, length=16, **options):
  return prompts.encode(tokenizer, TEXTS, prompt, length, **options)


def test_a_prompt_is_part_of_the_text(tokenizer):
  inputs = encode(tokenizer, "the mat ")
  expected = tokenizer([f"the mat {text}" for text in TEXTS])
  assert inputs.keys() == expected.keys()
  for name, values in expected.items():
    np.testing.assert_array_equal(inputs[name], values)


def test_what_is_not_pooled_is_the_prompt_with_the_first_token(tokenizer):
  inputs = encode(tokenizer, "the mat ", include_prompt=False)
  mask = [[0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1, 0]]
  np.testing.assert_array_equal(inputs["pooling_mask"], mask)


def test_without_a_prompt_everything_is_pooled(tokenizer):
  inputs = encode(tokenizer, "", include_prompt=False)
  np.testing.assert_array_equal(inputs["pooling_mask"], inputs["input_mask"])


def test_of_a_prompt_that_fills_the_row_the_last_token_is_pooled(tokenizer):
  inputs = encode(tokenizer, "cat " * 9, 6, include_prompt=False)
  np.testing.assert_array_equal(inputs["pooling_mask"], [[0] * 5 + [1]] * 3)


def test_texts_and_prompt_are_lower_cased_on_request(tmp_path):
  toy.write_vocabulary(tmp_path / "vocab.txt")
  cased = toy.wordpiece.WordPieceTokenizer(
    str(tmp_path / "vocab.txt"), do_lower_case=False
  )
  inputs = encode(cased, "The ", do_lower_case=True)
  expected = encode(cased, "the ")["input_ids"].numpy()
  assert (expected[2] == cased.vocabulary.unk_id).any()
  assert not (inputs["input_ids"].numpy()[2] == cased.vocabulary.unk_id).any()
