"""tokenizer.json, compared with the `tokenizers` library that defines it."""

import base64
import copy
import json
import os
import pathlib
import pickle
import struct
import unicodedata

import numpy as np
import pytest
import tensorflow as tf
import tokenizers as reference

from keras_bert_impl import tokenizers
from keras_bert_impl.serving import text_row
from keras_bert_impl.tokenizers.formats import (
  byte_alphabet,
  tokenizer_json_writing,
)
from tests.tokenizers import vocabularies

TEXTS = [
  "hello world, the mask cls token playing",
  "Hello  World Café café naïve",
  "e\u0301 한국어 中国語",
  "The cat sat on the mat, in 1987.",
  "a\u00a0b\u3000c\u2028d\te\r\nf   g",
  "a\0b a\x01b a\u200bb a\ue000b a\ufffdb \x85",
  "ΟΔΟΣ Σ İstanbul ﬁne ＡＢ ½",
  "``so'' I'm 's 😀 👩\u200d👧",
  "the [MASK] sat [SEP] <mask> x<mask>y </s><s> [UNK] <unk>",
  "",
  "   ",
  "x" * 101,
  "▁a ▁ b",
]
ADDED = {"id": 0, "content": "[PAD]", "special": True} | dict.fromkeys(
  ("single_word", "lstrip", "rstrip", "normalized"), False
)
METASPACE = {
  "type": "Metaspace",
  "replacement": "▁",
  "prepend_scheme": "always",
}
PARITY = pathlib.Path(os.environ.get("KERAS_BERT_DATA", "/-")) / "../parity"
FIXTURES = sorted((PARITY / "tokenizer_json").glob("*/tokenizer.json"))

FIRST = ("bert_uncased", "modernbert", "albert")


def json_of(kind, folder):
  """Returns the content of a tokenizer.json of a kind, to be changed."""
  made = tokenizers.load(vocabularies.WRITERS[kind](folder))
  return json.loads(
    tokenizer_json_writing.content(made.vocabulary, made.options)
  )


@pytest.fixture(scope="module")
def contents(tmp_path_factory):
  return {
    kind: json_of(kind, tmp_path_factory.mktemp(kind))
    for kind in vocabularies.WRITERS
  }


@pytest.fixture(params=list(vocabularies.WRITERS))
def content(contents, request):
  return copy.deepcopy(contents[request.param])


def changed(content, changes):
  """Returns `content` with other values at paths of names and places."""
  result = copy.deepcopy(content)
  for path, value in changes.items():
    *path, last = (int(x) if x.isdigit() else x for x in path.split("/"))
    place = result
    for name in path:
      place = place[name]
    place[last] = value
  return result


def write(folder, content):
  path = folder / "tokenizer.json"
  path.write_text(json.dumps(content), "utf-8")
  return str(path)


def check(path, texts=TEXTS):
  """Checks the ids and offsets of texts; returns the tokenizer."""
  ours, theirs = tokenizers.load(path), reference.Tokenizer.from_file(path)
  check_offsets(ours, theirs, texts)
  return ours


def check_framing(path, texts, ours=None):
  """Checks ids and segments of texts and pairs; returns the tokenizer."""
  ours = ours or tokenizers.load(path)
  theirs = reference.Tokenizer.from_file(path)
  for pairs in ([], [texts[::-1]]):
    inputs = {k: v.numpy() for k, v in ours(texts, *pairs).items()}
    for row, sides in enumerate(zip(texts, *pairs, strict=True)):
      expected = theirs.encode(*sides)
      mask = inputs["input_mask"][row]
      # Padding comes first where the last token is [CLS].
      first = 0 if mask[0] else len(mask) - len(expected.ids)
      tokens = slice(first, first + len(expected.ids))
      assert mask[tokens].all() and mask.sum() == len(expected.ids)
      assert inputs["input_ids"][row][tokens].tolist() == expected.ids
      assert inputs["segment_ids"][row][tokens].tolist() == expected.type_ids
  return ours


