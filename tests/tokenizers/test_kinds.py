"""Kinds of tokenizer.json that newer models have, as the library reads them."""

import json
import logging
import pathlib
import pickle
import random
import unicodedata

import pytest
import sentencepiece
import tensorflow as tf
import tokenizers as reference
from tokenizers import decoders, models, normalizers, pre_tokenizers

from keras_bert_impl import tokenizers
from keras_bert_impl.tokenizers import library_tokenizer
from keras_bert_impl.tokenizers.formats import (
  piece_model as piece_models,
)
from keras_bert_impl.tokenizers.formats import (
  text_rules,
  word_patterns,
)
from keras_bert_impl.tokenizers.graph import steps
from tests.tokenizers import vocabularies
from tests.tokenizers.formats.test_tokenizer_json import check_offsets

FOLDER = pathlib.Path(__file__).parents[1] / "data/tokenizers"
# Trained on a few books, with the layout of the published ones, and trimmed to
# the tokens of 15 texts; expected.jsonl is by the `tokenizers` library.
KINDS = ("eurobert", "gpt2", "kobart", "llama2", "mmbert", "o200k", "qwen2")
KINDS += ("t5",)
ODD = (
  *("don't", "I'LL", "we've", "'s", "'S", "'ſ", "'", "a", "A", "foo", "Bar"),
  *(
    "HTTPServer",
    "123",
    "1234567",
    "½",
    "①",
    "--",
    "...",
    "//",
    "/",
    "_",
    "{}",
  ),
  *(
    "e\u0301",
    "\u0301",
    "한국어",
    "中国語",
    "😀",
    "👩\u200d👧",
    "ß",
    "ǅ",
    "ʰ",
    "ª",
  ),
  *("\u200b", "\ufeff", "\0", "\x01", "\x7f", "\ufffd", "▁", "Ġ", "<mask>"),
  *("<0x0A>", "</s>", "नमस्ते", "مرحبا", "\ue000", "ﬁ", "İ", "-", "1", '"'),
)
# Characters of one to four bytes, of which some are mapped, and what goes on a
# cluster.
MAPPED = "ae Å▁ªµé½①＃ﬁカㄱ가𝐀한न😀"
MARKS = "\u0301\u0302\u0327\u3099\uff9e\u200d\u20e3\u0e33\u0903\u1161\u11a8🏻"
SPACES = (" ", " ", " ", "  ", "\t", "\n", "\r\n", "\n\n", " \n", "\n ", "   ")
SPACES += ("", "", "\u00a0", "\u3000", "\u2028", "\x0b", "\x85")


def odd_texts(number, seed=0):
  """Returns texts of odd pieces between odd white space, list of str."""
  drawn = random.Random(seed)
  return [
    "".join(
      drawn.choice(ODD) + drawn.choice(SPACES)
      for _ in range(drawn.randint(1, 12))
    )
    for _ in range(number)
  ]


@pytest.fixture(name="kind", params=KINDS)
def _kind(request):
  return FOLDER / request.param


def examples(folder):
  lines = (folder / "expected.jsonl").read_text("utf-8").split("\n")[:-1]
  return [json.loads(line) for line in lines]


def library_of(folder):
  return reference.Tokenizer.from_file(str(folder / "tokenizer.json"))


def decoded(tokenizer, ids, **options):
  texts = tokenizer.detokenize(ids, **options).numpy()
  return [text.decode("utf-8", "replace") for text in texts]


def check(path, texts, ours=None):
  """Checks ids, offsets and decoded texts; returns the tokenizer."""
  library = reference.Tokenizer.from_file(str(path))
  ours = ours or tokenizers.load(path)
  assert ours.is_in_graph
  # Of what is composed, its characters are where its bytes are.
  same = [text for text in texts if unicodedata.is_normalized("NFC", text)]
  check_offsets(ours, library, same)
  rows = [x.ids for x in library.encode_batch(texts, add_special_tokens=False)]
  frame = {*ours.vocabulary.role_ids.values()} - {
    ours.vocabulary.role_ids.get(role) for role in ("unk", "mask")
  }
  shown = [[index for index in row if index not in frame] for row in rows]
  expected = library.decode_batch(shown, skip_special_tokens=False)
  assert decoded(ours, rows) == expected
  return ours


def save(folder, made):
  path = folder / "tokenizer.json"
  made.save(str(path))
  return path


