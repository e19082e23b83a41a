"""What all tokenizers share, with a vocabulary of every kind or of one."""

import copy
import dataclasses
import json
import os
import pickle
import subprocess
import sys
import warnings

import keras
import numpy as np
import pytest
import tensorflow as tf
import tokenizers as reference

from keras_bert_impl import configs, models, tokenizers
from tests.tokenizers import vocabularies

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
TEXTS = ["the cat sat", "", "hello world, the mat", "x", "cat sat on"]
PAIRS = ["hello", "the world", "", "cat sat hello the cat sat on", "on the cat"]
SPAWNING = """
import concurrent.futures, multiprocessing, sys
from keras_bert_impl import tokenizers

def tokenize(tokenizer):
  return tokenizer.tokenize(["the cat sat"]).to_list()

if __name__ == "__main__":
  made = [tokenizers.load(folder) for folder in sys.argv[1:]]
  context = multiprocessing.get_context("spawn")
  with concurrent.futures.ProcessPoolExecutor(1, context) as pool:
    assert [*pool.map(tokenize, made)] == [*map(tokenize, made)]
"""


# Of what the kinds do not differ in.
one_kind = pytest.mark.parametrize("kind", ["wordpiece"], indirect=True)


@pytest.fixture(params=list(vocabularies.WRITERS), scope="module")
def kind(request):
  return request.param


@pytest.fixture(scope="module")
def tokenizer(kind, tmp_path_factory):
  return tokenizers.load(
    vocabularies.WRITERS[kind](tmp_path_factory.mktemp(kind))
  )


def _framed(tokenizer, frame, *texts):
  """Returns (ids, segments, words) of one row, by the frame's letters."""
  words = tokenizer.vocabulary.ids
  ids, segments, word_ids, segment = [], [], [], 0
  has_segments = tokenizer.framing.segments
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


def test_ids_are_ragged_int32_of_the_batch(tokenizer):
  ids = tokenizer.tokenize(TEXTS)
  assert ids.dtype == tf.int32
  assert ids.shape.as_list() == [len(TEXTS), None]
  empty = tf.constant([], tf.string)
  assert tokenizer.tokenize(empty).to_list() == []
  assert tokenizer(empty)["input_ids"].shape == (0, 0)


def test_a_literal_special_token_stays_text(tokenizer):
  special = tokenizer.vocabulary.special_ids
  texts = [tokenizer.vocabulary.tokens[index] for index in special]
  ids = tokenizer.tokenize([*texts, " ".join(texts)]).flat_values.numpy()
  assert {*special} & {*ids} <= {tokenizer.vocabulary.unk_id}


@pytest.mark.parametrize("max_seq_length", [None, 6, 7, 8, 13])
def test_rows_are_framed_and_padded_and_the_longer_text_loses_its_end(
  tokenizer, kind, max_seq_length
):
  firsts, seconds = (tokenizer.tokenize(x).to_list() for x in (TEXTS, PAIRS))
  room = (max_seq_length or 1000) - len(SINGLE[kind].split()) + 1
  inputs = tokenizer(TEXTS, None, max_seq_length, with_word_ids=True)
  rows = [[row[:room]] for row in firsts]
  _check(tokenizer, inputs, SINGLE[kind], rows)
  room = (max_seq_length or 1000) - len(PAIR[kind].split()) + 2
  for first, second in zip(firsts, seconds, strict=True):
    while len(first) + len(second) > room:
      (first if len(first) > len(second) else second).pop()
  inputs = tokenizer(TEXTS, PAIRS, max_seq_length, with_word_ids=True)
  _check(tokenizer, inputs, PAIR[kind], list(zip(firsts, seconds, strict=True)))


@one_kind
def test_with_a_tokenizer_json_pairs_are_cut_as_the_library_cuts_them(
  tokenizer, tmp_path
):
  tokenizer.save(tmp_path)
  path = str(tmp_path / "tokenizer.json")
  ours, library = tokenizers.load(path), reference.Tokenizer.from_file(path)
  words = "the hello world mask cls token the play".split()
  pairs = [
    (" ".join(words[:a]), " ".join(words[:b]))
    for a in range(len(words))
    for b in range(len(words))
  ]
  for longest in range(5, 13):
    library.enable_truncation(longest)
    expected = [each.ids for each in library.encode_batch(pairs)]
    found = ours(*zip(*pairs, strict=True), longest)
    kept = tf.ragged.boolean_mask(found["input_ids"], found["input_mask"] > 0)
    assert kept.to_list() == expected


