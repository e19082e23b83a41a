import json

import pytest
import tokenizers as reference

from keras_bert_impl import tokenizers
from keras_bert_impl.tokenizers.formats import tokenizer_options
from keras_bert_impl.tokenizers.formats import vocabularies as vocabulary
from tests.tokenizers import vocabularies


def _family(path):
  return tokenizer_options.resolve(path).family


def test_an_option_that_is_given_wins_over_the_stored_one(tmp_path, caplog):
  path = vocabularies.write(tmp_path)
  assert tokenizer_options.resolve(path) == tokenizer_options.WordPieceOptions()
  tokenizer_options.save(path, tokenizer_options.WordPieceOptions(True, True))
  assert (tmp_path / "tokenizer_config.json").exists()
  assert tokenizer_options.resolve(path).compose_hangul
  assert tokenizer_options.resolve(path, do_lower_case=True).compose_hangul
  assert not caplog.records
  given = tokenizer_options.resolve(path, do_lower_case=False)
  assert not given.do_lower_case
  assert "was made for" in caplog.text


def _learn_another(folder, name, options):
  path = folder / name
  tokenizer_options.save(path, options)
  path.write_text("[PAD]\n")
  return path


def test_two_vocabularies_in_a_folder_keep_their_options(tmp_path):
  kept = {
    "korean.txt": tokenizer_options.WordPieceOptions(True, True),
    "cased.txt": tokenizer_options.WordPieceOptions(False),
    "spiece.model": tokenizer_options.SentencePieceOptions(True),
  }
  for name, options in kept.items():
    _learn_another(tmp_path, name, options)
  # Learned anew, the first one has other options.
  kept["korean.txt"] = tokenizer_options.WordPieceOptions(False)
  _learn_another(tmp_path, "korean.txt", kept["korean.txt"])
  found = {name: tokenizer_options.resolve(tmp_path / name) for name in kept}
  assert found == kept


def test_a_vocabulary_without_options_gets_none_of_the_next_one(tmp_path):
  path = vocabularies.write(tmp_path)
  (tmp_path / "config.json").write_text('{"model_type": "electra"}')
  before = tokenizer_options.resolve(path)
  options = tokenizer_options.WordPieceOptions(True, True)
  other = _learn_another(tmp_path, "korean.txt", options)
  assert tokenizer_options.resolve(path) == before
  assert tokenizer_options.resolve(path).family == "electra"
  assert tokenizer_options.resolve(other) == options


def test_what_others_wrote_of_a_vocabulary_is_kept(tmp_path):
  path = vocabularies.write(tmp_path)
  foreign = {"tokenizer_class": "BertTokenizer", "do_lower_case": False}
  foreign["cls_token"] = "hello"
  (tmp_path / "tokenizer_config.json").write_text(json.dumps(foreign))
  _learn_another(tmp_path, "korean.txt", tokenizer_options.WordPieceOptions())
  assert not tokenizer_options.resolve(path).do_lower_case
  assert _family(path) == "bert"
  known = vocabulary.Vocabulary.load(path)
  assert known.tokens[known.cls_id] == "hello"


def test_options_of_another_vocabulary_are_used_with_a_warning(
  tmp_path, caplog
):
  options = tokenizer_options.WordPieceOptions(True, True)
  _learn_another(tmp_path, "korean.txt", options)
  path = vocabularies.write(tmp_path)  # Copied there later.
  assert tokenizer_options.resolve(path) == options
  assert "are those of korean.txt" in caplog.text


@pytest.mark.parametrize(
  "content, message",
  [
    ("{", "is not JSON"),
    ("[]", "must be an object"),
    ('{"do_lowercase": true}', "unknown key 'do_lowercase' in .*; known: do_l"),
    ('{"do_lower_case": "yes"}', r"do_lower_case \('yes'\) in .* true or fal"),
    (
      '{"tokenizer_class": "BertTokenizer", "strip_accents": "no"}',
      "strip_accents .'no'. .* true or false",
    ),
    (
      '{"max_input_chars_per_word": 0}',
      r"per_word \(0\) must be an integer in",
    ),
    ('{"family": ["bert"]}', r"family .* in .*config.json must be"),
  ],
)
def test_unusable_options_are_refused(tmp_path, content, message):
  path = vocabularies.write(tmp_path)
  (tmp_path / "tokenizer_config.json").write_text(content)
  with pytest.raises(ValueError, match=message):
    tokenizer_options.resolve(path)