def test_each_kind_has_the_ids_and_texts_of_the_library(kind):
  ours = tokenizers.load(kind)
  cases = examples(kind)
  texts = [case["text"] for case in cases]
  ids = [case["ids"] for case in cases]
  special = ours.vocabulary.frame_ids(ours.framing)
  framed = [
    [special.get(name, name) for name, _ in ours.framing.template(1)]
  ] * len(texts)
  found = [
    [x for part in frame for x in (row if part == "A" else [part])]
    for frame, row in zip(framed, ours.tokenize(texts).to_list(), strict=True)
  ]
  assert found == ids
  assert decoded(ours, ids, skip_special_tokens=True) == [
    case["decoded"] for case in cases
  ]
  check(kind / "tokenizer.json", texts + odd_texts(60), ours)


def test_each_kind_is_the_library_s_inside_a_saved_model(kind, tmp_path):
  ours = tokenizers.load(kind)
  module = tf.Module()
  module.tokenizer = pickle.loads(pickle.dumps(ours))

  @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
  def serve(texts):
    ids, starts, ends = module.tokenizer.tokenize_with_offsets(texts)
    return {
      "ids": ids.to_tensor(-1),
      "starts": starts.to_tensor(),
      "ends": ends.to_tensor(),
      "texts": module.tokenizer.detokenize(ids, skip_special_tokens=True),
    }

  tf.saved_model.save(module, tmp_path / "model", signatures=serve)
  served = tf.saved_model.load(tmp_path / "model").signatures["serving_default"]
  texts = [case["text"] for case in examples(kind)]
  found = served(tf.constant(texts))
  library = library_of(kind)
  encoded = library.encode_batch(texts, add_special_tokens=False)
  rows = [[x for x in row if x >= 0] for row in found["ids"].numpy().tolist()]
  assert rows == [one.ids for one in encoded]
  assert [text.decode("utf-8") for text in found["texts"].numpy()] == [
    library.decode(one.ids) for one in encoded
  ]
  place = texts.index("Hello world, the cat sat on the mat.")
  shown = [
    texts[place][a:b]
    for a, b in zip(
      found["starts"][place].numpy(), found["ends"][place].numpy(), strict=True
    )
  ]
  expected = [texts[place][a:b].strip() for a, b in encoded[place].offsets]
  assert shown[: len(expected)] == expected


def test_without_the_graph_each_kind_is_the_same(kind):
  ours = tokenizers.load(kind)
  library = library_tokenizer.LibraryTokenizer(ours.vocabulary, ours.options)
  texts = [case["text"] for case in examples(kind)]
  ids = ours.tokenize(texts).to_list()
  assert library.tokenize(texts).to_list() == ids
  for skips in (False, True):
    assert decoded(library, ids, skip_special_tokens=skips) == decoded(
      ours, ids, skip_special_tokens=skips
    )


def test_words_given_one_by_one_are_as_in_texts(kind):
  ours = tokenizers.load(kind)
  words = ["the", "cat", "sat", "on", "the", "mat"]
  pieces = ours.tokenize_tokens(tf.ragged.constant([words])).to_list()
  flat = [index for word in pieces[0] for index in word]
  text = ours.tokenize([" ".join(["the", *words])]).to_list()[0]
  # The first one, which begins the text, may be another token.
  has_long = any("▁" in token.strip("▁") for token in ours.vocabulary.tokens)
  assert has_long or text[len(text) - len(flat) :] == flat
  library = library_tokenizer.LibraryTokenizer(ours.vocabulary, ours.options)
  assert (
    library.tokenize_tokens(tf.ragged.constant([words])).to_list() == pieces
  )
  # Of characters, all but the first are inside the word.
  letters = ours.tokenize_tokens(tf.ragged.constant([["t", "h"]]), "character")
  assert len(letters.to_list()[0]) == 2


@pytest.mark.parametrize(
  "pattern", word_patterns.PATTERNS, ids=word_patterns.PATTERNS.values()
)
def test_published_patterns_split_as_in_the_library(pattern):
  splitter = pre_tokenizers.Split(reference.Regex(pattern), "isolated")
  texts = odd_texts(1500)
  cut = steps.Steps(word_patterns.cuts(pattern))(tf.constant(texts))
  words = tf.strings.split(cut, sep=text_rules.CUT)
  for text, found in zip(texts, words.to_list(), strict=True):
    expected = [word for word, _ in splitter.pre_tokenize_str(text)]
    assert [word.decode("utf-8") for word in found if word] == expected, text