@pytest.mark.parametrize("kind", ["wordpiece", "byte_bpe"], indirect=True)
def test_the_framing_is_that_of_the_family_whatever_the_kind(kind, tmp_path):
  path = vocabularies.WRITERS[kind](tmp_path)
  cls, sep = SINGLE[kind].replace(" A", "").split()
  for family, frame in (
    ("bert", f"{cls} A {sep} B {sep}"),
    ("roberta", f"{cls} A {sep} {sep} B {sep}"),
  ):
    tokenizer = tokenizers.load(path, family=family)
    tokenizer = pickle.loads(pickle.dumps(tokenizer))
    assert tokenizer.num_special_tokens(2) == len(frame.split()) - 2
    assert tokenizer.framing.segments == (family == "bert")
    inputs = tokenizer(["the cat"], ["sat"], with_word_ids=True)
    sides = tokenizer.tokenize(["the cat", "sat"]).to_list()
    _check(tokenizer, inputs, frame, [sides])


@one_kind
@pytest.mark.parametrize(
  "sides, options, message",
  [
    ([["a"]], {"max_seq_length": 2}, r"max_seq_length \(2\) .* at least 3: 2"),
    ([["a"], ["b"]], {"max_seq_length": 4}, "at least 5: 3 special"),
    ([[["a"]]], {}, "must be a str or a list"),
    (["a", ["b"]], {}, r"not of shape \(\) and \(1,\)"),
    ([TEXTS, PAIRS[:3]], {}, "5 texts have 3 text_pairs"),
    ([TEXTS], {"padding": "max_length"}, "max_length needs max_seq_length"),
    ([TEXTS], {"padding": "longer"}, r"padding \('longer'\) must be one of"),
  ],
)
def test_what_cannot_be_made_rows_of_is_refused(
  tokenizer, sides, options, message
):
  with pytest.raises(ValueError, match=message):
    tokenizer(*sides, **options)


@one_kind
def test_pieces_of_pairs_must_be_as_many_as_of_texts(tokenizer):
  with pytest.raises(ValueError, match="5 texts have 3 text_pairs"):
    tokenizer.assemble(*map(tokenizer.tokenize, (TEXTS, PAIRS[:3])))


@one_kind
def test_a_single_text_gives_what_a_batch_of_it_does(tokenizer):
  mask = tokenizer.vocabulary.mask_token
  for method, text in (
    (tokenizer, "hello world"),
    (tokenizer.tokenize, "hello world"),
    (tokenizer.tokenize, ""),
    (tokenizer.tokenize, b"the cat"),
    (tokenizer.tokenize_with_offsets, "hello world"),
    (tokenizer.split_words_with_offsets, "hello world"),
    (tokenizer.tokenize_with_word_ids, "hello world"),
    (tokenizer.tokenize_around_masks, f"the {mask} sat"),
  ):
    tf.nest.map_structure(
      lambda one, batch: np.testing.assert_array_equal(one, batch[0]),
      method(text),
      method([text]),
    )
  pair = tokenizer("the cat", "sat")["input_ids"]
  np.testing.assert_array_equal(
    pair, tokenizer(["the cat"], ["sat"])["input_ids"][0]
  )


@one_kind
def test_padding_to_the_longest_allowed_fixes_the_shape(tokenizer):
  short = tokenizer(TEXTS, PAIRS, 30)
  long = tokenizer(TEXTS, PAIRS, 30, padding="max_length")
  pad_ids = {"input_ids": tokenizer.vocabulary.pad_id}
  for name, values in long.items():
    assert values.shape == (len(TEXTS), 30)
    length = short[name].shape[1]
    np.testing.assert_array_equal(values[:, :length], short[name])
    assert np.all(values[:, length:] == pad_ids.get(name, 0))


@one_kind
def test_without_truncation_a_long_sequence_is_an_error(tokenizer):
  longest = tokenizer(TEXTS)["input_ids"].shape[1]
  inputs = tokenizer(TEXTS, max_seq_length=longest, truncation=False)
  assert inputs["input_ids"].shape[1] == longest
  with pytest.raises(tf.errors.InvalidArgumentError, match="truncation=True"):
    tokenizer(TEXTS, max_seq_length=longest - 1, truncation=False)


