"""A process without tensorflow-text and fcntl: what works there.

    python without_tensorflow_text.py VOCABULARIES TEXTS CHECKPOINT

prints JSON: the ids of texts by vocabulary, from a call and from a data set,
what a classifier that was trained here answers, and why it is not exported.
"""

import json
import sys

sys.modules["tensorflow_text"] = sys.modules["fcntl"] = None

import tensorflow as tf  # noqa: E402

import keras_bert_impl as kb  # noqa: E402


def rows(tokenizer, texts):
  """Returns the rows of ids of a data set of texts."""
  data = tf.data.Dataset.from_tensor_slices(texts).batch(2)
  data = data.map(lambda some: tokenizer(some, max_seq_length=8))
  return [row.tolist() for batch in data for row in batch["input_ids"].numpy()]


def main():
  """Prints the ids and the answers."""
  vocabularies, texts, checkpoint = map(json.loads, sys.argv[1:])
  found = {}
  for path in vocabularies:
    tokenizer = kb.load_tokenizer(path)
    found[path] = [tokenizer.tokenize(texts).to_list(), rows(tokenizer, texts)]
  classifier = kb.TextClassifier.from_checkpoint(checkpoint, max_seq_length=8)
  classifier.fit(["good", "bad"] * 4, ["p", "n"] * 4, epochs=1)
  [answer] = classifier.predict(["good"])
  try:
    classifier.export(f"{checkpoint}_served")
    error = None
  except ValueError as refused:
    error = str(refused)
  print(json.dumps({"ids": found, "answer": answer, "error": error}))


if __name__ == "__main__":
  main()
