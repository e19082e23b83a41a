"""Messages of tf.Example are those of TensorFlow."""

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl.serving.local import errors, examples, signatures

TEXT = signatures.Spec(signatures.STRING, (None,))
TEXTS = signatures.Spec(signatures.STRING, (None, None))


def test_the_bytes_are_those_of_tensorflow():
  made = []
  for make in (examples.Example, tf.train.Example):
    example = make()
    feature = example.features.feature
    feature["text"].bytes_list.value.extend([b"a", "가".encode()])
    feature["number"].int64_list.value.extend([1, -(2**63)])
    feature["share"].float_list.value.extend([1.5, -0.0])
    made.append(example.SerializeToString(deterministic=True))
  assert made[0] == made[1]
  with pytest.raises(ValueError):
    examples.Example().features.feature["x"].int64_list.value.extend([2**63])


def test_lists_of_strings_are_padded():
  made = []
  for texts, choices in ((["a"], ["b", "c"]), (["d"], [])):
    example = tf.train.Example()
    feature = example.features.feature
    feature["text"].bytes_list.value.extend(x.encode() for x in texts)
    feature["choices"].bytes_list.value.extend(x.encode() for x in choices)
    made.append(example.SerializeToString())
  specs = {"text": TEXT, "choices": TEXTS}
  found = examples.parse(np.array(made, object), specs)
  assert found["text"].tolist() == [b"a", b"d"]
  assert found["choices"].tolist() == [[b"b", b"c"], [b"", b""]]
  none = examples.parse(np.zeros(0, object), specs)
  assert none["choices"].shape == (0, 0)


@pytest.mark.parametrize(
  ("serialized", "message"),
  [
    (b"half", "not a serialized tf.Example"),
    (b"", "has no feature text"),
    (b"\xff\xfe", "not a serialized tf.Example"),
  ],
)
def test_what_is_no_example_is_refused(serialized, message):
  with pytest.raises(errors.RequestError, match=message):
    examples.parse(np.array([serialized], object), {"text": TEXT})
