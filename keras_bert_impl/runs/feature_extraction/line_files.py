"""Writes files of the hidden states of lines of text."""

import io
import json

import numpy as np
import tensorflow as tf


def _write_jsonl(path, lines, extractor):
  tokens = extractor.tokenizer.vocabulary.tokens
  with tf.io.gfile.GFile(path, "w") as file:
    for line in lines:
      values = np.round(line.values.astype(np.float64), 6).tolist()
      content = {
        "linex_index": line.index,
        "features": [
          {
            "token": tokens[input_id],
            "layers": [
              {"index": index, "values": vector}
              for index, vector in zip(extractor.layers, vectors, strict=True)
            ],
          }
          for input_id, vectors in zip(line.input_ids, values, strict=True)
        ],
      }
      file.write(json.dumps(content, ensure_ascii=False) + "\n")


def _write_npz(path, lines, extractor):
  ids = [np.zeros(0, np.int32)]
  shape = (0, len(extractor.layers), extractor.hidden_size)
  values = [np.zeros(shape, np.float32)]
  for line in lines:
    ids.append(line.input_ids)
    values.append(line.values)
  content = io.BytesIO()
  np.savez(
    content,
    values=np.concatenate(values),
    row_splits=np.cumsum([len(row) for row in ids], dtype=np.int64),
    input_ids=np.concatenate(ids),
    layers=np.array(extractor.layers, np.int32),
  )
  with tf.io.gfile.GFile(path, "wb") as file:
    file.write(content.getvalue())


def _write_tfrecord(path, lines, extractor):
  with tf.io.TFRecordWriter(path) as file:
    for line in lines:
      example = tf.train.Example()
      feature = example.features.feature
      feature["linex_index"].int64_list.value.append(line.index)
      feature["input_ids"].int64_list.value.extend(line.input_ids)
      feature["layers"].int64_list.value.extend(extractor.layers)
      feature["hidden_size"].int64_list.value.append(extractor.hidden_size)
      feature["values"].float_list.value.extend(line.values.ravel())
      file.write(example.SerializeToString(deterministic=True))


WRITERS = {
  "jsonl": _write_jsonl,
  "npz": _write_npz,
  "tfrecord": _write_tfrecord,
}
