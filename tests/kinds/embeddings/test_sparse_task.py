"""The losses of sparse vectors beside a few lines of NumPy."""

import numpy as np
import pytest

from keras_bert_impl.kinds.embeddings.tasks import sparse_task
from tests import architectures

CONFIG = architectures.small(vocab_size=30, num_hidden_layers=1)


def batch_and_outputs(num_texts, weights):
  rng = np.random.default_rng(0)
  size = len(weights)
  batch = {"label_ids": np.zeros(size, "float32")}
  outputs = []
  for k in range(num_texts):
    ends = f"/{k}" if k else ""
    batch |= {
      f"text_ids{ends}": np.arange(size, dtype="int32") + 100 * k,
      f"input_mask{ends}": np.tile(np.int32(weights)[:, None], (1, 3)),
    }
    values = np.maximum(rng.normal(size=(size, 8)), 0).astype("float32")
    outputs.append({"embeddings": values})
  return batch, outputs


def test_the_regularisers_of_anchors_and_documents_have_own_weights():
  batch, outputs = batch_and_outputs(3, [1, 1, 1, 0])
  task = sparse_task.SparseEmbeddingTask(
    CONFIG, 3, query_flops_weight=0.5, document_flops_weight=0.25
  )
  a, p, n = (each["embeddings"][:3] for each in outputs)
  documents = np.concatenate([p, n])
  expected = 0.5 * np.sum(a.mean(axis=0) ** 2)
  expected += 0.25 * np.sum(documents.mean(axis=0) ** 2)
  number = float(task.denominators(batch)["flops"])
  assert number == 3
  found = task.losses(batch, outputs)
  assert float(found["flops"]) / number == pytest.approx(expected, 1e-5)
  logits = a @ documents.T
  expected = np.log(np.exp(logits).sum(axis=1)) - np.diagonal(logits)
  assert float(found["in_batch"]) == pytest.approx(expected.sum(), 1e-5)
  tokens, count = task.metrics(batch, outputs)["query_tokens"]
  assert float(tokens) / float(count) == pytest.approx((a > 0).sum() / 3)


def test_padding_does_not_change_the_weights_of_tokens():
  model = sparse_task.SparseEmbeddingTask(CONFIG).build_model()
  ids = np.array([[2, 9, 8, 3]], "int32")
  vector = model({"input_ids": ids})["embeddings"].numpy()
  padded = {
    "input_ids": np.pad(ids, [[0, 0], [0, 5]]),
    "input_mask": np.pad(np.ones_like(ids), [[0, 0], [0, 5]]),
  }
  np.testing.assert_allclose(model(padded)["embeddings"], vector, atol=1e-6)
  assert vector.shape == (1, 30) and (vector >= 0).all()
