"""The file format of SentencePiece models, read and made.

The library's own sentencepiece_model_pb2 needs a newer protobuf than TensorFlow
2.20 allows; these are the parts of its messages that are used here.
"""

import functools

import numpy as np
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

UNIGRAM, _WORD = 1, 3  # values of model_type
_NORMAL, _UNKNOWN, _BYTE = 1, 2, 6  # values of a piece's type

_TYPES = descriptor_pb2.FieldDescriptorProto
# {message: ((field, number, type, default), ...)}
_MESSAGES = {
  "SentencePiece": (
    ("piece", 1, _TYPES.TYPE_STRING, None),
    ("score", 2, _TYPES.TYPE_FLOAT, None),
    ("type", 3, _TYPES.TYPE_INT32, str(_NORMAL)),
  ),
  "TrainerSpec": (
    ("model_type", 3, _TYPES.TYPE_INT32, str(UNIGRAM)),
    ("treat_whitespace_as_suffix", 24, _TYPES.TYPE_BOOL, "false"),
    ("byte_fallback", 35, _TYPES.TYPE_BOOL, "false"),
  ),
  "NormalizerSpec": (
    ("precompiled_charsmap", 2, _TYPES.TYPE_BYTES, None),
    ("add_dummy_prefix", 3, _TYPES.TYPE_BOOL, "true"),
    ("remove_extra_whitespaces", 4, _TYPES.TYPE_BOOL, "true"),
    ("escape_whitespaces", 5, _TYPES.TYPE_BOOL, "true"),
  ),
  "ModelProto": (
    ("pieces", 1, _TYPES.TYPE_MESSAGE, None),
    ("trainer_spec", 2, _TYPES.TYPE_MESSAGE, None),
    ("normalizer_spec", 3, _TYPES.TYPE_MESSAGE, None),
  ),
}
_TYPE_NAMES = {
  "pieces": ".SentencePiece",
  "trainer_spec": ".TrainerSpec",
  "normalizer_spec": ".NormalizerSpec",
}
_SCORE_STEPS = 2**12  # of scores of 1


def parse(content):
  """Returns the message of a model's file, which must be one."""
  return _model_class().FromString(content)


def unigram(pieces, unk_id, byte_pieces=()):
  """Returns the file of a unigram model that leaves the text as it is.

  Args:
    pieces: list of (str, float), the pieces by id, all different, and
      their scores.
    unk_id: int, of the piece for what is unknown.
    byte_pieces: collection of str, those that stand for a byte; if there are
      any, they replace what is unknown.

  Returns:
    bytes.
  """
  model = _model_class()()
  model.trainer_spec.byte_fallback = bool(byte_pieces)
  model.normalizer_spec.add_dummy_prefix = False
  model.normalizer_spec.remove_extra_whitespaces = False
  for index, (piece, score) in enumerate(pieces):
    kind = _BYTE if piece in byte_pieces else _NORMAL
    kind = _UNKNOWN if index == unk_id else kind
    # Sums of a few such scores are exact in float32. Others would be rounded by
    # the order of their terms, which decides between cuts like "..|...|..",
    # whose pieces are the same; tokenizers adds up in float64.
    score = round(score * _SCORE_STEPS) / _SCORE_STEPS
    model.pieces.add(piece=piece, score=score, type=kind)
  return model.SerializeToString()


def is_character_map(charsmap):
  """Returns whether a precompiled_charsmap refers to nothing outside of itself.

  The op that uses it does not check that.

  Args:
    charsmap: bytes: the size of a table of states, the table (a double array of
      Darts) and the texts that characters are mapped to, each ended by NUL.
  """
  if len(charsmap) < 4:
    return False
  size = int.from_bytes(charsmap[:4], "little")
  texts = charsmap[4 + size :]
  if not size or size % 1024 or len(charsmap) < 4 + size or texts[-1:] != b"\0":
    return False
  units = np.frombuffer(charsmap, np.uint32, size // 4, offset=4)
  is_value = units >> 31 == 1
  values = units[is_value] & 0x7FFFFFFF
  states = units[~is_value]
  offsets = (states >> 10) << ((states & 1 << 9) >> 6)
  last = (np.flatnonzero(~is_value) ^ offsets) | 0xFF
  return bool((values < len(texts)).all() and (last < len(units)).all())


def short_mapped(charsmap):
  """Returns the texts of at most three bytes that a map changes, list of str.

  Args:
    charsmap: bytes, as of `is_character_map`.
  """
  size = int.from_bytes(charsmap[:4], "little")
  units = np.frombuffer(charsmap, np.uint32, size // 4, offset=4)
  bytes_, mapped = np.arange(1, 256), []
  states, names = np.array([0]), [b""]
  for _ in range(3):
    offsets = (units[states] >> 10) << ((units[states] & 1 << 9) >> 6)
    following = (states ^ offsets)[:, np.newaxis] ^ bytes_
    rows, columns = np.nonzero(units[following] & 0x800000FF == bytes_)
    states = following[rows, columns]
    names = [
      names[row] + bytes_[column].tobytes()[:1]
      for row, column in zip(rows, columns, strict=True)
    ]
    is_whole = units[states] >> 8 & 1
    mapped += [
      name.decode("utf-8", "replace")
      for name, whole in zip(names, is_whole, strict=True)
      if whole
    ]
  return mapped


def character_map(charsmap):
  """Returns the file of a model whose pieces, joined, are the mapped text.

  Args:
    charsmap: bytes, the precompiled_charsmap of a model.

  Returns:
    bytes.
  """
  model = _model_class().FromString(unigram([("<unk>", 0.0)], 0))
  # A text is one unknown word: blanks are not marked.
  model.trainer_spec.model_type = _WORD
  model.normalizer_spec.escape_whitespaces = False
  model.normalizer_spec.precompiled_charsmap = charsmap
  return model.SerializeToString()


@functools.cache
def _model_class():
  """Returns the class of the messages."""
  file = descriptor_pb2.FileDescriptorProto(name="sentencepiece.proto")
  for name, fields in _MESSAGES.items():
    message = file.message_type.add(name=name)
    for field, number, kind, default in fields:
      is_list = field == "pieces"
      message.field.add(
        name=field,
        number=number,
        type=kind,
        type_name=_TYPE_NAMES.get(field),
        default_value=default,
        label=_TYPES.LABEL_REPEATED if is_list else _TYPES.LABEL_OPTIONAL,
      )
  pool = descriptor_pool.DescriptorPool()
  pool.AddSerializedFile(file.SerializeToString())
  return message_factory.GetMessageClass(
    pool.FindMessageTypeByName("ModelProto")
  )
