"""What all tokenizers share, each time with a vocabulary of every kind."""

import json
import os
import random

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import tokenizers
from keras_bert_impl.tokenizers import vocabulary
from tests.tokenizers import vocabularies

WRITERS = {
  "wordpiece": vocabularies.write,
  "byte_bpe": vocabularies.write_byte_bpe,
  "sentencepiece": vocabularies.write_sentencepiece,
}
# [CLS] A [SEP] and [CLS] A [SEP] B [SEP], by the tokens of each kind.
SINGLE = {
  "wordpiece": "[CLS] A [SEP]",
  "byte_bpe": "<s> A </s>",
  "sentencepiece": "[CLS] A [SEP]",
}
PAIR = {
  "wordpiece": "[CLS] A [SEP] B [SEP]",
  "byte_bpe": "<s> A </s> </s> B </s>",
  "sentencepiece": "[CLS] A [SEP] B [SEP]",
}
TEXTS = ["the cat sat", "", "hello world, the mat", "x"]
PAIRS = ["hello", "the world", "", "cat sat hello the cat sat on"]


@pytest.fixture(params=list(WRITERS))
def kind(request):
  return request.param


@pytest.fixture
def tokenizer(kind, tmp_path):
  return tokenizers.load(WRITERS[kind](tmp_path))


def _framed(tokenizer, frame, *texts):
  """Returns (ids, segments, words) of one row, by the frame's letters."""
  words = tokenizer.vocabulary.ids
  ids, segments, word_ids, segment = [], [], [], 0
  has_segments = "[SEP]" in frame
  for part in frame.split():
    if part in "AB":
      segment = "AB".index(part) * has_segments
      row = texts["AB".index(part)]
      ids += row
      word_ids += _word_ids(tokenizer, row)
      segments += [segment] * len(row)
    else:
      ids.append(words[part])
      word_ids.append(-1)
      segments.append(segment)
  return ids, segments, word_ids


def _word_ids(tokenizer, row):
  continues = tokenizer.vocabulary.is_continuation
  words = []
  for index in row:
    words.append(words[-1] + (not continues[index]) if words else 0)
  return words


def _check(tokenizer, inputs, frame, rows):
  framed = [_framed(tokenizer, frame, *texts) for texts in rows]
  length = max(len(ids) for ids, _, _ in framed)
  assert set(inputs) == {"input_ids", "input_mask", "segment_ids", "word_ids"}
  for values in inputs.values():
    assert values.dtype == tf.int32
    assert values.shape == (len(rows), length)
  for row, (ids, segments, words) in enumerate(framed):
    padding = length - len(ids)
    pad = [tokenizer.vocabulary.pad_id] * padding
    got = {
      name: values[row].numpy().tolist() for name, values in inputs.items()
    }
    assert got == {
      "input_ids": ids + pad,
      "input_mask": [1] * len(ids) + [0] * padding,
      "segment_ids": segments + [0] * padding,
      "word_ids": words + [-1] * padding,
    }


def test_a_text_is_framed_and_padded(tokenizer, kind):
  rows = tokenizer.tokenize(TEXTS).to_list()
  _check(tokenizer, tokenizer(TEXTS), SINGLE[kind], [[row] for row in rows])


def test_a_pair_is_framed_as_its_family_does(tokenizer, kind):
  firsts = tokenizer.tokenize(TEXTS).to_list()
  seconds = tokenizer.tokenize(PAIRS).to_list()
  _check(
    tokenizer, tokenizer(TEXTS, PAIRS), PAIR[kind], list(zip(firsts, seconds))
  )


@pytest.mark.parametrize("max_seq_length", [6, 7, 8, 13])
def test_the_longer_text_of_a_pair_loses_its_end_first(
  tokenizer, kind, max_seq_length
):
  rng = random.Random(max_seq_length)
  words = "the cat sat hello world on".split()
  texts, pairs = (
    [" ".join(rng.choices(words, k=rng.randrange(12))) for _ in range(40)]
    for _ in range(2)
  )
  num_special = len(PAIR[kind].split()) - 2
  rows = []
  for first, second in zip(
    tokenizer.tokenize(texts).to_list(), tokenizer.tokenize(pairs).to_list()
  ):
    while len(first) + len(second) > max_seq_length - num_special:
      (first if len(first) > len(second) else second).pop()
    rows.append((first, second))
  inputs = tokenizer(texts, pairs, max_seq_length=max_seq_length)
  _check(tokenizer, inputs, PAIR[kind], rows)


def test_a_text_loses_its_end(tokenizer, kind):
  rows = tokenizer.tokenize(TEXTS).to_list()
  inputs = tokenizer(TEXTS, max_seq_length=4)
  _check(tokenizer, inputs, SINGLE[kind], [[row[:2]] for row in rows])


def test_no_room_for_text_is_refused(tokenizer, kind):
  with pytest.raises(
    ValueError, match=r"max_seq_length \(2\) .* at least 3: 2"
  ):
    tokenizer(["a"], max_seq_length=2)
  least = len(PAIR[kind].split())
  with pytest.raises(ValueError, match=rf"at least {least}: {least - 2} spec"):
    tokenizer(["a"], ["b"], max_seq_length=least - 1)


def test_a_batch_may_be_empty(tokenizer):
  inputs = tokenizer(tf.constant([], tf.string))
  assert inputs["input_ids"].shape == (0, 0)


def test_inputs_are_made_in_a_data_pipeline_too(tokenizer):
  dataset = tf.data.Dataset.from_tensor_slices((TEXTS, PAIRS)).batch(len(TEXTS))
  [made] = dataset.map(lambda a, b: tokenizer(a, b, 9))
  for name, expected in tokenizer(TEXTS, PAIRS, 9).items():
    np.testing.assert_array_equal(made[name], expected)


