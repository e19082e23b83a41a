"""The tokenizer.json that is written, opened by the `tokenizers` library."""

import functools
import json
import os

import pytest
import tokenizers as reference

from keras_bert_impl import tokenizers
from keras_bert_impl.tokenizers.formats import (
  tokenizer_json_writing,
  vocabulary_files,
)
from tests.tokenizers import vocabularies

KINDS = vocabularies.WRITERS | {
  "sentencepiece_bpe": functools.partial(
    vocabularies.write_sentencepiece, model_type="bpe"
  )
}
ALBERT = {"do_lower_case": True, "keep_accents": False, "remove_space": True}
TEXTS = [
  "hello world, the mask cls token playing ##s",
  "  Hello\u3000World\t\nCafé  caf\u00e9 naïve cafe\u0301 ",
  "한국어가 日本 ひらがな 中国",
  "I 😀 👩\u200d👧 ❤\ufe0f x 1987, 12,345",
  "the [MASK] sat [SEP] <mask>",
  "",
  " ",
]


def differences(tokenizer, folder, texts):
  """Returns the texts whose ids in a saved tokenizer.json are others."""
  tokenizer.save(folder)
  saved = reference.Tokenizer.from_file(f"{folder}/tokenizer.json")
  # Here, special tokens in a text are text.
  saved.encode_special_tokens = True
  rows = tokenizer.tokenize(texts).to_list()
  return [
    text
    for text, ids in zip(texts, rows, strict=True)
    if saved.encode(text, add_special_tokens=False).ids != ids
  ]


@pytest.mark.parametrize(
  "kind, options",
  [
    ("wordpiece", {"do_lower_case": False}),
    ("wordpiece", {"compose_hangul": True}),
    ("byte_bpe", {"add_prefix_space": True}),
    ("sentencepiece", {}),
    ("sentencepiece", ALBERT),
    ("sentencepiece", ALBERT | {"compose_hangul": True}),
    ("sentencepiece_bpe", {}),
  ],
)
def test_it_has_the_same_ids(kind, options, tmp_path):
  made = tokenizers.load(KINDS[kind](tmp_path), **options)
  # A unigram model of the library finds special tokens in text all the same.
  # It also leaves Hangul in letters where accents are stripped.
  left_out = ["[MASK]"] if "sentencepiece" in kind else []
  left_out += ["한"] if options == ALBERT else []
  texts = [text for text in TEXTS if not any(x in text for x in left_out)]
  assert differences(made, tmp_path / "saved", texts) == []


def settings_of(folder):
  return json.loads((folder / "tokenizer_config.json").read_text())


@pytest.mark.parametrize(
  "kind, family",
  [
    ("wordpiece", "bert"),
    ("byte_bpe", "roberta"),
    ("sentencepiece", "xlnet"),
    ("wordpiece", None),
  ],
)
def test_transformers_takes_the_tokenizer_as_its_file_says(
  kind, family, tmp_path
):
  # BertTokenizer would lower-case, whatever tokenizer.json says.
  made = tokenizers.load(vocabularies.WRITERS[kind](tmp_path), family=family)
  made.save(tmp_path / "saved")
  settings = settings_of(tmp_path / "saved")
  assert settings["tokenizer_class"] == "PreTrainedTokenizerFast"
  assert settings["mask_token"] == made.vocabulary.mask_token
  # Models without segments refuse their ids.
  has_segments = "token_type_ids" in settings["model_input_names"]
  assert has_segments == (made.options.family != "roberta")
  assert settings["padding_side"] == ("left" if family == "xlnet" else "right")
  again = tokenizers.load(tmp_path / "saved")
  assert again.options == made.options
  assert again.options.family == made.options.family


