"""Encoders of 2020 to 2026 are pre-trained and written by the scripts."""

import numpy as np
import pytest

from keras_bert_impl import models
from keras_bert_impl.training import run_log
from tests import architectures, slow
from tests.official_tasks import scripts

_ROTARY = {"position_embedding_type": "rotary"}
# {family: (objective, fields of its configuration)}.
FAMILIES = {
  "nomic_bert": (
    "bert",
    {
      **_ROTARY,
      "gated_feed_forward": True,
      "hidden_act": "silu",
      "attention_bias": False,
      "mlp_bias": False,
    },
  ),
  "eurobert": ("modernbert", architectures.EUROBERT | {"pooler_act": "gelu"}),
  "gte": (
    "electra",
    {
      **_ROTARY,
      "gated_feed_forward": True,
      "mlp_bias": False,
      "mlp_output_bias": True,
      "inner_dropout": True,
      "type_vocab_size": 1,
    },
  ),
  "roformer": ("bert", {**_ROTARY, "rotary_table": True, "pooler_act": "gelu"}),
  "umt5": ("modernbert", architectures.UMT5),
  "longformer": ("bert", architectures.LONGFORMER),
}
pytestmark = pytest.mark.integration


@pytest.mark.parametrize("family", slow.all_but(("eurobert",), FAMILIES))
def test_a_family_is_pre_trained_and_written(family, tmp_path):
  objective, fields = FAMILIES[family]
  scripts.write_model_files(tmp_path, model_type=family, **fields)
  scripts.write_text(tmp_path / "text.txt")
  common = {"objective": objective, "max_seq_length": scripts.LENGTH}
  common["max_predictions_per_seq"] = 5
  records = tmp_path / "records"
  status, _, error = scripts.run(
    "create_pretraining_data",
    input_file=tmp_path / "text.txt",
    output_file=records,
    vocab_file=tmp_path / "vocab.txt",
    num_workers=1,
    **common,
  )
  assert status == 0, error
  status, _, error = scripts.run(
    "run_pretraining",
    input_file=records,
    bert_config_file=tmp_path / "bert_config.json",
    output_dir=tmp_path / "out",
    do_train=True,
    do_export=True,
    train_batch_size=16,
    learning_rate=1e-2,
    num_train_steps=30,
    num_warmup_steps=4,
    **common,
  )
  assert status == 0, error
  entries = run_log.read(str(tmp_path / "out"))
  assert entries[-1]["masked_lm_loss"] < entries[0]["masked_lm_loss"]
  status, _, error = scripts.run(
    "convert_checkpoint", input=tmp_path / "out", output=tmp_path / "theirs"
  )
  if family == "umt5":
    assert "no model of UMT5 with the head 'fill_mask'" in error
    return
  assert status == 0, error
  model = models.from_checkpoint(tmp_path / "theirs")
  inputs = {"input_ids": np.array([[5, 6, 7, 8, 9]])}
  np.testing.assert_allclose(
    model(inputs)["sequence_output"],
    models.from_checkpoint(tmp_path / "out")(inputs)["sequence_output"],
    atol=1e-6,
  )
