"""Messages of tf.Example, without TensorFlow.

Source: tensorflow/core/example/example.proto and feature.proto.
"""

import numpy as np
from google.protobuf import (
  descriptor_pb2,
  descriptor_pool,
  message,
  message_factory,
)

from keras_bert_impl.serving.local import errors

_Field = descriptor_pb2.FieldDescriptorProto
# {message: [(field, type, name of its message)]}, numbered from 1.
_LISTS = {
  "BytesList": [("value", _Field.TYPE_BYTES, None)],
  "FloatList": [("value", _Field.TYPE_FLOAT, None)],
  "Int64List": [("value", _Field.TYPE_INT64, None)],
}
_MESSAGES = _LISTS | {
  "Feature": [
    (name, _Field.TYPE_MESSAGE, list_name)
    for name, list_name in zip(
      ("bytes_list", "float_list", "int64_list"), _LISTS, strict=True
    )
  ],
  "Features": [("feature", _Field.TYPE_MESSAGE, "Features.FeatureEntry")],
  "Example": [("features", _Field.TYPE_MESSAGE, "Features")],
}


def _make():
  """Returns the class of tf.Example, in a pool of its own."""
  package = "keras_bert_impl"  # TensorFlow's own may be loaded, too.
  file = descriptor_pb2.FileDescriptorProto(
    name="example.proto", package=package, syntax="proto3"
  )
  entry = [
    ("key", _Field.TYPE_STRING, None),
    ("value", _Field.TYPE_MESSAGE, "Feature"),
  ]
  for name, fields in _MESSAGES.items():
    made = file.message_type.add(name=name)
    _add_fields(made, fields, name in _LISTS or name == "Features")
    if name == "Feature":
      made.oneof_decl.add(name="kind")
      for field in made.field:
        field.oneof_index = 0
    if name == "Features":
      nested = made.nested_type.add(name="FeatureEntry")
      nested.options.map_entry = True
      _add_fields(nested, entry, False)
  pool = descriptor_pool.DescriptorPool()
  pool.Add(file)
  found = pool.FindMessageTypeByName(f"{package}.Example")
  return message_factory.GetMessageClass(found)


def _add_fields(made, fields, is_repeated):
  for number, (name, kind, message_name) in enumerate(fields, start=1):
    field = made.field.add(name=name, number=number, type=kind)
    field.label = (
      _Field.LABEL_REPEATED if is_repeated else _Field.LABEL_OPTIONAL
    )
    if message_name:
      field.type_name = f".keras_bert_impl.{message_name}"


Example = _make()


def parse(serialized, specs):
  """Returns the strings in serialized examples, {input: object array [B, ...]}.

  Args:
    serialized: object array [B] of bytes.
    specs: {input: `signatures.Spec`}. Where an input has an axis more, an
      example may hold any number of strings; it gets b"" where others of the
      batch have more.

  Raises:
    errors.RequestError: one is no example, or lacks a feature.
  """
  try:
    found = [Example.FromString(one).features.feature for one in serialized]
  except message.DecodeError as error:
    raise errors.of_model(errors.NO_EXAMPLE) from error
  columns = {}
  for name, spec in specs.items():
    rows = [
      [*one[name].bytes_list.value] if name in one else [] for one in found
    ]
    if len(spec.shape) == 1:
      if any(len(row) != 1 for row in rows):
        raise errors.of_model(errors.no_feature(name))
      columns[name] = np.array([row[0] for row in rows], object)
    else:
      most = max(map(len, rows), default=0)
      padded = [row + [b""] * (most - len(row)) for row in rows]
      columns[name] = np.array(padded, object).reshape(len(rows), most)
  return columns
