import errno
import json
import os
import pathlib
import sys

import pytest

from keras_bert_impl import files, tokenizers
from keras_bert_impl.tokenizers.formats import vocabularies as vocabulary
from tests.tokenizers import vocabularies


def _write(directory, content):
  path = directory / "vocab.txt"
  path.write_bytes(content)
  return path


def test_the_line_number_is_the_id_and_roles_are_found_by_name(tmp_path):
  path = _write(tmp_path, b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##b\n")
  loaded = vocabulary.Vocabulary.load(path)
  assert loaded.size == 7
  assert loaded.tokens[5:] == ("a", "##b")
  assert loaded.special_ids == (0, 1, 2, 3, 4)
  assert loaded.ids["##b"] == 6
  assert loaded.is_continuation.tolist() == [False] * 6 + [True]

  path = _write(tmp_path, b"a\r\n[MASK]\r\n[SEP]\r\n[CLS]\r\n[UNK]\r\n[PAD]")
  loaded = vocabulary.Vocabulary.load(path)
  assert loaded.special_ids == (5, 4, 3, 2, 1)
  ids = (loaded.pad_id, loaded.unk_id, loaded.cls_id, loaded.sep_id)
  assert (*ids, loaded.mask_id) == loaded.special_ids


def test_a_line_of_white_space_is_a_token_that_no_text_has(tmp_path):
  # As in the Chinese BERTs, where the 344th is U+2028.
  blanks = ["\u2028", "\u3000", "\x85", " "]
  tokens = [*vocabulary.SPECIAL_TOKENS, "a", *blanks, "b\u2028c"]
  path = _write(tmp_path, "".join(f"{t}\r\n" for t in tokens).encode())
  made = tokenizers.load(path)
  assert made.vocabulary.tokens == (*tokens,)
  assert made.tokenize(f"a{''.join(blanks)}a").numpy().tolist() == [5, 5]
  made.save(tmp_path / "copy")
  copy = vocabulary.Vocabulary.load(tmp_path / "copy" / "vocab.txt")
  assert copy.fingerprint == made.vocabulary.fingerprint


def test_an_opening_reads_each_file_once_and_sees_what_has_changed(tmp_path):
  _write(tmp_path, "\n".join([*vocabulary.SPECIAL_TOKENS, "a"]).encode())
  config = tmp_path / "tokenizer_config.json"
  config.write_text('{"do_lower_case": false, "tokenizer_class": "XLNet"}')
  opened, is_counting = [], True

  def count(event, args):
    if is_counting and event == "open" and str(tmp_path) in str(args[0]):
      opened.append(os.path.basename(args[0]))

  sys.addaudithook(count)  # For good.
  options = tokenizers.load(tmp_path).options
  is_counting = False
  assert sorted(opened) == ["tokenizer_config.json", "vocab.txt"]
  assert not options.do_lower_case
  config.write_text('{"do_lower_case": true}')
  assert tokenizers.load(tmp_path).options.do_lower_case


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


def test_the_fingerprint_depends_on_the_order_and_the_merges(tmp_path):
  (tmp_path / "other").mkdir()
  merges, special = ["a b", "b c"], vocabulary.SPECIAL_TOKENS
  prints = {
    vocabulary.Vocabulary((*special, "a", "b")).fingerprint,
    vocabulary.Vocabulary((*special, "b", "a")).fingerprint,
  }
  for folder, order in (("", merges), ("other", merges[::-1])):
    path = vocabularies.write_byte_bpe(tmp_path / folder, order)
    prints.add(vocabulary.Vocabulary.load(path).fingerprint)
  assert len(prints) == 4


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


def test_roles_and_words_are_found_by_the_names_of_each_kind(tmp_path):
  bytes_ = vocabulary.Vocabulary.load(vocabularies.write_byte_bpe(tmp_path))
  assert bytes_.special_ids == (1, 3, 0, 2, bytes_.size - 1)
  assert bytes_.mask_token == "<mask>"
  continues = dict(zip(bytes_.tokens, bytes_.is_continuation, strict=True))
  assert not continues["Ġthe"] and continues["he"] and continues["!"]
  assert not continues["<s>"] and not continues["<mask>"]
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
  tokens = ("<pad>", "<unk>", "[CLS]", "▁a", "b")
  pieces = vocabulary.Vocabulary(tokens, kind=vocabulary.SENTENCEPIECE)
  assert pieces.is_continuation.tolist() == [False, True, False, False, True]


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


@pytest.mark.parametrize("kind", vocabularies.WRITERS)
def test_saving_and_loading_changes_nothing(tmp_path, kind):
  path = vocabularies.WRITERS[kind](tmp_path)
  name = os.path.basename(path)
  first = vocabulary.Vocabulary.load(path)
  first.save(tmp_path / "other" / name)
  second = vocabulary.Vocabulary.load(tmp_path / "other" / name)
  assert second.tokens == first.tokens
  assert (second.merges, second.model) == (first.merges, first.model)
  assert second.fingerprint == first.fingerprint
  wrong = "vocab.json" if name == "vocab.txt" else "vocab.txt"
  with pytest.raises(ValueError, match=f"{wrong} cannot hold .*{name}"):
    first.save(tmp_path / wrong)


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
    (
      '{"a": 0, "b": 1, "ab": 2}',
      "a b\na b\n",
      "merges.txt, line 2: 'a b' stands in 1 too",
    ),
  ],
)
def test_unusable_byte_level_files_are_refused(
  tmp_path, vocab, merges, message
):
  (tmp_path / "vocab.json").write_text(vocab)
  (tmp_path / "merges.txt").write_text(merges)
  with pytest.raises(ValueError, match=message):
    vocabulary.Vocabulary.load(tmp_path / "vocab.json")


