"""Writes tokenizer.json, for other programs that read models.

Their ids are those of the tokenizers here but for what the format cannot say;
docs/tokenizers.md lists it. In a folder with the vocabulary that it was made
of, tokenizer_config.json names that one, so that it is read here; there
`transformers` finds the class that takes tokenizer.json as it is.
"""

import base64
import dataclasses
import json

from absl import logging

from keras_bert_impl import families, files
from keras_bert_impl.tokenizers.formats import (
  piece_model,
  tokenizer_options,
  vocabularies,
  vocabulary_files,
)
from keras_bert_impl.tokenizers.formats.vocabulary_files import (
  BYTE_BPE,
  SENTENCEPIECE,
  WORDPIECE,
)

_MOST_WORD_CHARACTERS = 200  # as in `normalization`
_METASPACE = {
  "type": "Metaspace",
  "replacement": vocabulary_files.WORD_START,
  "prepend_scheme": "always",
}
_BYTE_LEVEL = {"type": "ByteLevel", "trim_offsets": True, "use_regex": True}


def save(folder, vocabulary, options):
  """Writes the files that `tokenizers.load(folder)` and others read.

  Args:
    folder: str.
    vocabulary: `Vocabulary`.
    options: its options, as `tokenizer_options.resolve` returns them.

  Returns:
    str, the path of the vocabulary.
  """
  name = vocabularies.file_name(vocabulary)
  path = vocabulary_files.beside(f"{folder}/", name)
  # The vocabulary last: where it is, its options are too.
  tokenizer_options.save(path, options, _for_transformers(vocabulary, options))
  write(folder, vocabulary, options)
  vocabulary.save(path)
  return path


def write(folder, vocabulary, options):
  """Writes tokenizer.json into a folder; arguments as `save`."""
  path = vocabulary_files.beside(f"{folder}/", vocabulary_files.TOKENIZER_JSON)
  files.write_atomically(path, content(vocabulary, options))


def add(folder, model_type):
  """Writes the tokenizer.json of a folder with another vocabulary.

  And tokenizer_config.json, if nothing there names a class of `transformers`.
  Warns where that cannot be read. A folder without one stays as it is.

  Args:
    folder: str.
    model_type: str, family of the model.
  """
  try:
    path = vocabulary_files.find_file(folder)
    if vocabulary_files.is_tokenizer_json(path):
      return
    options = tokenizer_options.resolve(path, model_type)
    vocabulary = vocabularies.Vocabulary.load(path, family=options.family)
    write(folder, vocabulary, options)
  except FileNotFoundError:
    return
  except ValueError as error:
    logging.warning("No tokenizer.json is written: %s", error)
    return
  path = vocabulary_files.beside(path, vocabulary_files.OPTIONS_FILE)
  stored = files.find_json(path) or {}
  if "tokenizer_class" not in stored:
    values = _for_transformers(vocabulary, options)
    files.write_json(path, dataclasses.asdict(options) | stored | values)


def extended(vocabulary, tokens):
  """Returns a `Vocabulary` of WordPiece with other tokens.

  Args:
    vocabulary: `Vocabulary`; all else stays.
    tokens: list of str; those that only added_tokens of a tokenizer.json has
      stay where they are.
  """
  rules = vocabulary.rules
  if rules:
    values = json.loads(rules.content)
    values["model"]["vocab"] = {
      token: index
      for index, token in enumerate(tokens)
      if index not in rules.outside
    }
    written = files.to_json(values).encode("utf-8")
    rules = dataclasses.replace(rules, content=written)
  return dataclasses.replace(vocabulary, tokens=tuple(tokens), rules=rules)


def content(vocabulary, options):
  """Returns the content of a tokenizer.json, str or bytes.

  Args:
    vocabulary: `Vocabulary`.
    options: as `save`.
  """
  if vocabulary.rules:
    return vocabulary.rules.content
  values = {
    "version": "1.0",
    "truncation": None,
    "padding": None,
    "added_tokens": _added_tokens(vocabulary),
    "normalizer": None,
    "pre_tokenizer": None,
    "post_processor": _post_processor(vocabulary, options),
  }
  return files.to_json(values | _KINDS[vocabulary.kind](vocabulary, options))


def _for_transformers(vocabulary, options):
  """Returns what tokenizer_config.json tells `transformers`, dict.

  The classes of families would normalise as they are used to, and models
  without segments refuse their ids.
  """
  framing = _framing(vocabulary, options)
  inputs = ["input_ids", "attention_mask"]
  if framing.segments:
    inputs.insert(1, "token_type_ids")
  special_tokens = {
    f"{role}_token": vocabulary.tokens[index]
    for role, index in vocabulary.role_ids.items()
  }
  return {
    "tokenizer_class": "PreTrainedTokenizerFast",
    "model_input_names": inputs,
    "padding_side": "left" if framing.cls_at_end else "right",
    **special_tokens,
  }


def _framing(vocabulary, options):
  """Returns the `Framing` of a tokenizer.json or of the family."""
  own = vocabulary.rules.framing if vocabulary.rules else None
  return own or families.FAMILIES[options.family or families.DEFAULT].framing