def test_files_of_transformers_say_how_words_are_normalised(tmp_path):
  # As transformers 4 wrote it.
  path = vocabularies.write(tmp_path)
  stored = {
    "do_lower_case": True,
    "special_tokens_map_file": None,
    "full_tokenizer_file": None,
    "name_or_path": "bert-base-multilingual",
    "strip_accents": False,
    "tokenize_chinese_chars": False,
  }
  file = tmp_path / "tokenizer_config.json"
  file.write_text(json.dumps(stored))
  found = tokenizer_options.resolve(path)
  assert (found.strip_accents, found.tokenize_chinese_chars) == (False, False)
  file.write_text(json.dumps(stored | {"strip_accents": None}))
  assert tokenizer_options.resolve(path).strips_accents
  made = tokenizers.load(path, strip_accents=False)
  text = "Café 中国"
  assert made.normalize([text]).numpy()[0].decode() == text.lower()
  made.save(tmp_path / "copy")
  assert tokenizers.load(tmp_path / "copy").options == made.options


@pytest.mark.parametrize(
  "name, content, most",
  [
    ("tokenizer_config.json", {"tokenizer_class": "BertTokenizer"}, 100),
    ("tokenizer_config.json", {"do_lower_case": True, "max_len": 512}, 100),
    ("config.json", {"transformers_version": "4.8.0"}, 100),
    # As others than transformers have it, and as it is written here.
    ("config.json", {"model_type": "bert"}, 200),
    ("tokenizer_config.json", {"do_lower_case": True}, 200),
    (
      "tokenizer_config.json",
      {"compose_hangul": False, "tokenizer_class": "PreTrainedTokenizerFast"},
      200,
    ),
  ],
)
def test_a_folder_of_transformers_has_its_limit_of_letters(
  tmp_path, name, content, most
):
  path = vocabularies.write(tmp_path, ["a", "##a"])
  (tmp_path / name).write_text(json.dumps(content))
  made = tokenizers.load(path)
  unknown = [made.vocabulary.unk_id]
  assert made.tokenize("a" * (most + 1)).numpy().tolist() == unknown
  assert len(made.tokenize("a" * most)) == most
  made.save(tmp_path / "copy")
  copy = tokenizers.load(tmp_path / "copy")
  assert copy.options == made.options
  library = reference.Tokenizer.from_file(str(tmp_path / "copy/tokenizer.json"))
  assert library.encode("a" * (most + 1)).ids[1:-1] == unknown


@pytest.mark.parametrize(
  "contents, family",
  [
    ({}, None),
    ({"config.json": {"model_type": "roberta"}}, "roberta"),
    ({"bert_config.json": {"model_type": "albert"}}, "albert"),
    ({"config.json": {"model_type": ["gpt2"]}}, None),
    ({"tokenizer_config.json": {"family": "electra"}}, "electra"),
    # As the Korean RoBERTa on BERT's vocabulary has it.
    (
      {
        "tokenizer_config.json": {"tokenizer_class": "BertTokenizerFast"},
        "config.json": {"model_type": "roberta"},
      },
      "bert",
    ),
    (
      {
        "tokenizer_config.json": {"tokenizer_class": "TokenizersBackend"},
        "config.json": {"model_type": "roberta"},
      },
      "roberta",
    ),
  ],
)
def test_the_files_beside_a_vocabulary_say_its_family(
  tmp_path, contents, family
):
  path = vocabularies.write(tmp_path)
  for name, content in contents.items():
    (tmp_path / name).write_text(json.dumps(content))
  assert _family(path) == family
  assert tokenizer_options.resolve(path, family="bert").family == "bert"
  saved = tokenizer_options.resolve(path, "bert")
  tokenizer_options.save(tmp_path / "new" / "vocab.txt", saved)
  again = tokenizer_options.resolve(tmp_path / "new" / "vocab.txt")
  assert again.family == saved.family == (family or "bert")


def test_an_unknown_family_is_refused(tmp_path):
  path = vocabularies.write(tmp_path)
  with pytest.raises(
    ValueError, match=r"family \('gpt3'\) must be one of bert"
  ):
    tokenizer_options.resolve(path, family="gpt3")