def check_rows(ours, cases, *sides):
  """Checks the ids of cases that have these sides."""
  found = ours(*([case[side] for case in cases] for side in sides))
  is_token = found["input_mask"] > 0
  ids = tf.ragged.boolean_mask(found["input_ids"], is_token).to_list()
  assert ids == [case["ids"] for case in cases]


def check_offsets(ours, theirs, texts):
  """Checks that pieces have the same letters of the texts.

  Marks belong to their letter here, and a blank to no piece.
  """
  ids, starts, ends = (
    values.to_list() for values in ours.tokenize_with_offsets(texts)
  )
  for row, text in enumerate(texts):
    expected = theirs.encode(text, add_special_tokens=False)
    assert ids[row] == expected.ids
    for place, (start, end) in enumerate(expected.offsets):
      if expected.tokens[place] in ("▁", "Ġ"):
        continue
      found = text[starts[row][place] : ends[row][place]]
      letters = _letters(text[start:end])
      is_mark = not letters and text[start:end] in found
      assert is_mark or _letters(found) == letters, (text, place)


def _letters(text):
  kept = (c for c in text if unicodedata.category(c)[0] != "M" and c != "▁")
  return "".join(kept).strip()


def test_each_kind_has_the_ids_of_the_library(content, tmp_path):
  path = write(tmp_path, content)
  check_framing(path, TEXTS, check(path))


def steps(*several):
  return {"type": "Sequence", "normalizers": list(several)}


def replace(pattern, content):
  return {"type": "Replace", "pattern": pattern, "content": content}


@pytest.mark.parametrize(
  "kind, changes",
  [
    (
      "wordpiece",
      {
        "normalizer/strip_accents": False,
        "normalizer/clean_text": False,
        "model/max_input_chars_per_word": 20,
      },
    ),
    (
      "wordpiece",
      {
        "normalizer/strip_accents": True,
        "normalizer/lowercase": False,
        "normalizer/handle_chinese_chars": False,
      },
    ),
    ("byte_bpe", {"normalizer": {"type": "NFKC"}}),
    (
      "byte_bpe",
      {
        "normalizer": steps(
          {"type": "NFD"}, {"type": "StripAccents"}, {"type": "Lowercase"}
        ),
        "pre_tokenizer/add_prefix_space": True,
      },
    ),
    (
      "sentencepiece",
      {
        "normalizer": steps(
          replace({"String": "ﬁ"}, "\\1"),
          replace({"Regex": r"\s{2,}|[\n\r\t]"}, " "),
        ),
        "pre_tokenizer/prepend_scheme": "never",
      },
    ),
    (
      "sentencepiece",
      {
        "normalizer": {
          "type": "Strip",
          "strip_left": False,
          "strip_right": True,
        },
        "pre_tokenizer": {
          "type": "Sequence",
          "pretokenizers": [{"type": "WhitespaceSplit"}, METASPACE],
        },
      },
    ),
  ],
)
def test_steps_give_the_ids_and_offsets_of_the_library(
  contents, tmp_path, kind, changes
):
  check(write(tmp_path, changed(contents[kind], changes)))


def test_unknown_bytes_are_pieces(contents, tmp_path):
  content = copy.deepcopy(contents["sentencepiece"])
  content["model"]["vocab"] += [
    [f"<0x{byte:02X}>", -20.0] for byte in range(256)
  ]
  content["model"]["byte_fallback"] = True
  path = write(tmp_path, content)
  ours, theirs = tokenizers.load(path), reference.Tokenizer.from_file(path)
  texts = ["語 x😀", "the ж cat"]
  for text, ids in zip(texts, ours.tokenize(texts).to_list(), strict=True):
    assert ids == theirs.encode(text, add_special_tokens=False).ids