def trained(made, words=False):
  """Returns a `tokenizers.Tokenizer` that has learned a few sentences."""
  trainer = reference.trainers.WordLevelTrainer if words else BpeTrainer
  made.train_from_iterator(
    [*vocabularies.SENTENCES * 3, "the mat's \n x"],
    trainer(vocab_size=400, special_tokens=["<unk>", "<s>"]),
  )
  return made


BpeTrainer = reference.trainers.BpeTrainer


@pytest.mark.parametrize("split", ["Whitespace", "BertPreTokenizer"])
def test_words_may_be_tokens_and_split_in_several_ways(tmp_path, split):
  made = reference.Tokenizer(models.WordLevel(unk_token="<unk>"))
  made.pre_tokenizer = getattr(pre_tokenizers, split)()
  made.normalizer = normalizers.Lowercase()
  ours = check(
    save(tmp_path, trained(made, words=True)),
    [*vocabularies.SENTENCES, "a,b the_mat 3.5 x\u00a0y", "", *odd_texts(30)],
  )
  assert isinstance(ours, tokenizers.WordPieceTokenizer)
  assert not ours.vocabulary.is_continuation.any()


@pytest.mark.parametrize(
  "splitter, decoder",
  [
    (pre_tokenizers.Whitespace(), None),
    (pre_tokenizers.WhitespaceSplit(), decoders.Fuse()),
    (
      pre_tokenizers.Metaspace(prepend_scheme="never"),
      decoders.Metaspace(prepend_scheme="never"),
    ),
    (
      pre_tokenizers.Metaspace(split=False),
      decoders.Sequence(
        [
          decoders.Strip("▁", 1, 0),
          decoders.Fuse(),
          decoders.Replace("▁", " "),
          decoders.Strip(" ", 1, 0),
        ]
      ),
    ),
    (
      pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
      ),
      decoders.Metaspace(),
    ),
    (pre_tokenizers.Split(" ", "merged_with_previous"), decoders.Fuse()),
  ],
)
@pytest.mark.parametrize("fuse", [False, True])
def test_characters_are_merged_as_in_the_library(
  tmp_path, splitter, decoder, fuse
):
  made = reference.Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=fuse))
  made.pre_tokenizer = splitter
  if isinstance(splitter, pre_tokenizers.Split):
    made.normalizer = normalizers.Replace(" ", "▁")
  if decoder:
    made.decoder = decoder
  texts = [*vocabularies.SENTENCES, "qqq q★★ ★", "", " ", *odd_texts(30)]
  check(save(tmp_path, trained(made)), texts)


@pytest.mark.parametrize("in_order", [False, True])
def test_merges_in_any_order_are_those_of_the_library(tmp_path, in_order):
  drawn = random.Random(int(in_order))
  tokens, merges = [*"abc"], []
  while len(merges) < 80:
    pair = drawn.choice(tokens), drawn.choice(tokens)
    joined = "".join(pair)
    if joined in tokens and in_order or pair in merges or len(joined) > 8:
      continue
    merges.append(pair)
    tokens += [joined] * (joined not in tokens)
  if not in_order:
    # A piece may then be made after pairs that it is in.
    drawn.shuffle(merges)
  vocabulary = {token: index for index, token in enumerate(tokens)}
  made = reference.Tokenizer(models.BPE(vocabulary, merges))
  texts = [
    "".join(drawn.choices("abc", k=drawn.randint(1, 60))) for _ in range(400)
  ]
  check(save(tmp_path, made), texts)


def test_characters_are_mapped_by_clusters(tmp_path):
  model = piece_models.parse(piece_model(tmp_path, vocab_size=400).read_bytes())
  charsmap = model.normalizer_spec.precompiled_charsmap
  expected = normalizers.Precompiled(charsmap)
  drawn = random.Random(0)
  clusters = [
    base + "".join(drawn.choices(MARKS, k=drawn.randint(0, 3)))
    for base in drawn.choices(MAPPED, k=9000)
  ]
  texts = ["".join(clusters[i : i + 9]) for i in range(0, 9000, 9)]
  texts += odd_texts(300)
  found = steps.Steps((("character_map", charsmap),))(texts).numpy()
  for text, one in zip(texts, found, strict=True):
    assert one.decode("utf-8") == expected.normalize_str(text), ascii(text)


