import keras
import numpy as np
import pytest

from keras_bert_impl import models
from keras_bert_impl.models.heads import embedding_model
from tests import architectures

CONFIG = architectures.tiny(vocab_size=50, initializer_range=0.2)
IDS = np.array([[2, 7, 8, 3, 0], [2, 9, 10, 11, 3]], "int32")
MASK = (IDS > 0).astype("int32")
INPUTS = {"input_ids": IDS, "input_mask": MASK}


@pytest.fixture(scope="module")
def encoder():
  return models.TransformerEncoder(CONFIG)


def project():
  return [
    keras.layers.Dense(3, "tanh", dtype="float32"),
    keras.layers.UnitNormalization(dtype="float32"),
  ]


def test_the_vector_goes_through_the_final_layers(encoder):
  layers = project()
  model = models.EmbeddingModel(encoder, ("mean",), layers)
  outputs = model(INPUTS)
  hidden = np.array(outputs["sequence_output"])
  mean = np.stack([hidden[0, :4].mean(0), hidden[1].mean(0)])
  vectors = np.tanh(mean @ np.array(layers[0].kernel))
  vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
  np.testing.assert_allclose(outputs["embeddings"], vectors, atol=1e-6)
  assert set(outputs) == {"sequence_output", "pooled_output", "embeddings"}


def test_the_pooler_s_output_can_be_the_vector(encoder):
  outputs = models.EmbeddingModel(encoder, "pooler")(INPUTS)
  np.testing.assert_array_equal(outputs["embeddings"], outputs["pooled_output"])
  without = models.TransformerEncoder(CONFIG, use_pooler=False)
  with pytest.raises(ValueError, match="the encoder has no pooler"):
    models.EmbeddingModel(without, "pooler")


def test_a_prompt_need_not_be_pooled(encoder):
  model = models.EmbeddingModel(encoder, include_prompt=False)
  whole = models.EmbeddingModel(encoder)(INPUTS)["embeddings"]
  np.testing.assert_array_equal(model(INPUTS)["embeddings"], whole)
  mask = MASK.copy()
  mask[:, :2] = 0
  outputs = model({**INPUTS, "pooling_mask": mask})
  hidden = np.array(outputs["sequence_output"])
  np.testing.assert_allclose(
    outputs["embeddings"][0], hidden[0, 2:4].mean(0), atol=1e-6
  )


@pytest.mark.integration
def test_it_trains_inside_another_model(encoder):
  model = models.EmbeddingModel(
    models.TransformerEncoder(CONFIG, use_pooler=False), "mean", project()
  )
  texts = [
    {n: keras.Input((None,), dtype="int32", name=n + side) for n in INPUTS}
    for side in "ab"
  ]
  vectors = [model(text)["embeddings"] for text in texts]
  siamese = keras.Model(texts, keras.ops.sum(vectors[0] * vectors[1], axis=-1))
  siamese.compile(keras.optimizers.Adam(0.01), "mse", jit_compile=False)
  other = {"input_ids": IDS[::-1], "input_mask": MASK[::-1]}
  fit = siamese.fit(
    [INPUTS, other], np.array([-1.0, -1.0]), epochs=6, verbose=0
  )
  assert fit.history["loss"][-1] < fit.history["loss"][0]


def test_another_pooling_or_length_is_without_what_it_replaces(encoder):
  model = models.EmbeddingModel(encoder, "cls", project())
  same = embedding_model.on_encoder_of(model)
  assert same.pooling == ("cls",) and len(same.final_layers) == 2
  longer = embedding_model.on_encoder_of(model, normalize=False)
  assert longer.final_layers == model.final_layers[:1]
  other = embedding_model.on_encoder_of(model, "max", normalize=True)
  [layer] = other.final_layers
  assert embedding_model.is_normalization(layer)
  assert embedding_model.on_encoder_of(encoder).pooling == ("mean",)
