import re

import pytest

from keras_bert_impl import tokenizers
from keras_bert_impl.tokenizers import agreement
from keras_bert_impl.tokenizers.formats import tokenizer_options
from keras_bert_impl.tokenizers.formats import vocabularies as vocabulary
from keras_bert_impl.tokenizers.graph import wordpiece
from keras_bert_impl.tokenizers.learning import (
  sentence_piece_learner,
  wordpiece_learner,
)
from tests.tokenizers import vocabularies

ENGLISH = [
  "Alice was beginning to get very tired of sitting by her sister.",
  "The Queen of Hearts met Bill the Lizard in London and in Paris.",
] * 3
KOREAN = ["러스트는 빠르고 안전한 언어입니다.", "함수는 값을 반환합니다."] * 3
SYLLABLES = (
  "가각간갈감갑강개객거건걸검게겨격견결경계고곡곤골공과관교구국군권그극근글금기"
)
UNCASED = tokenizer_options.WordPieceOptions(do_lower_case=True)
CASED = tokenizer_options.WordPieceOptions(do_lower_case=False)
COMPOSED = tokenizer_options.WordPieceOptions(
  do_lower_case=True, compose_hangul=True
)


def _tokenizer(directory, texts, made_for, used_with):
  """A tokenizer with another normalisation than its vocabulary's."""
  learned = wordpiece_learner.learn(texts, 500, made_for)
  path = vocabularies.write(directory, learned.tokens)
  return wordpiece.WordPieceTokenizer(
    path, used_with.do_lower_case, used_with.compose_hangul
  )


@pytest.mark.parametrize(
  "texts, made_for, used_with, message",
  [
    (ENGLISH, UNCASED, CASED, r"\[UNK\] with do_lower_case=False, 0.0% with d"),
    (
      ENGLISH + [" ".join(ENGLISH).lower()],
      CASED,
      UNCASED,
      "can never be used with do_lower_case=True.* 0.0% with d",
    ),
    (KOREAN, COMPOSED, UNCASED, r"\[UNK\] with .*compose_hangul=False, 0.0% w"),
    (KOREAN, CASED, UNCASED, r"\[UNK\] with do_lower_case=True.*0.0%"),
    (KOREAN, UNCASED, COMPOSED, r"\[UNK\] with .*compose_hangul=True, 0.0%"),
  ],
)
def test_a_mismatch_is_told_in_one_line(
  tmp_path, texts, made_for, used_with, message
):
  tokenizer = _tokenizer(tmp_path, texts, made_for, used_with)
  warning = agreement.disagreement(tokenizer, texts)
  assert warning is not None
  assert re.search(message, warning), warning
  assert warning.endswith("seems made for the latter.")
  assert "vocab.txt" in warning
  assert "\n" not in warning


@pytest.mark.parametrize(
  "texts, options",
  [(ENGLISH, UNCASED), (ENGLISH, CASED), (KOREAN, CASED), (KOREAN, COMPOSED)],
)
def test_a_vocabulary_used_as_it_was_learned_gives_no_warning(
  tmp_path, texts, options
):
  tokenizer = _tokenizer(tmp_path, texts, options, options)
  assert agreement.unknown_share(tokenizer, texts) == 0
  assert agreement.disagreement(tokenizer, texts) is None


def test_a_sentencepiece_model_with_another_normalisation_is_told(tmp_path):
  albert = tokenizer_options.SentencePieceOptions(
    do_lower_case=True, keep_accents=False
  )
  learned = sentence_piece_learner.learn(
    vocabularies.sentences(), 200, albert, character_coverage=1
  )
  learned.save(tmp_path / "spiece.model")
  texts = [text.upper() for text in vocabularies.sentences(count=50)]
  plain = tokenizers.load(tmp_path)
  warning = agreement.disagreement(plain, texts)
  assert re.search(
    "[0-9.]+% of the words become .* with do_lower_case=False.*"
    "0.0% with do_lower_case=True.* seems made for the latter",
    warning,
  )
  fitting = tokenizers.load(tmp_path, do_lower_case=True, keep_accents=False)
  assert agreement.disagreement(fitting, texts) is None


def test_byte_level_bpe_fits_every_text(tmp_path):
  tokenizer = tokenizers.load(vocabularies.write_byte_bpe(tmp_path))
  assert agreement.unknown_share(tokenizer, KOREAN + ["", "<unk>"]) == 0
  assert agreement.disagreement(tokenizer, KOREAN) is None


def test_unknown_share_counts_words_not_pieces(tmp_path):
  tokenizer = tokenizers.load(vocabularies.write_sentencepiece(tmp_path))
  share = agreement.unknown_share(tokenizer, ["a☃b☃ the", "☃", ""])
  assert share == pytest.approx(2 / 3)
  path = vocabularies.write(tmp_path, ["play", "##ing", "the"])
  tokenizer = wordpiece.WordPieceTokenizer(path)
  share = agreement.unknown_share(tokenizer, ["the playing x", "The y"])
  assert share == pytest.approx(2 / 5)
  assert agreement.unknown_share(tokenizer, []) == 0
  assert agreement.unknown_share(tokenizer, [""]) == 0


def test_unreachable_share_counts_tokens_outside_brackets():
  tokens = [*vocabulary.SPECIAL_TOKENS, "[unused0]", "a", "##b", "A", "é"]
  known = vocabulary.Vocabulary(tuple(tokens))
  assert agreement.unreachable_share(known, UNCASED) == 0.5
  assert agreement.unreachable_share(known, CASED) == 0
  bare = vocabulary.Vocabulary(vocabulary.SPECIAL_TOKENS)
  assert agreement.unreachable_share(bare, UNCASED) == 0


def test_another_language_is_told_from_a_part_of_the_sample(
  tmp_path, monkeypatch
):
  tokenizer = _tokenizer(tmp_path, ENGLISH, UNCASED, UNCASED)
  assert "does not fit the text" in agreement.disagreement(tokenizer, KOREAN)
  monkeypatch.setattr(agreement, "_MOST_CHARACTERS", 4)
  assert agreement.unknown_share(tokenizer, ["was 語語語語語"]) == 0


def test_a_vocabulary_of_another_layout_gives_a_warning(tmp_path, monkeypatch):
  lines = []
  monkeypatch.setattr(
    agreement.logging, "warning", lambda *line: lines.append(line)
  )
  syllables = [a + b for a in SYLLABLES for b in SYLLABLES]
  # As KoBERT's vocabulary: words begin with a mark.
  vocabularies.write(tmp_path, ["▁" + word for word in syllables])
  tokenizers.load(tmp_path)
  [line] = lines
  shown = line[0] % line[1:]
  assert "100% of the words" in shown and "Hangul" in shown
  assert str(tmp_path) in shown and "\n" not in shown


def test_a_vocabulary_that_fits_gives_none(tmp_path, monkeypatch):
  monkeypatch.setattr(agreement.logging, "warning", pytest.fail)
  letters = [chr(c) for c in range(0x250) if chr(c).isalpha()]
  vocabularies.write(
    tmp_path,
    [*letters, *("##" + c for c in letters), ",", ".", *map(str, range(900))],
  )
  tokenizers.load(tmp_path)