@pytest.mark.parametrize("ignores", [False, True])
def test_whole_words_may_go_before_merges(tmp_path, ignores):
  made = reference.Tokenizer(models.BPE())
  made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
  made.decoder = decoders.ByteLevel()
  content = json.loads(trained(made).to_str())
  # Words that no merge makes.
  for word in ("Ġcats", "Ġwas", "mat"):
    content["model"]["merges"] = [
      pair for pair in content["model"]["merges"] if "".join(pair) != word
    ]
    size = len(content["model"]["vocab"])
    content["model"]["vocab"].setdefault(word, size)
  content["model"]["ignore_merges"] = ignores
  path = tmp_path / "tokenizer.json"
  path.write_text(json.dumps(content), "utf-8")
  ours = check(path, [*vocabularies.SENTENCES, "mat cats was"])
  whole = ours.vocabulary.ids["Ġwas"] in ours.tokenize("it was").numpy()
  assert whole == ignores


@pytest.mark.parametrize(
  "part, value, message",
  [
    ("pre_tokenizer", {"type": "Digits"}, r"\(Digits, ByteLevel\)"),
    (
      "pre_tokenizer",
      {
        "type": "Split",
        "pattern": {"Regex": r"\w+|\W+"},
        "behavior": "Isolated",
        "invert": False,
      },
      r"pattern .*W\+.*GPT-2, that of Llama 3, that of Qwen 2, that",
    ),
    (
      "pre_tokenizer",
      {
        "type": "Split",
        "pattern": {"String": " "},
        "behavior": "Removed",
        "invert": False,
      },
      r"pattern \(.*String.*only that of GPT-2",
    ),
    (
      "normalizer",
      {
        "type": "Replace",
        "pattern": {"Regex": r"\w(?=x)"},
        "content": "",
      },
      "only characters, classes",
    ),
    ("normalizer", {"type": "ByteLevel"}, r"normalizer \(ByteLevel\)"),
    ("decoder", {"type": "CTC"}, r"decoder \(CTC\).*WordPiece, ByteLevel"),
  ],
)
def test_what_only_the_library_does_is_left_to_it(
  tmp_path, caplog, part, value, message
):
  made = reference.Tokenizer(models.BPE())
  made.pre_tokenizer = pre_tokenizers.ByteLevel(
    add_prefix_space=False, use_regex=part != "pre_tokenizer"
  )
  content = json.loads(trained(made).to_str())
  if value["type"] == "Digits":
    value = value | {"individual_digits": True}
  if value["type"] == "CTC":
    value = value | {"pad_token": "<s>", "word_delimiter_token": "|"}
    value["cleanup"] = False
  if part == "pre_tokenizer":
    steps_of_words = [value, content["pre_tokenizer"]]
    value = {"type": "Sequence", "pretokenizers": steps_of_words}
  content[part] = value
  path = tmp_path / "tokenizer.json"
  path.write_text(json.dumps(content), "utf-8")
  with caplog.at_level(logging.WARNING, "absl"):
    ours = tokenizers.load(path)
  [record] = [one for one in caplog.records if "library" in one.message]
  assert "\n" not in record.message and str(path) in record.message
  with pytest.raises(ValueError, match=message):
    tokenizers.BytePairTokenizer(path)
  library = reference.Tokenizer.from_file(str(path))
  texts = [*vocabularies.SENTENCES, "abc 123  def"]
  expected = [library.encode(text).ids for text in texts]
  for same in (ours, pickle.loads(pickle.dumps(ours))):
    assert same.tokenize(texts).to_list() == expected
  assert decoded(ours, expected) == library.decode_batch(expected)
  other = tmp_path / "other"
  assert tokenizers.load(ours.save(other)).tokenize(texts).to_list() == expected


@pytest.mark.acceptance
@pytest.mark.parametrize(
  "name",
  ["bart", "course", *KINDS, "modernbert_base", "t5_small"],
)
def test_4000_lines_have_the_ids_and_texts_of_the_library(name):
  if not vocabularies.DATA:
    pytest.skip("KERAS_BERT_DATA is not set")
  data = pathlib.Path(vocabularies.DATA)
  folders = (data / "../parity/tokenizer_kinds", data / "real_tokenizers")
  [path] = [
    folder / name / "tokenizer.json"
    for folder in folders
    if (folder / name).exists() and (folder != folders[1] or name != "gpt2")
  ]
  texts = lines(data, 4000)
  library = reference.Tokenizer.from_file(str(path))
  library.no_padding()
  ours = tokenizers.load(path)
  expected = [
    one.ids for one in library.encode_batch(texts, add_special_tokens=False)
  ]
  assert ours.tokenize(texts).to_list() == expected
  role_ids = ours.vocabulary.role_ids
  silent = {role_ids[r] for r in ("pad", "cls", "sep") if r in role_ids}
  shown = [[index for index in row if index not in silent] for row in expected]
  texts = library.decode_batch(shown, skip_special_tokens=False)
  assert decoded(ours, expected) == texts


