"""Texts as rows of tokens that people can read."""

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import heads, kinds, tokenizers
from keras_bert_impl.serving import text_row
from keras_bert_impl.tokenizers.formats import tokenizer_options
from keras_bert_impl.tokenizers.formats import vocabularies as vocabulary
from keras_bert_impl.tokenizers.graph import prompts, token_pieces
from tests.tokenizers import vocabularies
from tests.visualization import toy


def make(*texts, max_seq_length=toy.LENGTH, **options):
  return text_row.make(toy.tokenizer(), list(texts), max_seq_length, **options)


def texts_of(row):
  return [token.text for token in row.tokens]


def test_the_inputs_are_those_of_the_tokenizer():
  for texts in (["the cat"], ["the cat", "a dog ."]):
    row = make(*texts)
    expected = toy.tokenizer()(*([text] for text in texts))
    assert set(row.inputs) == set(expected)
    for name, values in expected.items():
      np.testing.assert_array_equal(row.inputs[name], values)


def test_tokens_are_what_the_text_has_even_if_the_vocabulary_has_others():
  row = make("The  CAT zzz.")
  assert texts_of(row) == ["[CLS]", "The", "CAT", "zzz", ".", "[SEP]"]
  pieces = [token.piece for token in row.tokens]
  assert pieces == ["[CLS]", "the", "cat", "[UNK]", ".", "[SEP]"]


@pytest.fixture
def decomposing(tmp_path):
  """A tokenizer whose tokens are parts of syllables."""
  tokens = [*vocabulary.SPECIAL_TOKENS, "ᄀ", "##ᅡ", "##ᆼ", "a"]
  path = tmp_path / "vocab.txt"
  path.write_text("\n".join(tokens) + "\n", encoding="utf-8")
  options = tokenizer_options.WordPieceOptions(do_lower_case=True)
  return tokenizers.load(str(path), **vars(options))


def test_a_syllable_of_several_tokens_is_whole_in_each(decomposing):
  row = text_row.make(decomposing, ["강 a가"], 20)
  assert texts_of(row)[1:-1] == ["강", "강", "강", "a가"]
  row = text_row.make(decomposing, ["강 가 a"], 20)
  assert texts_of(row)[1:-1] == ["강", "강", "강", "가", "가", "a"]
  pieces = [token.piece for token in row.tokens]
  assert pieces[1:4] == ["ᄀ", "##ᅡ", "##ᆼ"]


def test_the_sides_of_a_pair_are_told_apart():
  row = make("the cat", "dog .")
  assert [token.side for token in row.tokens] == [0, 1, 1, 0, 2, 2, 0]
  assert row.places(2) == [4, 5] and row.places(1, 2) == [1, 2, 4, 5]


def test_a_long_text_is_cut_as_the_tokenizer_cuts_it():
  row = make("the cat sees the dog .", "a 고양이", max_seq_length=8)
  cut = "[CLS] the cat sees [SEP] a 고양이 [SEP]"
  assert " ".join(texts_of(row)) == cut
  assert row.num_tokens == 11
  assert make("the cat").num_tokens == 4


def test_masks_are_read_only_if_they_are_to_be():
  texts = ["the  [MASK] sees[MASK]."]
  row = make(*texts, reader=text_row.read_around_masks)
  assert texts_of(row)[1:-1] == ["the", "[MASK]", "sees", "[MASK]", "."]
  assert [token.is_mask for token in row.tokens].count(True) == 2
  ids = toy.tokenizer().tokenize_around_masks(texts).to_list()[0]
  assert row.inputs["input_ids"].numpy()[0, 1:-1].tolist() == ids
  assert not any(token.is_mask for token in make(*texts).tokens)


@pytest.mark.integration
@pytest.mark.parametrize(
  "write",
  [
    vocabularies.write,
    vocabularies.write_byte_bpe,
    vocabularies.write_sentencepiece,
  ],
)
@pytest.mark.parametrize("unit", token_pieces.UNITS)
def test_a_tagger_reads_each_token_by_itself(tmp_path, write, unit):
  tokenizer = tokenizers.load(write(tmp_path))
  text = "hello, unwanted  가나 world"
  is_word = unit == token_pieces.WORD
  tokens = (
    ["hello", ",", "unwanted", "가나", "world"] if is_word else list(text)
  )
  read = kinds.servables()[heads.TOKEN_CLASSIFICATION].reader(
    {"trained_on": f"{unit}s"}
  )
  row = text_row.make(tokenizer, [text], 100, read)
  pieces = tokenizer.tokenize_tokens(tf.ragged.constant([tokens]), unit)
  expected = pieces.merge_dims(1, 2).to_list()[0]
  assert row.inputs["input_ids"].numpy()[0, 1:-1].tolist() == expected
  texts = [row.tokens[place].text for place in row.places(1)]
  assert len(texts) == len(expected)
  if not is_word:
    assert all(len(token.strip("▁")) <= 1 for token in texts)


def test_a_tagger_trained_on_raw_text_reads_it_as_it_is(tmp_path):
  tokenizer = tokenizers.load(vocabularies.write_byte_bpe(tmp_path))
  read = kinds.servables()[heads.TOKEN_CLASSIFICATION].reader({})
  row = text_row.make(tokenizer, ["the cat's"], 100, read)
  texts = [row.tokens[place].text for place in row.places(1)]
  assert texts == ["t", "he", "cat", "'s"]


def test_an_encoder_reads_its_prompt_and_lower_case():
  read = text_row.prompt_reader({"prompt": "A ", "do_lower_case": True})
  tokenizer = toy.tokenizer()
  row = text_row.make(tokenizer, ["CAT 고양이"], toy.LENGTH, read)
  assert texts_of(row)[1:-1] == ["a", "cat", "고양이"]
  expected = prompts.encode(tokenizer, ["CAT 고양이"], "A ", toy.LENGTH, True)
  for name, values in expected.items():
    np.testing.assert_array_equal(row.inputs[name], values)