@pytest.mark.parametrize(
  "kind, flags",
  [
    ("wordpiece", {"rstrip": True}),
    ("wordpiece", {"single_word": True, "lstrip": True, "rstrip": True}),
    ("byte_bpe", {}),
    ("byte_bpe", {"single_word": True}),
    ("sentencepiece", {"lstrip": True}),
  ],
)
def test_added_tokens_are_found_in_text(contents, tmp_path, kind, flags):
  content = copy.deepcopy(contents[kind])
  size = len(content["model"]["vocab"])
  for number, (text, normalized) in enumerate(
    [("New", True), ("New York", True), ("<x>", False), ("Ça", False)]
  ):
    named = {"id": size + number, "content": text, "normalized": normalized}
    content["added_tokens"].append(ADDED | named | {"special": False} | flags)
  texts = [
    "New York is new york, NEW  York",
    "a <x>  <x> b<x>c<X>",
    "Ça ça xÇay \u3000<x>\u2003 y",
    "  New  ",
    "NewNew New-New New\n<x><x>New 1<x> é<x> x<x>New,<x>_ <x>\u0301",
    "\u24b6<x> \u200d<x> ²<x> Ⅷ<x> <x>가 New Yorker (New York) <x>   <x> New",
    *TEXTS,
  ]
  check(write(tmp_path, content), texts)


def test_runs_of_spaces_are_tokens(contents, tmp_path):
  content = copy.deepcopy(contents["byte_bpe"])
  content["normalizer"] = {"type": "NFC"}
  size = len(content["model"]["vocab"])
  for length in (4, 3, 2):
    named = {"id": size, "content": length * " ", "normalized": True}
    content["added_tokens"].append(ADDED | named | {"special": False})
    size += 1
  check(
    write(tmp_path, content), [*TEXTS, "a  b     c\n   <mask>  e\u0301    "]
  )


MODERNBERT = pathlib.Path(__file__).parents[2] / "data/tokenizers/modernbert"


def test_the_published_modernbert_is_read_as_the_library_reads_it():
  texts = [
    *TEXTS,
    "[UNK]    x [UNK]x x[PAD] [PAD][UNK]   [MASK]  [CLS]x",
    f"a{' ' * 30}b   [UNK]{' ' * 26}c",
    "|||IP_ADDRESS|||x<|endoftext|>[unused1]",
  ]
  path = str(MODERNBERT / "tokenizer.json")
  ours = check_framing(path, texts, check(path, texts))
  # No text in UTF-8 has the 13 bytes without a token.
  missing = {*byte_alphabet.CHARACTERS} - {*ours.vocabulary.tokens}
  assert len(missing) == 13


@pytest.mark.parametrize("unk", [None, "<unk>"])
@pytest.mark.parametrize("fuses", [False, True])
def test_bytes_without_a_token_are_left_out_or_unknown(
  contents, tmp_path, unk, fuses
):
  content = copy.deepcopy(contents["byte_bpe"])
  vocab = content["model"]["vocab"]
  # As where no text that the vocabulary was learned from had them.
  for byte in {*"x\té語😀".encode()}:
    vocab[f"gone{byte}"] = vocab.pop(byte_alphabet.CHARACTERS[byte])
  known = [m for m in content["model"]["merges"] if {*m} <= vocab.keys()]
  content["model"] |= {"merges": known, "unk_token": unk, "fuse_unk": fuses}
  path = write(tmp_path, content)
  ours, theirs = tokenizers.load(path), reference.Tokenizer.from_file(path)
  texts = [*TEXTS, "x", "hexe xxhelxlo", "語語 the語"]
  expected = [theirs.encode(x, add_special_tokens=False).ids for x in texts]
  assert ours.tokenize(texts).to_list() == expected
  found = ours.tokenize_with_offsets("a語 the語")
  pieces = {*zip(*(x.numpy().tolist() for x in found), strict=True)}
  ids = ours.vocabulary.ids
  known = {(ids["a"], 0, 1), (ids["Ġthe"], 3, 6)}
  unknown = {(ids["<unk>"], 1, 2), (ids["<unk>"], 6, 7)}
  assert pieces == (known | unknown if unk else known)