@one_kind
def test_a_data_pipeline_knows_the_fixed_shapes(tokenizer):
  dataset = tf.data.Dataset.from_tensor_slices((TEXTS, PAIRS))

  def assemble(text, pair):
    return tokenizer(text, pair, 9, padding="max_length")

  batch = dict(batch_size=len(TEXTS), drop_remainder=True)
  expected = tokenizer(TEXTS, PAIRS, 9, "max_length")
  for made in (
    dataset.map(assemble).batch(**batch),
    dataset.batch(**batch).map(assemble),
  ):
    for spec in made.element_spec.values():
      assert spec.shape == (len(TEXTS), 9)
    [found] = made
    for name, values in expected.items():
      np.testing.assert_array_equal(found[name], values)


@one_kind
def test_a_model_on_an_encoders_input_takes_what_it_makes(tokenizer):
  config = configs.EncoderConfig(
    vocab_size=tokenizer.vocab_size,
    hidden_size=8,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=8,
    max_position_embeddings=32,
  )
  encoder = models.TransformerEncoder(config)
  model = keras.Model(encoder.input, encoder.output)
  with warnings.catch_warnings():
    warnings.simplefilter("error")
    model(tokenizer(TEXTS))
    model.predict(tokenizer(TEXTS), verbose=0)


@one_kind
def test_text_comes_back_from_ids_of_any_form(tokenizer):
  ids = tokenizer.tokenize(["the cat", "hello"])
  expected = tokenizer.detokenize(ids).numpy().tolist()
  rows = ids.to_list()
  for form in (
    rows,
    [np.array(row) for row in rows],
    tuple(map(tf.constant, rows)),
    tokenizer(["the cat", "hello"])["input_ids"],
    tokenizer(["the cat", "hello"])["input_ids"].numpy().tolist(),
  ):
    assert tokenizer.detokenize(form).numpy().tolist() == expected
  for form in (rows[0], np.array(rows[0]), ids[0]):
    assert tokenizer.detokenize(form).numpy() == expected[0]
  assert tokenizer.detokenize([]).shape == (0,)
  assert tokenizer.detokenize([[], rows[1]]).numpy().tolist() == [
    b"",
    expected[1],
  ]


def test_copies_and_what_is_saved_give_the_same_ids(
  kind, tmp_path, monkeypatch
):
  option = {
    "wordpiece": {"do_lower_case": False},
    "byte_bpe": {"add_prefix_space": True},
    "sentencepiece": {"do_lower_case": True, "keep_accents": False},
  }[kind]
  monkeypatch.chdir(tmp_path)
  path = vocabularies.WRITERS[kind](".")
  first = tokenizers.load(path, **option)
  expected = first.tokenize(TEXTS).to_list()
  pickled = pickle.dumps(first)
  (tmp_path / "elsewhere").mkdir()
  monkeypatch.chdir(tmp_path / "elsewhere")
  for second in (pickle.loads(pickled), copy.copy(first)):
    assert type(second) is type(first)
    assert second.options == first.options
    assert second.name == first.name
    assert second.tokenize(TEXTS).to_list() == expected
  path = first.save(tmp_path / "to")
  assert os.path.dirname(path) == str(tmp_path / "to")
  second = tokenizers.load(tmp_path / "to")
  assert second.vocabulary.origin == path
  assert second.options == first.options
  assert second.vocabulary.fingerprint == first.vocabulary.fingerprint
  assert second.tokenize(TEXTS).to_list() == expected


def test_a_copy_of_changed_files_is_refused(tmp_path):
  path = vocabularies.write(tmp_path, ["one", "two"])
  pickled = pickle.dumps(tokenizers.load(path))
  vocabularies.write(tmp_path, ["two", "one"])
  with pytest.raises(ValueError, match="vocab.txt was changed since"):
    pickle.loads(pickled)


@pytest.mark.slow
def test_processes_that_are_spawned_take_it_along(tmp_path):
  folders = [tmp_path / kind for kind in vocabularies.WRITERS]
  for folder, write in zip(folders, vocabularies.WRITERS.values(), strict=True):
    folder.mkdir()
    write(folder)
  script = tmp_path / "script.py"
  script.write_text(SPAWNING)
  subprocess.run([sys.executable, script, *folders], check=True, timeout=500)


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


