r"""Published patterns that split texts into words, as steps with RE2.

They end with "\s+(?!\S)|\s+": white space before text leaves its last
character to the next word. RE2 has no look-ahead; so a first step cuts there,
and the second one after each match of the rest of the pattern, where white
space ends at the cut.
"""

from keras_bert_impl.tokenizers.formats import characters, text_rules

_END = r"|\s+(?!\S)|\s+"
_SHORT = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_START = r"[^\r\n\p{L}\p{N}]?"
_SYMBOLS = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
# {pattern: of whom}.
PATTERNS = {
  r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+"
  + _END: "GPT-2",
  rf"{_SHORT}|{_START}\p{{L}}+|\p{{N}}{{1,3}}{_SYMBOLS}{_END}": "Llama 3",
  rf"{_SHORT}|{_START}\p{{L}}+|\p{{N}}{_SYMBOLS}{_END}": "Qwen 2",
  rf"{_START}{_UPPER}*{_LOWER}+{_SHORT}?|{_START}{_UPPER}+{_LOWER}*{_SHORT}?"
  + r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+"
  + _END: "o200k",
}


def cuts(pattern):
  """Returns the steps that put `text_rules.CUT` after each word.

  Args:
    pattern: str, a key of `PATTERNS`.
  """
  space = characters.SPACE[1:-1]
  words = pattern.removesuffix(_END) + r"|\s+"
  words = words.replace(r"[^\s", f"[^{space}").replace(r"\s", f"[{space}]")
  breaks = "" if PATTERNS[pattern] == "GPT-2" else "\r\n"
  lasts = characters.any_of(
    c for c in characters.SPACES if chr(c) not in breaks
  )
  return (
    (
      "replace",
      f"([{space}])({lasts}[^{space}])",
      rb"\1" + text_rules.CUT + rb"\2",
    ),
    ("replace", words, rb"\0" + text_rules.CUT),
  )
