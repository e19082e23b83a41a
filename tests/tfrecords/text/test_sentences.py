import pytest

from tfrecords.text import sentences


@pytest.mark.parametrize(
  "expected",
  [
    ["One ends.", "Two asks?", "Three!", "Four trails on\u2026", "Five"],
    ["Mr. Hyde met Dr. J. Lanyon at No. 7.", "See e.g. Fig. 3 for it."],
    ['"Who?" said he.', '"I!"', "(Quietly.)", "He left."],
    ["It costs 3.5 pounds.", "2 remain."],
    ["1. First of a list.", "Then more."],
    ["It was I.", "He saw it."],
    ["러스트는 안전합니다.", "정말 빠를까요?", "네!"],
    ["今日は晴れ。", "明日は「雨」です。"],
    ["Été comme hiver.", "Élan vital."],
  ],
)
def test_sentences_are_found(expected):
  joint = "" if "。" in expected[0] else " "
  assert sentences.split_sentences(joint.join(expected)) == expected


def test_no_character_but_white_space_is_lost():
  text = 'A b.  C d!? "E." (F) 。。G... h. 1.2. I.'
  kept = "".join(sentences.split_sentences(text))
  assert kept.replace(" ", "") == text.replace(" ", "")


def test_a_text_without_words_has_no_sentences():
  assert sentences.split_sentences("  \t ") == []
