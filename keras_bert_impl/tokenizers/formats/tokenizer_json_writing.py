"""Writes tokenizer.json, for other programs that read models.

Their ids are those of the tokenizers here but for what the format cannot say;
docs/tokenizers.md lists it. In a folder with the vocabulary that it was made
of, tokenizer_config.json names that one, so that it is read here; there
`transformers` finds the class that takes tokenizer.json as it is.
"""

import dataclasses
import json

from absl import logging
from etils import epy

from keras_bert_impl import files
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

with epy.lazy_imports():
  import tokenizers
  from tokenizers import decoders, models, normalizers, pre_tokenizers


_OF_OTHERS = 1e4


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
    file = vocabulary_files.find(folder)
    if file.form == vocabulary_files.TOKENIZER_JSON:
      return
    vocabulary, options = vocabularies.find(file, model_type)
    write(folder, vocabulary, options)
  except FileNotFoundError:
    return
  except ValueError as error:
    logging.warning("No tokenizer.json is written: %s", error)
    return
  path = file.folder.join(vocabulary_files.OPTIONS_FILE)
  stored = files.find_json(path) or {}
  if "tokenizer_class" not in stored:
    values = _for_transformers(vocabulary, options)
    files.write_json(
      path, tokenizer_options.stored_values(options) | stored | values
    )


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
  model, normalizer, splitter, decoder = _KINDS[vocabulary.kind](
    vocabulary, options
  )
  made = tokenizers.Tokenizer(model)
  made.pre_tokenizer, made.decoder = splitter, decoder
  if normalizer:
    made.normalizer = normalizer
  framing = vocabulary.framing(options.family)
  if {*framing.roles} <= vocabulary.role_ids.keys():
    made.post_processor = _framer(vocabulary, framing)
  mask = vocabulary.role_ids.get("mask")
  for index in sorted(vocabulary.textless_ids):
    # [MASK] takes the blanks before it.
    lstrip = vocabulary.kind != WORDPIECE and index == mask
    token = tokenizers.AddedToken(
      vocabulary.tokens[index], lstrip=lstrip, normalized=False, special=True
    )
    made.add_special_tokens([token])
  return made.to_str(pretty=True) + "\n"


def _framer(vocabulary, framing):
  """Returns the post-processor of a framing."""
  ids = vocabulary.role_ids
  names = {role: vocabulary.tokens[ids[role]] for role in framing.roles}
  single, pair = (
    [
      f"{names.get(name, f'${name}')}:{segment}"
      for name, segment in framing.template(number)
    ]
    for number in (1, 2)
  )
  return tokenizers.processors.TemplateProcessing(
    single, pair, [(name, ids[role]) for role, name in sorted(names.items())]
  )


def _for_transformers(vocabulary, options):
  """Returns the fields of tokenizer_config.json for `transformers`, dict.

  The classes of families would normalise as they are used to, and models
  without segments refuse their ids.
  """
  framing = vocabulary.framing(options.family)
  inputs = ["input_ids", "attention_mask"]
  if framing.segments:
    inputs.insert(1, "token_type_ids")
  special_tokens = {
    f"{role}_token": vocabulary.tokens[index]
    for role, index in vocabulary.role_ids.items()
  }
  sentinels = {}
  if vocabulary.kind == SENTENCEPIECE and not vocabulary.rules:
    number = sum(
      token.startswith(vocabulary_files.SENTINEL) for token in vocabulary.tokens
    )
    sentinels = {vocabulary_files.NUM_SENTINELS: number} if number else {}
  return {
    **sentinels,
    "tokenizer_class": "PreTrainedTokenizerFast",
    "model_input_names": inputs,
    "padding_side": "left" if framing.cls_at_end else "right",
    **special_tokens,
  }


def _wordpiece(vocabulary, options):
  """Returns a model, normalizer or None, pre-tokenizer and decoder."""
  steps = normalizers.BertNormalizer(
    handle_chinese_chars=options.tokenize_chinese_chars,
    strip_accents=options.strip_accents,
    lowercase=options.do_lower_case,
  )
  if options.strips_accents and options.compose_hangul:
    steps = normalizers.Sequence([steps, normalizers.NFC()])
  model = models.WordPiece(
    vocabulary.ids,
    unk_token=vocabulary.tokens[vocabulary.unk_id],
    max_input_chars_per_word=options.max_input_chars_per_word,
  )
  return model, steps, pre_tokenizers.BertPreTokenizer(), decoders.WordPiece()


def _byte_bpe(vocabulary, options):
  merges = [tuple(merge.split(" ")) for merge in vocabulary.merges]
  splitter = pre_tokenizers.ByteLevel(options.add_prefix_space)
  return (
    models.BPE(vocabulary.ids, merges),
    None,
    splitter,
    decoders.ByteLevel(),
  )


def _sentence_piece(vocabulary, options):
  model = piece_model.parse(vocabulary.model)
  settings = model.normalizer_spec
  scores = {piece.piece: piece.score for piece in model.pieces}
  steps = list(_normalizers(options))
  if settings.precompiled_charsmap:
    steps.append(normalizers.Precompiled(settings.precompiled_charsmap))
  if settings.remove_extra_whitespaces:
    steps += [
      normalizers.Strip(),
      normalizers.Replace(tokenizers.Regex(" {2,}"), " "),
    ]
  has_blanks = any(vocabulary_files.WORD_START in piece[1:] for piece in scores)
  scheme = "always" if settings.add_dummy_prefix else "never"
  spaces = {"prepend_scheme": scheme, "split": not has_blanks}
  fallback = model.trainer_spec.byte_fallback
  if model.trainer_spec.model_type == piece_model.UNIGRAM:
    others = dict.fromkeys(vocabulary.textless_ids, 0.0)
    # Pieces of another model are the last that a text is cut into.
    lowest = min(scores.values()) - _OF_OTHERS
    scored = [
      (token, scores.get(token, others.get(index, lowest)))
      for index, token in enumerate(vocabulary.tokens)
    ]
    written = models.Unigram(scored, vocabulary.unk_id, fallback)
  else:
    written = models.BPE(
      vocabulary.ids,
      _merges(scores),
      unk_token=vocabulary.tokens[vocabulary.unk_id],
      fuse_unk=True,
      byte_fallback=fallback,
    )
  splitter = pre_tokenizers.Metaspace(**spaces)
  steps = normalizers.Sequence(steps) if steps else None
  return written, steps, splitter, decoders.Metaspace(**spaces)


_KINDS = {
  WORDPIECE: _wordpiece,
  BYTE_BPE: _byte_bpe,
  SENTENCEPIECE: _sentence_piece,
}


def _normalizers(options):
  """Yields the normalizers for `SentencePieceOptions`."""
  if options.remove_space:
    yield normalizers.Replace(tokenizers.Regex(r"\s+"), " ")
    yield normalizers.Strip()
    for quotes in ("``", "''"):
      yield normalizers.Replace(quotes, '"')
  if not options.keep_accents:
    yield normalizers.NFKD()
    yield normalizers.StripAccents()
    if options.compose_hangul:
      yield normalizers.NFC()
  if options.do_lower_case:
    yield normalizers.Lowercase()


def _merges(scores):
  """Returns the merges of a BPE model of SentencePiece, the first ones first.

  It merges what makes the piece of the highest score.

  Args:
    scores: {piece: float}.
  """
  return [
    (piece[:place], piece[place:])
    for piece in sorted(scores, key=scores.get, reverse=True)
    for place in range(1, len(piece))
    if piece[:place] in scores and piece[place:] in scores
  ]
