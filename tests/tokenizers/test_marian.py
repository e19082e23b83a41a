"""The pair of SentencePiece models of Marian, beside the library."""

import json

import numpy as np
import pytest
import sentencepiece

import keras_bert_impl as kb
from keras_bert_impl.tokenizers import library_tokenizer

SOURCES = [
  "A man in a blue shirt plays with two dogs.",
  "The dogs run over the snow, and the man laughs!",
  "Two women are waiting for a blue bus.",
]
TARGETS = [
  "파란 셔츠를 입은 남자가 개 두 마리와 논다.",
  "개들이 눈 위를 달리고, 남자는 웃는다!",
  "두 여자가 파란 버스를 기다린다.",
]
TEXTS = [*SOURCES, "  a  dog ", "", "an unknown 한국어 zebra", "x" * 300]


def write(folder):
  """Writes tokenizer files as those of OPUS-MT; returns models and ids."""
  tokens, models = ["</s>", "<unk>"], []
  for name, texts in (("source", SOURCES), ("target", TARGETS)):
    sentencepiece.SentencePieceTrainer.train(
      sentence_iterator=iter(texts),
      model_prefix=str(folder / name),
      vocab_size=50,
      hard_vocab_limit=False,
      minloglevel=2,
    )
    path = folder / f"{name}.spm"
    (folder / f"{name}.model").rename(path)
    (folder / f"{name}.vocab").unlink()
    model = sentencepiece.SentencePieceProcessor(model_file=str(path))
    tokens += [model.id_to_piece(k) for k in range(model.get_piece_size())]
    models.append(model)
  tokens = [t for t in dict.fromkeys(tokens) if t != "<s>"]
  ids = {t: n for n, t in enumerate([*tokens, ">>kor<<", "<pad>"])}
  (folder / "vocab.json").write_text(json.dumps(ids))
  roles = {"eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
  told = {"tokenizer_class": "MarianTokenizer", "source_lang": "en"}
  (folder / "tokenizer_config.json").write_text(json.dumps(roles | told))
  return models, ids


@pytest.fixture(name="files", scope="module")
def fixture_files(tmp_path_factory):
  folder = tmp_path_factory.mktemp("marian")
  return folder, *write(folder)


def expected(model, ids, texts):
  """Returns the ids of texts as transformers has them, without </s>."""
  rows = model.encode(texts, out_type=str)
  return [[ids.get(piece, ids["<unk>"]) for piece in row] for row in rows]


@pytest.mark.parametrize("has_text", [True, False])
def test_both_models_cut_as_the_library_and_ids_are_of_the_list(
  files, has_text
):
  folder, (source, target), ids = files
  tokenizer = kb.load_tokenizer(folder)
  if not has_text:  # As without tensorflow-text.
    tokenizer = library_tokenizer.LibraryTokenizer(
      folder / "source.spm", tokenizer.options
    )
  rows = tokenizer.tokenize_around_masks(TEXTS)
  assert rows.to_list() == expected(source, ids, TEXTS)
  # The library may cut what the model of a text does not know elsewhere.
  for texts in (TARGETS, *([TEXTS[3:6]] * has_text)):
    rows = tokenizer.target_tokenizer.tokenize(texts)
    assert rows.to_list() == expected(target, ids, texts)
  written = tokenizer.target_tokenizer.tokenize(TARGETS)
  decoded = tokenizer.detokenize(written).numpy()
  assert [text.decode() for text in decoded] == TARGETS


def test_a_text_may_begin_with_its_language_and_ends_with_an_end(files):
  folder, (source, _), ids = files
  tokenizer = kb.load_tokenizer(folder)
  for blank in ("", " "):
    rows = tokenizer.tokenize_around_masks([f">>kor<<{blank}{SOURCES[0]}"])
    found = tokenizer.assemble(rows)["input_ids"]
    [pieces] = expected(source, ids, SOURCES[:1])
    assert np.array(found).tolist() == [[ids[">>kor<<"], *pieces, ids["</s>"]]]


def test_saved_files_are_read_again(files, tmp_path):
  folder, *_ = files
  tokenizer = kb.load_tokenizer(folder)
  tokenizer.save(tmp_path)
  saved = kb.load_tokenizer(tmp_path)
  assert saved.vocabulary.fingerprint == tokenizer.vocabulary.fingerprint
  assert saved.framing == tokenizer.framing
  assert json.loads((tmp_path / "vocab.json").read_text()) == json.loads(
    (folder / "vocab.json").read_text()
  )


def test_half_of_a_pair_is_named(files, tmp_path):
  folder, *_ = files
  for name in ("source.spm", "vocab.json", "tokenizer_config.json"):
    (tmp_path / name).write_bytes((folder / name).read_bytes())
  with pytest.raises(FileNotFoundError, match="target.spm"):
    kb.load_tokenizer(tmp_path)
  (tmp_path / "target.spm").write_bytes(b"no model")
  with pytest.raises(ValueError, match="target.spm"):
    kb.load_tokenizer(tmp_path)