@pytest.mark.parametrize("family", ["bert", "roberta", "xlm-roberta"])
def test_pairs_are_framed_as_in_the_family(family, tmp_path):
  path = vocabularies.write_sentencepiece(tmp_path)
  if family == "xlm-roberta":
    path = vocabularies.write_sentencepiece(
      tmp_path, pad_id=-1, unk_id=0, bos_id=1, eos_id=2, control_symbols=[]
    )
  made = tokenizers.load(path, family=family)
  made.save(tmp_path / "saved")
  saved = reference.Tokenizer.from_file(str(tmp_path / "saved/tokenizer.json"))
  inputs, found = made("the cat", "sat"), saved.encode("the cat", "sat")
  assert inputs["input_ids"].numpy().tolist() == found.ids
  assert inputs["segment_ids"].numpy().tolist() == found.type_ids
  assert saved.token_to_id("<s>") == made.vocabulary.ids.get("<s>")


def test_words_are_added_to_a_tokenizer_json(tmp_path):
  vocabularies.write(tmp_path)
  made = tokenizers.load(tmp_path)
  tokenizer_json_writing.write(tmp_path / "a", made.vocabulary, made.options)
  old = tokenizers.load(tmp_path / "a").vocabulary
  new = tokenizer_json_writing.extended(old, [*old.tokens, "keras"])
  new.save(tmp_path / "a/tokenizer.json")
  ids = tokenizers.load(tmp_path / "a").tokenize("Keras").numpy().tolist()
  assert ids == [old.size]


def test_a_folder_without_one_gets_one(tmp_path, caplog):
  tokenizer_json_writing.add(str(tmp_path), "bert")
  assert os.listdir(tmp_path) == []
  vocabularies.write(tmp_path)
  tokenizer_json_writing.add(str(tmp_path), "bert")
  assert vocabulary_files.find(tmp_path).name == "tokenizer.json"
  assert settings_of(tmp_path)["tokenizer_class"] == "PreTrainedTokenizerFast"
  (tmp_path / "tokenizer.json").unlink()
  (tmp_path / "tokenizer_config.json").unlink()
  (tmp_path / "vocab.txt").write_text("no special tokens")
  tokenizer_json_writing.add(str(tmp_path), "bert")
  assert os.listdir(tmp_path) == ["vocab.txt"]


@pytest.mark.parametrize("kind", vocabularies.WRITERS)
def test_a_folder_that_gets_one_keeps_its_settings(kind, tmp_path):
  made = tokenizers.load(vocabularies.WRITERS[kind](tmp_path))
  path = tmp_path / "tokenizer_config.json"
  path.unlink(missing_ok=True)
  tokenizer_json_writing.add(str(tmp_path), "bert")
  (tmp_path / "tokenizer.json").unlink()
  assert tokenizers.load(tmp_path).options == made.options
  path.write_text('{"tokenizer_class": "ElectraTokenizer"}')
  tokenizer_json_writing.add(str(tmp_path), "bert")
  assert settings_of(tmp_path) == {"tokenizer_class": "ElectraTokenizer"}


@pytest.mark.parametrize(
  "name, options, expected",
  [
    # A private character, and a final sigma.
    ("google_uncased/vocab.txt", {}, {"a\ue000b", "ΟΔΟΣ Σ"}),
    ("koelectra/vocab.txt", {"do_lower_case": False}, {"a\ue000b"}),
    pytest.param("roberta/vocab.json", {}, set(), marks=pytest.mark.slow),
    pytest.param("xlnet/spiece.model", {}, set(), marks=pytest.mark.slow),
    ("albert_vi_30k/30k-clean.model", ALBERT, {"a\0b", "ΟΔΟΣ Σ"}),
  ],
)
def test_real_vocabularies_have_the_same_ids(name, options, expected, tmp_path):
  texts = [e["text"] for e in vocabularies.examples("wordpiece.jsonl")]
  if name.endswith(".model"):
    texts = [text for text in texts if "[MASK]" not in text]
  made = tokenizers.load(f"{vocabularies.DATA}/vocab/{name}", **options)
  assert set(differences(made, tmp_path, texts)) == expected