@pytest.mark.parametrize(
  "content, takes_blanks",
  [
    ("wordpiece", True),
    ("byte_bpe", False),
    ("sentencepiece", True),
  ],
  indirect=["content"],
)
def test_masks_to_be_filled_take_the_blanks_that_the_file_says(
  content, tmp_path, takes_blanks
):
  token = content["added_tokens"][-1]
  token |= dict.fromkeys(("lstrip", "rstrip"), takes_blanks)
  path = write(tmp_path, content)
  ours, theirs = tokenizers.load(path), reference.Tokenizer.from_file(path)
  mask = token["content"]
  assert mask == ours.vocabulary.mask_token
  texts = [f"the  {mask} sat", f"the{mask}", f" {mask}{mask} \n cat {mask} "]
  expected = [theirs.encode(x, add_special_tokens=False).ids for x in texts]
  assert ours.tokenize_around_masks(texts).to_list() == expected
  # And so does the page of a model's attention.
  read = text_row.read_around_masks
  for text, ids in zip(texts, expected, strict=True):
    row = text_row.make(ours, [text], 100, read)
    assert [t.is_mask for t in row.tokens if t.side] == [
      index == ours.vocabulary.mask_id for index in ids
    ]
    sides = [place for place, token in enumerate(row.tokens) if token.side]
    assert row.inputs["input_ids"].numpy()[0, sides].tolist() == ids


@pytest.mark.parametrize("content", ["wordpiece"], indirect=True)
def test_words_given_one_by_one_may_be_added_tokens(content, tmp_path):
  mask = content["added_tokens"][-1]["content"]
  content["added_tokens"][-1]["lstrip"] = False
  ours = tokenizers.load(write(tmp_path, content))
  ids = ours.tokenize_tokens(tf.ragged.constant([["the", mask, "cat"]]))
  assert ids[0, 1].numpy().tolist() == [ours.vocabulary.ids[mask]]
  plain = ours.tokenize_tokens(tf.ragged.constant([["the", "cat"]]))
  assert ids[0, 0].numpy().tolist() == plain[0, 0].numpy().tolist()


@pytest.mark.parametrize("content", ["wordpiece"], indirect=True)
def test_framing_is_that_of_the_file(content, tmp_path):
  cls, sep = "[CLS]", "[SEP]"
  ids = {token["content"]: token["id"] for token in content["added_tokens"]}
  for name in ("BertProcessing", "RobertaProcessing"):
    content["post_processor"] = {
      "type": name,
      "sep": [sep, ids[sep]],
      "cls": [cls, ids[cls]],
    }
    if name == "RobertaProcessing":
      content["post_processor"] |= {
        "trim_offsets": True,
        "add_prefix_space": True,
      }
    ours = check_framing(write(tmp_path, content), ["the cat", "a"])
    assert ours.num_special_tokens(2) == 3 + (name == "RobertaProcessing")


@pytest.mark.parametrize(
  "single, pair",
  [
    ("A:0 [SEP]:0 [CLS]:2", "A:0 [SEP]:0 B:1 [SEP]:1 [CLS]:2"),
    ("A:0", "A:0 B:1"),
    ("A:0", "A:0 B:0"),
    ("A:0 [SEP]:0", "A:0 [SEP]:0 B:0 [SEP]:0"),
    ("[CLS]:0 A:0", "[CLS]:0 A:0 [CLS]:1 B:1"),
    ("[CLS]:0 A:0", "[CLS]:0 A:0 [CLS]:0 B:0"),
  ],
)
def test_framing_is_that_of_the_template(contents, tmp_path, single, pair):
  content = copy.deepcopy(contents["wordpiece"])
  ids = {token["content"]: token["id"] for token in content["added_tokens"]}

  def entries(template):
    for part in template.split():
      name, segment = part.split(":")
      kind = "Sequence" if name in "AB" else "SpecialToken"
      yield {kind: {"id": name, "type_id": int(segment)}}

  content["post_processor"] = {
    "type": "TemplateProcessing",
    "single": [*entries(single)],
    "pair": [*entries(pair)],
    "special_tokens": {
      name: {"id": name, "ids": [ids[name]], "tokens": [name]}
      for name in ("[CLS]", "[SEP]")
    },
  }
  ours = check_framing(write(tmp_path, content), ["the cat", "a"])
  assert ours.num_special_tokens(2) == len(pair.split()) - 2
  # What is written says the same.
  check_framing(ours.save(tmp_path / "saved"), ["the cat", "a"])


