"""Small vocabularies of the tests' own."""

import os

from keras_bert_impl.tokenizers import vocabulary

# Both cases, accents, several scripts, jamo and syllables, single symbols.
CHARACTERS = (
  "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
  "éèüñçßåÉÜÅøØłŁıİσςΣαΑάжЖёЁйЙאבشسहिन्दीกขაბ中国語日本ひらがなガカ한국어가"
  "\u1112\u1161\u11ab\u1100\u116e\u11a8!?.,;:'\"()[]#@-_/\\&*$^~`…—«»、。！？€©→😀"
  "\u0301\u0308\u093f\u200d"
)
WORDS = (
  "hello world the mask cls token ##s ##ization ##ing play un ##believ ##able "
  "Hello World Café café naive naïve ##é 한국 ##국어"
)


def write(directory, tokens=None):
  """Writes vocab.txt into `directory`; returns its path.

  Args:
    directory: path.
    tokens: list of str without the special ones; default: every character
      alone and as a continuation, and some words.
  """
  if tokens is None:
    characters = sorted(set(CHARACTERS))
    tokens = characters + ["##" + c for c in characters] + WORDS.split()
  tokens = list(dict.fromkeys([*vocabulary.SPECIAL_TOKENS, *tokens]))
  path = os.path.join(directory, "vocab.txt")
  with open(path, "w", encoding="utf-8") as file:
    file.write("".join(f"{token}\n" for token in tokens))
  return path
