"""ELMo: what each direction sees, its checkpoints and models on it."""

import numpy as np
import pytest

from keras_bert_impl import configs, models
from keras_bert_impl.checkpoints.formats import tf_format
from keras_bert_impl.tasks import objectives
from keras_bert_impl.tasks.basics import pretraining
from tests import architectures
from tests.models import directions

CONFIG = configs.EncoderConfig(
  **architectures.SMALL
  | {"num_attention_heads": 1, "intermediate_size": 24}
  | architectures.ELMO
)
IDS, MASK, INPUTS = architectures.IDS, architectures.MASK, architectures.INPUTS


def test_padding_changes_nothing():
  encoder = models.make_encoder(CONFIG)
  assert isinstance(encoder, models.ElmoEncoder)
  found = encoder(INPUTS)
  alone = encoder({"input_ids": IDS[1:2, :4]})
  np.testing.assert_allclose(
    found["sequence_output"][1:2, :4], alone["sequence_output"], atol=1e-6
  )
  np.testing.assert_allclose(
    found["pooled_output"][1:2], alone["pooled_output"], atol=1e-6
  )
  assert [state.shape[-1] for state in encoder.hidden_states] == [32] * 3


def test_no_language_model_sees_what_it_predicts():
  found = [*directions.differences(models.ElmoLanguageModel(CONFIG))]
  assert len(found) == 2
  for unchanged, others in found:
    assert unchanged.max() == 0 < others.min()


def test_both_directions_have_one_softmax():
  model = models.ElmoLanguageModel(CONFIG)
  found = model(INPUTS)
  hidden = np.array(model.encoder(INPUTS)["sequence_output"])
  table = np.array(model.encoder.embeddings.word_embeddings)
  for half, name in enumerate(("token_logits", "backward_token_logits")):
    expected = hidden[..., 16 * half : 16 * (half + 1)] @ table.T
    np.testing.assert_allclose(found[name], expected, atol=1e-5)


def test_its_checkpoint_is_read_as_an_encoder(tmp_path):
  model = models.ElmoLanguageModel(CONFIG)
  tf_format.write(
    tmp_path / "model.ckpt", {weight.path: weight for weight in model.weights}
  )
  CONFIG.to_json_file(tmp_path / "bert_config.json")
  found = models.from_checkpoint(tmp_path, heads=True)(INPUTS)
  for name, logits in model(INPUTS).items():
    np.testing.assert_allclose(found[name], logits, atol=1e-5)
  np.testing.assert_allclose(
    models.from_checkpoint(tmp_path)(INPUTS)["sequence_output"],
    model.encoder(INPUTS)["sequence_output"],
    atol=1e-5,
  )


def test_rows_of_several_texts_are_refused():
  data = pretraining.PretrainingData(16, is_packed=True)
  with pytest.raises(ValueError, match="ElmoTask cannot learn from rows of"):
    objectives.OBJECTIVES["elmo"].task(CONFIG, data)


def test_another_encoder_is_refused():
  config = configs.EncoderConfig(vocab_size=50, **architectures.PAIR)
  data = pretraining.PretrainingData(16)
  with pytest.raises(ValueError, match="'recurrent' in the encoder config"):
    objectives.OBJECTIVES["elmo"].task(config, data)