def test_the_names_of_special_tokens_come_from_the_file(contents, tmp_path):
  content = copy.deepcopy(contents["wordpiece"])
  vocab = content["model"]["vocab"]
  for token in content["added_tokens"]:
    role = token["content"].strip("[]").lower()
    vocab[f"<{role}>"] = len(vocab)
  ours = tokenizers.load(write(tmp_path, content))
  # Of two usual names, the one that is special here.
  assert ours.vocabulary.tokens[ours.vocabulary.pad_id] == "[PAD]"
  assert ours.vocabulary.tokens[ours.vocabulary.cls_id] == "[CLS]"


def test_it_goes_before_what_is_beside_it_unless_that_is_its_origin(
  contents, tmp_path
):
  vocabularies.write(tmp_path)
  made = tokenizers.load(tmp_path)
  path = write(tmp_path, contents["wordpiece"])
  assert tokenizers.load(tmp_path).vocabulary.origin == path
  # "[MASK]" is text to a vocab.txt, and a token to its tokenizer.json.
  assert tokenizers.load(tmp_path).tokenize("[MASK]").shape[0] == 1
  made.save(tmp_path / "saved")
  saved = tokenizers.load(tmp_path / "saved")
  assert saved.vocabulary.origin.endswith("vocab.txt")
  assert saved.tokenize("[MASK]").shape[0] == 3


def test_options_and_special_tokens_as_text_are_refused(contents, tmp_path):
  path = write(tmp_path, contents["wordpiece"])
  with pytest.raises(
    ValueError, match=r"do_lower_case is no option for .*json"
  ):
    tokenizers.load(path, do_lower_case=False)
  with pytest.raises(ValueError, match="says itself how text is normalised"):
    tokenizers.WordPieceTokenizer(path, do_lower_case=False)
  (tmp_path / "tokenizer_config.json").write_text(
    '{"split_special_tokens": true}'
  )
  with pytest.raises(ValueError, match=r"split_special_tokens \(True\) in .*"):
    tokenizers.load(tmp_path)


@pytest.mark.parametrize(
  "stored, normalizer",
  [
    (
      {"tokenizer_class": "BertTokenizerFast", "do_lower_case": False},
      {"lowercase": False},
    ),
    (
      {"tokenizer_class": "ElectraTokenizer", "strip_accents": False},
      {"strip_accents": False},
    ),
    ({"tokenizer_class": "MPNetTokenizer", "strip_accents": None}, {}),
    ({"do_lower_case": True, "tokenize_chinese_chars": False}, {"chinese": 0}),
    ({"tokenizer_class": "PreTrainedTokenizerFast"}, None),
  ],
)
def test_classes_of_bert_normalise_as_in_transformers(
  contents, tmp_path, stored, normalizer
):
  content = copy.deepcopy(contents["wordpiece"])
  content["normalizer"] |= {"lowercase": False, "handle_chinese_chars": False}
  path = write(tmp_path, content)
  # Of its own, transformers 5.24 makes BertTokenizer of "bert".
  (tmp_path / "config.json").write_text('{"model_type": "bert"}')
  (tmp_path / "tokenizer_config.json").write_text(json.dumps(stored))
  library = reference.Tokenizer.from_file(path)
  if normalizer is not None:
    chinese = bool(normalizer.pop("chinese", True))
    library.normalizer = reference.normalizers.BertNormalizer(
      handle_chinese_chars=chinese, **normalizer
    )
    library.model.max_input_chars_per_word = 100
  ours = tokenizers.load(tmp_path)
  texts = [x for x in TEXTS if "[" not in x]
  expected = [library.encode(x, add_special_tokens=False).ids for x in texts]
  ours.save(tmp_path / "copy")
  for made in (ours, tokenizers.load(tmp_path / "copy")):
    assert made.tokenize(texts).to_list() == expected