def _added_tokens(vocabulary):
  """Returns the special tokens; [MASK] takes the blanks before it."""
  takes_blanks = vocabulary.kind != WORDPIECE
  mask = vocabulary.role_ids.get("mask")
  return [
    {
      "id": index,
      "content": vocabulary.tokens[index],
      "single_word": False,
      "lstrip": takes_blanks and index == mask,
      "rstrip": False,
      "normalized": False,
      "special": True,
    }
    for index in sorted(vocabulary.special_ids)
  ]


def _post_processor(vocabulary, options):
  """Returns the framing of the family; None without [CLS] or [SEP]."""
  ids = vocabulary.role_ids
  if not {"cls", "sep"} <= ids.keys():
    return None
  framing = _framing(vocabulary, options)
  names = {role: vocabulary.tokens[ids[role]] for role in ("cls", "sep")}

  def entry(name, segment):
    kind = "SpecialToken" if name in names else "Sequence"
    return {kind: {"id": names.get(name, name), "type_id": segment}}

  single, pair = (
    [entry(*part) for part in framing.template(number)] for number in (1, 2)
  )
  return {
    "type": "TemplateProcessing",
    "single": single,
    "pair": pair,
    "special_tokens": {
      name: {"id": name, "ids": [ids[role]], "tokens": [name]}
      for role, name in sorted(names.items())
    },
  }


def _wordpiece(vocabulary, options):
  normalizer = {
    "type": "BertNormalizer",
    "clean_text": True,
    "handle_chinese_chars": True,
    "strip_accents": None,
    "lowercase": options.do_lower_case,
  }
  if options.do_lower_case and options.compose_hangul:
    normalizer = _sequence("normalizers", [normalizer, {"type": "NFC"}])
  return {
    "normalizer": normalizer,
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
    "model": {
      "type": "WordPiece",
      "unk_token": vocabulary.tokens[vocabulary.unk_id],
      "continuing_subword_prefix": "##",
      "max_input_chars_per_word": _MOST_WORD_CHARACTERS,
      "vocab": vocabulary.ids,
    },
  }


def _byte_bpe(vocabulary, options):
  return {
    "pre_tokenizer": _BYTE_LEVEL
    | {"add_prefix_space": options.add_prefix_space},
    "decoder": _BYTE_LEVEL | {"add_prefix_space": True},
    "model": _bpe_model(
      vocabulary.ids, [merge.split(" ") for merge in vocabulary.merges]
    ),
  }


def _sentence_piece(vocabulary, options):
  model = piece_model.parse(vocabulary.model)
  settings = model.normalizer_spec
  scores = {piece.piece: piece.score for piece in model.pieces}
  scored = [[token, scores.get(token, 0.0)] for token in vocabulary.tokens]
  steps = list(_normalizers(options))
  if settings.precompiled_charsmap:
    charsmap = base64.b64encode(settings.precompiled_charsmap).decode("ascii")
    steps.append({"type": "Precompiled", "precompiled_charsmap": charsmap})
  if settings.remove_extra_whitespaces:
    steps += [
      {"type": "Strip", "strip_left": True, "strip_right": True},
      {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
    ]
  scheme = "always" if settings.add_dummy_prefix else "never"
  has_blanks = any(vocabulary_files.WORD_START in piece[1:] for piece in scores)
  metaspace = _METASPACE | {"prepend_scheme": scheme, "split": not has_blanks}
  fallback = model.trainer_spec.byte_fallback
  if model.trainer_spec.model_type == piece_model.UNIGRAM:
    written = {
      "type": "Unigram",
      "unk_id": vocabulary.unk_id,
      "vocab": scored,
      "byte_fallback": fallback,
    }
  else:
    written = _bpe_model(vocabulary.ids, _merges(scores)) | {
      "unk_token": vocabulary.tokens[vocabulary.unk_id],
      "fuse_unk": True,
      "byte_fallback": fallback,
    }
  return {
    "normalizer": _sequence("normalizers", steps) if steps else None,
    "pre_tokenizer": metaspace,
    "decoder": metaspace,
    "model": written,
  }


_KINDS = {
  WORDPIECE: _wordpiece,
  BYTE_BPE: _byte_bpe,
  SENTENCEPIECE: _sentence_piece,
}


def _normalizers(options):
  """Yields the normalizers for `SentencePieceOptions`."""
  if options.remove_space:
    yield {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "}
    yield {"type": "Strip", "strip_left": True, "strip_right": True}
    for quotes in ("``", "''"):
      yield {"type": "Replace", "pattern": {"String": quotes}, "content": '"'}
  if not options.keep_accents:
    yield {"type": "NFKD"}
    yield {"type": "StripAccents"}
    if options.compose_hangul:
      yield {"type": "NFC"}
  if options.do_lower_case:
    yield {"type": "Lowercase"}


def _merges(scores):
  """Returns the merges of a BPE model of SentencePiece, the first ones first.

  It merges what makes the piece of the highest score.

  Args:
    scores: {piece: float}.
  """
  return [
    [piece[:place], piece[place:]]
    for piece in sorted(scores, key=scores.get, reverse=True)
    for place in range(1, len(piece))
    if piece[:place] in scores and piece[place:] in scores
  ]


def _bpe_model(ids, merges):
  return {
    "type": "BPE",
    "dropout": None,
    "unk_token": None,
    "continuing_subword_prefix": None,
    "end_of_word_suffix": None,
    "fuse_unk": False,
    "byte_fallback": False,
    "ignore_merges": False,
    "vocab": ids,
    "merges": merges,
  }


def _sequence(name, steps):
  return {"type": "Sequence", name: steps}
