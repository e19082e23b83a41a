"""A vocabulary of another layout than it is read with gives a warning."""

import pytest

from keras_bert_impl import tokenizers
from keras_bert_impl.tokenizers import agreement as probe
from tests.tokenizers import vocabularies

KOREAN = (
  "가각간갈감갑강개객거건걸검게겨격견결경계고곡곤골공과관교구국군권그극근글금기"
)


def test_a_vocabulary_of_another_layout_gives_a_warning(tmp_path, monkeypatch):
  lines = []
  monkeypatch.setattr(
    probe.logging, "warning", lambda *line: lines.append(line)
  )
  syllables = [a + b for a in KOREAN for b in KOREAN]
  # As KoBERT's vocabulary: words begin with a mark.
  vocabularies.write(tmp_path, ["▁" + word for word in syllables])
  tokenizers.load(tmp_path)
  [line] = lines
  shown = line[0] % line[1:]
  assert "100% of the words" in shown and "Hangul" in shown
  assert str(tmp_path) in shown and "\n" not in shown


def test_a_vocabulary_that_fits_gives_none(tmp_path, monkeypatch):
  monkeypatch.setattr(probe.logging, "warning", pytest.fail)
  letters = [chr(c) for c in range(0x250) if chr(c).isalpha()]
  vocabularies.write(
    tmp_path,
    [*letters, *("##" + c for c in letters), ",", ".", *map(str, range(900))],
  )
  tokenizers.load(tmp_path)