@pytest.mark.integration
@pytest.mark.parametrize(
  "content",
  [
    # Added tokens, which only a tokenizer.json has, and an op of its own. Other
    # tokenizers, and offsets, are exported by the tests of servables.
    "sentencepiece",
    *(
      pytest.param(k, marks=pytest.mark.slow) for k in ("wordpiece", "byte_bpe")
    ),
  ],
  indirect=True,
)
def test_it_works_in_data_sets_saved_models_and_pickles(content, tmp_path):
  ours = tokenizers.load(write(tmp_path, content))
  expected = ours(TEXTS, max_seq_length=16)["input_ids"].numpy()
  data = tf.data.Dataset.from_tensor_slices(TEXTS).batch(len(TEXTS))
  [batch] = data.map(lambda some: ours(some, max_seq_length=16))
  np.testing.assert_array_equal(batch["input_ids"], expected)
  copied = pickle.loads(pickle.dumps(ours))
  assert copied.tokenize(TEXTS).to_list() == ours.tokenize(TEXTS).to_list()

  module = tf.Module()
  module.tokenizer = ours

  @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
  def serve(texts):
    return ours(texts, max_seq_length=16)

  tf.saved_model.save(module, tmp_path / "model", signatures=serve)
  assert (tmp_path / "model/assets/tokenizer.json").exists()
  served = tf.saved_model.load(tmp_path / "model").signatures[
    "serving_default"
  ](tf.constant(TEXTS))
  np.testing.assert_array_equal(served["input_ids"], expected)


@pytest.mark.parametrize(
  "kind, path, value, message",
  [
    ("wordpiece", "model", [], r"model in .* must be an object"),
    ("wordpiece", "model/type", "X", "'X'.* one of WordP"),
    ("wordpiece", "model/vocab", [], "vocab in model .* an object"),
    ("wordpiece", "model/vocab", {}, "is not in its vocab"),
    ("wordpiece", "model/vocab/a", "1", "id of 'a' .* an integer"),
    ("wordpiece", "model/vocab/a", 0, "same id"),
    ("wordpiece", "model/vocab/a", 10**9, "but no token has"),
    ("wordpiece", "model/unk_token", "none", "no token 'none', which"),
    ("wordpiece", "model/continuing_subword_prefix", "@@", "only '##' is"),
    ("wordpiece", "model/max_input_chars_per_word", 9999, "at most 1000"),
    ("wordpiece", "pre_tokenizer", {"type": "Split"}, "only BertPre.* either"),
    ("wordpiece", "normalizer", {}, "has no 'type'"),
    ("wordpiece", "normalizer/lowercase", 1, "true or false"),
    ("wordpiece", "added_tokens", {}, "added_tokens in .* must be a list"),
    ("wordpiece", "added_tokens", [ADDED | {"id": 1}], "'.PAD.'.* id 1, but 0"),
    (
      "wordpiece",
      "added_tokens",
      [ADDED | {"content": "x y", "id": 3}],
      "id 3, which '.SEP",
    ),
    ("wordpiece", "added_tokens", [ADDED | {"content": ""}], "not be empty"),
    ("wordpiece", "post_processor/pair", [], "frames pairs as ''"),
    ("wordpiece", "post_processor", {"type": "X"}, "only TemplateProcessing"),
    ("wordpiece", "post_processor/special_tokens", {}, "has no '.CLS.'"),
    ("byte_bpe", "model/merges", ["a b c"], "entry 0: .* must be two"),
    ("byte_bpe", "model/merges", [["q", "zz"]], "not in the vocab"),
    (
      "byte_bpe",
      "model/merges",
      ["h e", ["h", "e"]],
      "entry 1: 'h e' stands in 0 too",
    ),
    ("byte_bpe", "model/merges", None, "merges in .* a list"),
    ("byte_bpe", "model/dropout", 0.1, "dropout .0.1.* only None"),
    ("byte_bpe", "model/ignore_merges", 1.5, "ignore_merges .1.5"),
    ("byte_bpe", "model/byte_fallback", True, "byte_fallback .True"),
    ("sentencepiece", "model/unk_id", None, "unk_id .* an integer"),
    ("sentencepiece", "model/unk_id", 10**6, "is no id"),
    ("sentencepiece", "model/vocab", {"a": 1}, "must be a list"),
    ("sentencepiece", "model/vocab/7", ["a"], "entry 7 must be a piece"),
    ("sentencepiece", "model/vocab/7", ["a", 1e300], "entry 7 must be"),
    ("sentencepiece", "model/byte_fallback", True, "a piece for each"),
    (
      "sentencepiece",
      "normalizer",
      {"type": "Precompiled", "precompiled_charsmap": "=?"},
      "not base64",
    ),
    *(
      (kind, "normalizer", replace({"Regex": pattern}, ""), "patterns must be")
      for kind, pattern in (
        ("wordpiece", "a{1,100000}"),
        ("byte_bpe", "[z-a]"),
      )
    ),
  ],
)
def test_damage_and_what_is_not_supported_give_one_line(
  contents, tmp_path, kind, path, value, message
):
  file = write(tmp_path, changed(contents[kind], {path: value}))
  with pytest.raises(ValueError, match=message) as caught:
    tokenizers.load(file)
  assert "\n" not in str(caught.value)
  assert "tokenizer.json" in str(caught.value)