def lines(data, number):
  """Returns lines of books, Korean prose, code and odd texts, list of str."""
  drawn = random.Random(0)
  books = sorted((data / "text/gutenberg").glob("*.txt"))
  korean = data / "text/korean/rust_book_ko.txt"
  code = sorted(pathlib.Path(tokenizers.__file__).parent.rglob("*.py"))
  found = []
  for paths, share in ((books, 1200), ([korean], 900), (code, 900)):
    some = [
      line
      for path in paths
      for line in path.read_text("utf-8-sig").split("\n")
      if line.strip()
    ]
    found += drawn.sample(some, share)
  return found + odd_texts(number - len(found))


def piece_model(folder, **settings):
  """Returns the path of a new *.model; `settings` are of its trainer."""
  text = folder / "text.txt"
  text.write_text("\n".join(vocabularies.SENTENCES * 3), "utf-8")
  sentencepiece.SentencePieceTrainer.train(
    input=str(text),
    model_prefix=str(folder / "spiece"),
    minloglevel=2,
    hard_vocab_limit=False,
    **settings,
  )
  return folder / "spiece.model"


def test_a_model_of_t5_has_its_sentinels_and_framing(tmp_path):
  path = piece_model(
    tmp_path, vocab_size=120, pad_id=0, eos_id=1, unk_id=2, bos_id=-1
  )
  named = {"tokenizer_class": "T5Tokenizer", "extra_ids": 3}
  (tmp_path / "tokenizer_config.json").write_text(json.dumps(named))
  ours = tokenizers.load(path)
  model = sentencepiece.SentencePieceProcessor(model_file=str(path))
  texts = [*vocabularies.SENTENCES, "The <extra_id_0> SAT", ""]
  assert ours.tokenize(texts).to_list() == model.encode(texts)
  assert ours.vocab_size == model.vocab_size() + 3
  last = [f"<extra_id_{number}>" for number in (2, 1, 0)]
  assert list(ours.vocabulary.tokens[-3:]) == last
  rows = ours(["The cat"], ["sat"])["input_ids"].numpy().tolist()
  assert rows == [[*model.encode("The cat"), 1, *model.encode("sat"), 1]]
  sentinel = ours.vocab_size - 1
  ids = [*model.encode("The cat"), sentinel, 1]
  assert decoded(ours, [ids]) == ["The cat<extra_id_0>"]
  assert decoded(ours, [ids], skip_special_tokens=True) == ["The cat"]
  # Other programs, and readers without tensorflow-text, have the same.
  folder = tmp_path / "saved"
  ours.save(folder)
  library = reference.Tokenizer.from_file(str(folder / "tokenizer.json"))
  assert library.encode("The cat", "sat").ids == rows[0]
  assert library.encode("The<extra_id_0>").ids[-2] == sentinel
  same = library_tokenizer.LibraryTokenizer(ours.vocabulary, ours.options)
  assert same.tokenize(texts[:-1]).to_list() == model.encode(texts[:-1])


def test_a_model_of_bytes_has_the_ids_of_sentencepiece(tmp_path):
  path = piece_model(
    tmp_path, vocab_size=420, model_type="bpe", byte_fallback=True
  )
  model = sentencepiece.SentencePieceProcessor(model_file=str(path))
  ours = tokenizers.load(path)
  texts = [*vocabularies.SENTENCES, "★ é\u0301 😀 q", "", "a  b"]
  ids, starts, ends = ours.tokenize_with_offsets(texts)
  assert ids.to_list() == model.encode(texts)
  assert decoded(ours, ids.to_list()) == model.decode(ids.to_list())
  for row, text in enumerate(texts[:4]):
    pieces = zip(
      model.encode(text, out_type=str),
      *(x[row].numpy() for x in (starts, ends)),
      strict=True,
    )
    for piece, start, end in pieces:
      assert text[start:end] == piece.strip("▁")