def test_a_single_text_is_refused_with_the_remedy(tokenizer):
  with pytest.raises(ValueError, match="pass a list of texts"):
    tokenizer.tokenize("hello")


def test_masks_are_read_where_they_are_asked_for(tokenizer):
  mask = tokenizer.vocabulary.mask_token
  texts = tf.constant(
    [f"the {mask} sat", f"{mask}{mask}\u3000 {mask}s", "cat", ""]
  )
  mask_id = tokenizer.vocabulary.mask_id
  the, sat, s, cat = tokenizer.tokenize(["the", " sat", "s", "cat"]).to_list()
  assert tokenizer.tokenize_around_masks(texts).to_list() == [
    [*the, mask_id, *sat],
    [mask_id, mask_id, mask_id, *s],
    cat,
    [],
  ]


def test_it_is_made_again_from_the_files_it_saves(kind, tmp_path):
  options = {
    "wordpiece": {"do_lower_case": False},
    "byte_bpe": {"add_prefix_space": True},
    "sentencepiece": {"do_lower_case": True, "keep_accents": False},
  }[kind]
  (tmp_path / "from").mkdir()
  first = tokenizers.load(WRITERS[kind](tmp_path / "from"), **options)
  path = first.save(tmp_path / "to")
  assert os.path.dirname(path) == str(tmp_path / "to")
  for place in (path, tmp_path / "to"):
    second = tokenizers.load(place)
    assert second.options == first.options
    assert second.vocabulary.fingerprint == first.vocabulary.fingerprint
    assert second.tokenize(TEXTS).to_list() == first.tokenize(TEXTS).to_list()


def test_an_option_of_another_kind_is_refused(kind, tmp_path):
  path = WRITERS[kind](tmp_path)
  wrong = "do_lower_case" if kind == "byte_bpe" else "add_prefix_space"
  with pytest.raises(ValueError, match=f"{wrong} is no option for .*{kind}"):
    tokenizers.load(path, **{wrong: True})
  # What is None was not given.
  assert tokenizers.load(path, **{wrong: None}).vocabulary.kind == kind


@pytest.mark.parametrize(
  "kind, config, expected",
  [
    (
      "wordpiece",
      {"tokenizer_class": "BertTokenizer", "do_lower_case": False},
      vocabulary.TokenizerOptions(do_lower_case=False),
    ),
    (
      "byte_bpe",
      {"tokenizer_class": "RobertaTokenizer", "trim_offsets": True},
      vocabulary.BytePairOptions(add_prefix_space=False),
    ),
    (
      "byte_bpe",
      {"tokenizer_class": "RobertaTokenizer", "add_prefix_space": True},
      vocabulary.BytePairOptions(add_prefix_space=True),
    ),
    (
      "sentencepiece",
      {"tokenizer_class": "AlbertTokenizer", "model_max_length": 512},
      vocabulary.SentencePieceOptions(
        do_lower_case=True, keep_accents=False, remove_space=True
      ),
    ),
    (
      "sentencepiece",
      {"tokenizer_class": "XLNetTokenizer", "keep_accents": True},
      vocabulary.SentencePieceOptions(
        do_lower_case=False, keep_accents=True, remove_space=True
      ),
    ),
  ],
)
def test_the_files_of_transformers_are_understood(
  tmp_path, kind, config, expected
):
  WRITERS[kind](tmp_path)
  mask = "[MASK]" if kind != "byte_bpe" else "<mask>"
  config |= {"mask_token": {"content": mask, "lstrip": True}}
  (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
  tokenizer = tokenizers.load(tmp_path)
  assert tokenizer.options == expected
  assert tokenizer.vocabulary.mask_token == mask


def test_a_folder_without_a_vocabulary_or_with_two_is_refused(tmp_path):
  with pytest.raises(FileNotFoundError, match="holds no vocabulary: vocab.txt"):
    tokenizers.load(tmp_path)
  vocabularies.write(tmp_path)
  vocabularies.write_byte_bpe(tmp_path)
  with pytest.raises(ValueError, match=r"\(vocab.txt, vocab.json\): name the"):
    tokenizers.load(tmp_path)


def test_a_model_of_any_name_is_found_in_its_folder(tmp_path):
  path = vocabularies.write_sentencepiece(tmp_path)
  os.rename(path, tmp_path / "30k-clean.model")
  assert tokenizers.load(tmp_path).vocabulary.kind == "sentencepiece"


def test_words_are_cut_from_a_text_as_they_are_written(tokenizer):
  text = "\ufeffHéllo, W\u00e4\u200brld!\u3000 中国\x00 (U.S.)\n\ufffd"
  words, starts, ends = tokenizer.split_words_with_offsets([text, " ", "a b"])
  expected = "Héllo , W\u00e4\u200brld ! 中 国 ( U . S . )".split(" ")
  assert [word.decode() for word in words.to_list()[0]] == expected
  assert expected == [
    text[start:end]
    for start, end in zip(starts.to_list()[0], ends.to_list()[0])
  ]
  assert [words.to_list()[1:], starts.to_list()[1:], ends.to_list()[1:]] == [
    [[], [b"a", b"b"]],
    [[], [0, 2]],
    [[], [1, 3]],
  ]
  assert starts.dtype == ends.dtype == tf.int32


def test_bytes_that_are_no_text_are_in_no_word(tokenizer):
  words, starts, _ = tokenizer.split_words_with_offsets([b"a\xffb\xed\xa0 c"])
  assert words.to_list() == [[b"ab", b"c"]]
  assert starts.to_list() == [[0, 3]]