@pytest.mark.parametrize(
  "charsmap",
  [
    b"abc",
    b"\xff\xff\xff\x7fabc",
    # Places outside of the tables would be read.
    b"\x08\0\0\0abcdefgh\0",
    struct.pack("<257I", 1024, *([0xFFFFFE00] * 256)) + b"\0",
    struct.pack("<257I", 1024, *([1 << 31 | 9] * 256)) + b"\0",
  ],
)
def test_a_damaged_character_map_gives_one_line(contents, tmp_path, charsmap):
  text = base64.b64encode(charsmap).decode()
  step = {"type": "Precompiled", "precompiled_charsmap": text}
  content = changed(contents["sentencepiece"], {"normalizer": step})
  with pytest.raises(ValueError, match="precompiled_charsmap") as caught:
    tokenizers.load(write(tmp_path, content))
  assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "[]", '{"model": ', "[" * 10**5, "\xff"])
def test_what_is_no_json_gives_one_line(tmp_path, text):
  path = tmp_path / "tokenizer.json"
  path.write_text(text, "latin-1")
  with pytest.raises(ValueError) as caught:
    tokenizers.load(tmp_path)
  assert "\n" not in str(caught.value)


@pytest.mark.integration
@pytest.mark.skipif(not FIXTURES, reason="KERAS_BERT_DATA has no parity folder")
@pytest.mark.parametrize(
  "path",
  [
    # One of each kind by default; the others take as long again each.
    pytest.param(
      path,
      id=path.parent.name,
      marks=() if path.parent.name in FIRST else pytest.mark.slow,
    )
    for path in FIXTURES
  ],
)
def test_the_ids_are_those_of_transformers(path):
  lines = (path.parent / "expected.jsonl").read_bytes().splitlines()
  cases = [json.loads(line) for line in lines]
  ours = tokenizers.load(path.parent)
  singles = [case for case in cases if "text_pair" not in case]
  check_rows(ours, singles, "text")
  check_rows(ours, cases[len(singles) :], "text", "text_pair")
  theirs = reference.Tokenizer.from_file(str(path))
  # The half-width sound mark belongs to the letter before it.
  texts = [case["text"] for case in singles if "ﾟ" not in case["text"]]
  check_offsets(ours, theirs, texts)


def test_equally_probable_cuts_are_those_of_the_library(tmp_path):
  """Sums of scores in float32 would depend on the order of the terms."""
  scores = {"▁": -2.1, "b": -3.3, ".": -3.478835, "...": -7.096917}
  scores |= {"." * 4: -8.853506, "." * 16: -11.658423, "6": -3.1, "66": -5.3}
  # As a model of SentencePiece has them.
  scores = {piece: float(np.float32(x)) for piece, x in scores.items()}
  vocab = [("<unk>", 0.0), *scores.items()]
  library = reference.Tokenizer(reference.models.Unigram(vocab, 0))
  library.pre_tokenizer = reference.pre_tokenizers.Metaspace()
  path = str(tmp_path / "tokenizer.json")
  library.save(path)
  texts = [
    word + mark * number
    for word in ("", "b", "bb", "bbb", "b b")
    for mark in (".", "6")
    for number in range(1, 40)
  ]
  ids = tokenizers.load(path).tokenize(texts).to_list()
  assert ids == [each.ids for each in library.encode_batch(texts)]
