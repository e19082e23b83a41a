import errno
import json
import os

import numpy as np
import pytest

from keras_bert_impl import files, tokenizers
from keras_bert_impl.tokenizers.formats import vocabularies as vocabulary
from tests.tokenizers import vocabularies


def _write(directory, content):
  path = directory / "vocab.txt"
  path.write_bytes(content)
  return path


def test_the_line_number_is_the_id(tmp_path):
  path = _write(tmp_path, b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##b\n")
  loaded = vocabulary.Vocabulary.load(path)
  assert loaded.size == 7
  assert loaded.tokens[5:] == ("a", "##b")
  assert loaded.special_ids == (0, 1, 2, 3, 4)
  assert loaded.ids["##b"] == 6
  assert loaded.is_continuation.tolist() == [False] * 6 + [True]


def test_special_tokens_are_found_by_name_not_by_place(tmp_path):
  path = _write(tmp_path, b"a\r\n[MASK]\r\n[SEP]\r\n[CLS]\r\n[UNK]\r\n[PAD]")
  loaded = vocabulary.Vocabulary.load(path)
  assert loaded.mask_id == 1
  assert loaded.sep_id == 2
  assert loaded.cls_id == 3
  assert loaded.unk_id == 4
  assert loaded.pad_id == 5


def test_a_missing_file_is_named(tmp_path):
  with pytest.raises(FileNotFoundError, match="vocab_file .*nowhere.txt"):
    vocabulary.Vocabulary.load(tmp_path / "nowhere.txt")


@pytest.mark.parametrize(
  "content, message",
  [
    (b"", "has no tokens"),
    (b"\n\n", "has no tokens"),
    (b"[PAD]\n[UNK]\n[CLS]\n[SEP]\na\n", r"vocab.txt has no \[MASK\]: add it"),
    (b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\na\n", "line 8: 'a' .* line 6"),
    (b"[PAD]\n[UNK]\n\n[CLS]\n[SEP]\n[MASK]\n", "line 3 is empty"),
    (b"[PAD]\n[UNK]\na\0b\n[CLS]\n", "line 3: .* has a NUL character"),
    (b"[PAD]\n[UNK]\n\xff\xfe\n", "vocab.txt:3 is not UTF-8"),
  ],
)
def test_an_unusable_file_is_refused_with_file_and_line(
  tmp_path, content, message
):
  with pytest.raises(ValueError, match=message) as caught:
    vocabulary.Vocabulary.load(_write(tmp_path, content))
  assert "vocab.txt" in str(caught.value)


def test_saving_and_loading_changes_nothing(tmp_path):
  first = vocabulary.Vocabulary.load(vocabularies.write(tmp_path))
  first.save(tmp_path / "other" / "copy.txt")
  second = vocabulary.Vocabulary.load(tmp_path / "other" / "copy.txt")
  assert second.tokens == first.tokens
  assert second.fingerprint == first.fingerprint


def test_the_fingerprint_depends_on_the_order(tmp_path):
  tokens = (*vocabulary.SPECIAL_TOKENS, "a", "b")
  turned = (*vocabulary.SPECIAL_TOKENS, "b", "a")
  assert (
    vocabulary.Vocabulary(tokens).fingerprint
    != vocabulary.Vocabulary(turned).fingerprint
  )


def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
  path = tmp_path / "vocab.txt"
  path.write_text("old\n")

  def fail(unused_descriptor):
    raise OSError(errno.ENOSPC, "No space left on device")

  monkeypatch.setattr(os, "fsync", fail)
  with pytest.raises(OSError, match="No space left"):
    files.write_atomically(path, "new\n")
  assert path.read_text() == "old\n"
  assert os.listdir(tmp_path) == ["vocab.txt"]


def test_roles_are_found_by_the_names_of_each_family(tmp_path):
  bytes_ = vocabulary.Vocabulary.load(vocabularies.write_byte_bpe(tmp_path))
  assert bytes_.special_ids == (1, 3, 0, 2, bytes_.size - 1)
  assert bytes_.mask_token == "<mask>"
  pieces = vocabulary.Vocabulary.load(
    vocabularies.write_sentencepiece(tmp_path)
  )
  assert pieces.special_ids == (0, 1, 2, 3, 4)
  # As XLNet's are, which has <s> and </s> for nothing.
  other = vocabulary.Vocabulary(
    "<unk> <s> </s> <cls> <sep> <pad> <mask> ▁a".split(),
    kind=vocabulary.SENTENCEPIECE,
  )
  assert other.special_ids == (5, 0, 3, 4, 6)


def test_a_missing_role_is_told_only_when_it_is_needed():
  known = vocabulary.Vocabulary(("<unk>", "a"), "m", vocabulary.SENTENCEPIECE)
  assert known.unk_id == 0
  with pytest.raises(ValueError, match=r"m has no \[MASK\] or <mask>, which"):
    _ = known.mask_id


@pytest.mark.parametrize("name", ["special_tokens_map", "tokenizer_config"])
def test_special_tokens_may_have_other_names(tmp_path, name):
  path = _write(tmp_path, b"<blank>\n[UNK]\n[CLS]\n<end>\n[MASK]\na\n")
  with pytest.raises(ValueError, match=r"has no \[PAD\] \[SEP\]"):
    vocabulary.Vocabulary.load(path)
  names = {
    "pad_token": "<blank>",
    "sep_token": {"content": "<end>", "lstrip": False},
    "bos_token": None,
  }
  (tmp_path / f"{name}.json").write_text(json.dumps(names))
  loaded = vocabulary.Vocabulary.load(path)
  assert (loaded.pad_id, loaded.sep_id) == (0, 3)
  loaded.save(tmp_path / "copy" / "vocab.txt")
  copy = vocabulary.Vocabulary.load(tmp_path / "copy" / "vocab.txt")
  assert copy.role_ids == loaded.role_ids


def test_words_begin_where_the_kind_says(tmp_path):
  known = vocabulary.Vocabulary.load(vocabularies.write_byte_bpe(tmp_path))
  continues = {t: bool(c) for t, c in zip(known.tokens, known.is_continuation)}
  assert not continues["Ġthe"] and continues["he"] and continues["!"]
  assert not continues["<s>"] and not continues["<mask>"]
  known = vocabulary.Vocabulary(
    ("<pad>", "<unk>", "[CLS]", "▁a", "b"), kind=vocabulary.SENTENCEPIECE
  )
  assert known.is_continuation.tolist() == [False, True, False, False, True]


@pytest.mark.parametrize("name", ["vocab.json", "spiece.model"])
def test_other_kinds_are_saved_and_loaded_too(tmp_path, name):
  write = {
    "vocab.json": vocabularies.write_byte_bpe,
    "spiece.model": vocabularies.write_sentencepiece,
  }[name]
  first = vocabulary.Vocabulary.load(write(tmp_path))
  first.save(tmp_path / "other" / name)
  second = vocabulary.Vocabulary.load(tmp_path / "other" / name)
  assert second.tokens == first.tokens
  assert (second.merges, second.model) == (first.merges, first.model)
  assert second.fingerprint == first.fingerprint
  with pytest.raises(ValueError, match=f"vocab.txt cannot hold .*{name}"):
    first.save(tmp_path / "vocab.txt")


def test_the_fingerprint_depends_on_the_merges(tmp_path):
  (tmp_path / "other").mkdir()
  merges = ["a b", "b c"]
  prints = {
    vocabulary.Vocabulary.load(
      vocabularies.write_byte_bpe(tmp_path / folder, order)
    ).fingerprint
    for folder, order in (("", merges), ("other", merges[::-1]))
  }
  assert len(prints) == 2


@pytest.mark.parametrize(
  "vocab, merges, message",
  [
    ("{", "", "vocab.json is not JSON"),
    ("[]", "", "must be an object"),
    (
      '{"a": 0, "b": 2}',
      "",
      "2 tokens the ids from 0 to 1, but no token has 1",
    ),
    ('{"a": 0, "b": 0}', "", "gives 'a' and 'b' the same id"),
    ('{"hidden_act": "x"}', "", "id of 'hidden_act' in .* an integer, not 'x'"),
    ('{"labels": [1]}', "", "id of 'labels' in .* an integer, not"),
    ('{"a": 0, "b": 1}', "#version: 0.2\na\n", "txt, line 2: 'a' must be two"),
    ('{"a": 0, "b": 1}', "a b\n", "merges.txt, line 1: 'ab' is not in the"),
  ],
)
def test_unusable_byte_level_files_are_refused(
  tmp_path, vocab, merges, message
):
  (tmp_path / "vocab.json").write_text(vocab)
  (tmp_path / "merges.txt").write_text(merges)
  with pytest.raises(ValueError, match=message):
    vocabulary.Vocabulary.load(tmp_path / "vocab.json")


def test_missing_merges_are_named(tmp_path):
  (tmp_path / "roberta-vocab.json").write_text("{}")
  with pytest.raises(FileNotFoundError, match="merges_file .*roberta-merges"):
    vocabulary.Vocabulary.load(tmp_path / "roberta-vocab.json")


@pytest.mark.parametrize("size", [0, 100, -1])
def test_a_broken_sentencepiece_model_is_refused(tmp_path, size):
  path = vocabularies.write_sentencepiece(tmp_path)
  with open(path, "rb") as file:
    content = file.read()
  with open(path, "wb") as file:
    file.write(content[:size])
  with pytest.raises(ValueError, match="spiece.model is not a SentencePiece"):
    vocabulary.Vocabulary.load(path)


def test_a_family_says_which_of_the_usual_names_it_uses(tmp_path):
  tokens = "<s> <pad> </s> [UNK] [CLS] [SEP] [PAD] [MASK] a <mask>".split()
  path = _write(tmp_path, "\n".join(tokens).encode())
  (tmp_path / "config.json").write_text('{"model_type": "mpnet"}')
  loaded = vocabulary.Vocabulary.load(path)
  assert loaded.role_ids == {"pad": 1, "unk": 3, "cls": 0, "sep": 2, "mask": 9}
  # A vocabulary of one's own has BERT's names.
  path = _write(tmp_path, b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n")
  own = vocabulary.Vocabulary.load(path)
  assert own.special_ids == (0, 1, 2, 3, 4)


def test_the_mask_of_deberta_v2_follows_the_pieces_of_its_model(tmp_path):
  path = vocabularies.write_deberta_pieces(tmp_path)
  # As the releases are.
  (tmp_path / "tokenizer_config.json").write_text(
    '{"do_lower_case": false, "vocab_type": "spm"}'
  )
  (tmp_path / "config.json").write_text('{"model_type": "deberta-v2"}')
  loaded = vocabulary.Vocabulary.load(path)
  last = loaded.size - 1
  assert loaded.role_ids == {
    "pad": 0,
    "unk": 3,
    "cls": 1,
    "sep": 2,
    "mask": last,
  }
  made = tokenizers.load(tmp_path)
  # As DebertaV2Tokenizer of transformers 5.23 frames them.
  [ids] = np.asarray(made(["the cat"], ["sat"])["input_ids"])
  pieces = [made.vocabulary.tokens[i] for i in ids if i]
  assert pieces[0] == "[CLS]" and pieces.count("[SEP]") == 2
  (tmp_path / "tokenizer_config.json").write_text(
    '{"vocab_type": "spm", "split_by_punct": true}'
  )
  with pytest.raises(ValueError, match="split_by_punct .True. in"):
    tokenizers.load(tmp_path)


def test_the_byte_level_vocabulary_of_deberta_has_the_names_of_bert(tmp_path):
  path = vocabularies.write_byte_bpe(tmp_path)
  with open(path, encoding="utf-8") as file:
    ids = json.load(file)
  names = {
    "<s>": "[CLS]",
    "<pad>": "[PAD]",
    "</s>": "[SEP]",
    "<unk>": "[UNK]",
    "<mask>": "[MASK]",
  }
  renamed = {names.get(token, token): index for token, index in ids.items()}
  (tmp_path / "vocab.json").write_text(json.dumps(renamed))
  (tmp_path / "tokenizer_config.json").write_text(
    '{"do_lower_case": false, "vocab_type": "gpt2"}'
  )
  (tmp_path / "config.json").write_text('{"model_type": "deberta"}')
  made = tokenizers.load(tmp_path)
  assert made.options.family == "deberta"
  assert made.vocabulary.mask_token == "[MASK]"
  inputs = {k: np.asarray(v)[0] for k, v in made(["the"], ["cat"]).items()}
  cls_id, sep_id = made.vocabulary.cls_id, made.vocabulary.sep_id
  assert inputs["input_ids"][0] == cls_id
  assert (inputs["input_ids"] == sep_id).sum() == 2
