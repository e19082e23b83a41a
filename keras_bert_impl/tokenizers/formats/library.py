"""Raw text to ids by the `tokenizers` library, without TensorFlow."""

import json
import re

import tokenizers

from keras_bert_impl.tokenizers.formats import (
  characters,
  tokenizer_json_writing,
  vocabularies,
  vocabulary_files,
)


def is_exact(vocabulary, options):
  """Returns whether the library gives the ids of the tokenizer in the graph.

  A tokenizer.json has no place for what ALBERT does to commas after digits;
  and the library cuts Hangul that accent stripping decomposes otherwise.

  Args:
    vocabulary: `vocabularies.Vocabulary`.
    options: its options, as `tokenizer_options.resolve` returns them.
  """
  if vocabulary.rules or vocabulary.kind != vocabulary_files.SENTENCEPIECE:
    return True
  keeps_hangul = options.keep_accents or options.compose_hangul
  return keeps_hangul and not options.split_digit_commas


class Library:
  """The tokenizer of a vocabulary, with the ids of those in the graph.

  Args:
    vocabulary: `vocabularies.Vocabulary`.
    options: its options, as `tokenizer_options.resolve` returns them.

  Attributes:
    vocabulary: as given.

  Raises:
    ValueError: the library cannot read it.
  """

  def __init__(self, vocabulary, options):
    self.vocabulary = vocabulary
    self._mark_id = vocabulary.ids.get(vocabulary_files.WORD_START)
    content = json.loads(tokenizer_json_writing.content(vocabulary, options))
    content["post_processor"] = None
    self._hidden = {}
    if not vocabulary.rules:
      # Special tokens that stand in a text are text.
      content["added_tokens"] = []
      if content["model"]["type"] == "Unigram":
        self._hide_special(content["model"]["vocab"])
    try:
      self._library = tokenizers.Tokenizer.from_str(json.dumps(content))
    except Exception as error:  # The library raises no narrower one.
      rules = vocabulary.rules
      unusual = rules.not_in_graph if rules else ""
      raise ValueError(
        f"{unusual or vocabulary.origin} The tokenizers library cannot read it"
        f" either: {error}."
      ) from error
    self._library.no_truncation()
    self._library.no_padding()

  def _hide_special(self, pieces):
    """Renames special pieces, which a text would have otherwise."""
    for index in self.vocabulary.textless_ids:
      self._hidden[f"\0{index}\0"] = pieces[index][0]
      pieces[index][0] = f"\0{index}\0"

  def pieces(self, texts):
    """Returns the ids of texts, list of B str, without special tokens.

    Returns:
      list of B lists of int.
    """
    return [found.ids for found in self._encode(texts)]

  def align(self, texts):
    """Returns the ids, first and last characters + 1 of texts.

    As `Tokenizer.tokenize_with_offsets`: the blank before a word belongs to
    none.

    Args:
      texts: list of B str.

    Returns:
      list of B (ids, starts, ends), lists of int.
    """
    found = []
    for encoding, text in zip(self._encode(texts), texts, strict=True):
      ids = encoding.ids
      spans = [
        self._span(index, text[begin:end], begin, end)
        for index, (begin, end) in zip(ids, encoding.offsets, strict=True)
      ]
      found.append((ids, [a for a, _ in spans], [b for _, b in spans]))
    return found

  def _span(self, index, text, begin, end):
    """Returns the first and the last character + 1 of a piece."""
    shown = text.lstrip()
    if shown and index == self._mark_id:
      return begin, begin  # It stands before the text, not in it.
    if not shown and self.vocabulary.kind == vocabulary_files.BYTE_BPE:
      return begin, end
    return end - len(shown), end

  def pieces_around_masks(self, texts):
    """Returns ids as `pieces`; a mask's name in a text is the mask token.

    As `Tokenizer.tokenize_around_masks`, T5's sentinels likewise.
    """
    rules = self.vocabulary.rules
    added = [token.index for token in rules.added_tokens] if rules else []
    tokens = self.vocabulary.tokens
    marks = vocabularies.mark_ids(self.vocabulary)
    marks = {tokens[index]: index for index in marks if index not in added}
    if not marks:
      return self.pieces(texts)
    found = "|".join(map(re.escape, marks))
    blanks = "[" + "".join(map(chr, characters.SPACES)) + "]*"
    apart = re.compile(f"{blanks}({found})")
    return [
      [
        index
        for number, stretch in enumerate(apart.split(text))
        for index in (
          [marks[stretch]] if number % 2 else self.pieces([stretch])[0]
        )
      ]
      for text in texts
    ]

  def words(self, words):
    """Returns the ids of single words, list of lists of int."""
    vocabulary = self.vocabulary
    if vocabulary.merges and not (
      vocabulary.rules and vocabulary.rules.prepends
    ):
      words = [word and f" {word}" for word in words]
    return self.pieces(words)

  def decode(self, rows):
    """Returns the texts of lists of ids, list of str."""
    texts = self._library.decode_batch(rows, skip_special_tokens=False)
    for hidden, token in self._hidden.items():
      texts = [text.replace(hidden, token) for text in texts]
    return texts

  def _encode(self, texts):
    if len(texts) == 1:  # A batch is handed to other threads.
      return [self._library.encode(texts[0], add_special_tokens=False)]
    return self._library.encode_batch(texts, add_special_tokens=False)