def test_texts_may_be_a_column_of_a_table(tokenizer):
  pandas = pytest.importorskip("pandas")
  texts = ["the cat", "sat"]
  expected = tokenizer(texts)["input_ids"]
  for dtype in (object, "string"):
    column = pandas.Series(texts, dtype=dtype)
    np.testing.assert_array_equal(tokenizer(column)["input_ids"], expected)
  with pytest.raises(ValueError, match=r"^texts .* must be a str or a list"):
    tokenizer(np.array(["the", None], object))


def test_an_option_of_another_kind_is_refused(kind, tmp_path):
  path = vocabularies.WRITERS[kind](tmp_path)
  wrong = "do_lower_case" if kind == "byte_bpe" else "add_prefix_space"
  with pytest.raises(ValueError, match=f"{wrong} is no option for .*{kind}"):
    tokenizers.load(path, **{wrong: True})
  # What is None was not given.
  assert tokenizers.load(path, **{wrong: None}).vocabulary.kind == kind


@pytest.mark.parametrize(
  "kind, family, config, expected",
  [
    ("wordpiece", "Bert", {"do_lower_case": False}, (False,)),
    ("byte_bpe", "Roberta", {"trim_offsets": True}, (False,)),
    ("byte_bpe", "Roberta", {"add_prefix_space": True}, (True,)),
    ("sentencepiece", "Albert", {"max_len": 512}, (True, False, True)),
    ("sentencepiece", "XLNet", {"keep_accents": True}, (False, True, True)),
  ],
)
def test_the_files_of_transformers_are_understood(
  tmp_path, kind, family, config, expected
):
  vocabularies.WRITERS[kind](tmp_path)
  mask = "[MASK]" if kind != "byte_bpe" else "<mask>"
  config |= {"mask_token": {"content": mask, "lstrip": True}}
  config["tokenizer_class"] = f"{family}Tokenizer"
  (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
  tokenizer = tokenizers.load(tmp_path)
  options = type(tokenizer.options)(*expected)
  if kind == "wordpiece":  # The limit of transformers, not the original's.
    options = dataclasses.replace(options, max_input_chars_per_word=100)
  assert tokenizer.options == options
  assert tokenizer.vocabulary.mask_token == mask


def test_a_folder_without_a_vocabulary_or_with_two_is_refused(tmp_path):
  with pytest.raises(
    FileNotFoundError, match="has no vocabulary: add tokenizer.json, vocab.txt"
  ):
    tokenizers.load(tmp_path)
  vocabularies.write(tmp_path)
  vocabularies.write_byte_bpe(tmp_path)
  with pytest.raises(ValueError, match=r"\(vocab.txt, vocab.json\): name the"):
    tokenizers.load(tmp_path)


def test_a_model_of_any_name_is_found_in_its_folder(tmp_path):
  path = vocabularies.write_sentencepiece(tmp_path)
  os.rename(path, tmp_path / "30k-clean.model")
  assert tokenizers.load(tmp_path).vocabulary.kind == "sentencepiece"


@one_kind
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


@one_kind
def test_bytes_that_are_no_text_are_in_no_word(tokenizer):
  words, starts, _ = tokenizer.split_words_with_offsets([b"a\xffb\xed\xa0 c"])
  assert words.to_list() == [[b"ab", b"c"]]
  assert starts.to_list() == [[0, 3]]


def test_it_tells_what_it_is(kind, tokenizer):
  told = repr(tokenizer)
  assert type(tokenizer).__name__ in told
  assert f"vocab_size={tokenizer.vocab_size}" in told
  assert f"{tokenizer.vocabulary.origin}, " in told
  assert told.endswith(f": {PAIR[kind]}>")
  assert ("do_lower_case=" in told) == (kind != "byte_bpe")


@one_kind
def test_a_symbolic_tensor_is_told_what_to_do(tokenizer):
  text = keras.Input((), dtype="string", name="review")
  for call in (tokenizer, tokenizer.tokenize):
    with pytest.raises(ValueError, match=r"review.*dataset.map.*kb.export"):
      call(text)