def test_missing_files_are_named(tmp_path):
  with pytest.raises(FileNotFoundError, match="vocab_file .*nowhere.txt"):
    vocabulary.Vocabulary.load(tmp_path / "nowhere.txt")
  (tmp_path / "roberta-vocab.json").write_text("{}")
  with pytest.raises(FileNotFoundError, match="merges_file .*roberta-merges"):
    vocabulary.Vocabulary.load(tmp_path / "roberta-vocab.json")


def test_a_broken_sentencepiece_model_is_refused(tmp_path):
  path = pathlib.Path(vocabularies.write_sentencepiece(tmp_path))
  content, start = path.read_bytes(), "\u2581".encode()
  no_text = content.replace(start, b"\xff" + start[1:])
  for broken in (b"", content[:100], content[:-1], no_text):
    path.write_bytes(broken)
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
  assert loaded.special_ids == (0, 3, 1, 2, last)
  made = tokenizers.load(tmp_path)
  # As DebertaV2Tokenizer of transformers 5.23 frames them.
  ids = made("the cat", "sat")["input_ids"].numpy().tolist()
  assert ids[0] == 1 and ids.count(2) == 2
  (tmp_path / "tokenizer_config.json").write_text(
    '{"vocab_type": "spm", "split_by_punct": true}'
  )
  with pytest.raises(ValueError, match="split_by_punct .True. in"):
    tokenizers.load(tmp_path)


def test_the_byte_level_vocabulary_of_deberta_has_the_names_of_bert(tmp_path):
  path = vocabularies.write_byte_bpe(tmp_path)
  with open(path, encoding="utf-8") as file:
    ids = json.load(file)
  names = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
  renamed = dict(zip(names, "[CLS] [PAD] [SEP] [UNK] [MASK]".split()))
  renamed = {renamed.get(token, token): index for token, index in ids.items()}
  (tmp_path / "vocab.json").write_text(json.dumps(renamed))
  (tmp_path / "tokenizer_config.json").write_text(
    '{"do_lower_case": false, "vocab_type": "gpt2"}'
  )
  (tmp_path / "config.json").write_text('{"model_type": "deberta"}')
  made = tokenizers.load(tmp_path)
  assert made.options.family == "deberta"
  assert made.vocabulary.mask_token == "[MASK]"
  ids = made("the", "cat")["input_ids"].numpy().tolist()
  assert ids[0] == made.vocabulary.cls_id
  assert ids.count(made.vocabulary.sep_id) == 2
