"""Sizes of the presets against those that the papers state."""

import json
import subprocess
import sys

import pytest

from keras_bert_impl import configs, models

pytestmark = pytest.mark.integration

MILLION = 1e6

# Millions of parameters: as printed in the paper, as counted here with the
# parts of the model that the paper's number covers.
SIZES = {
  "left_to_right_base": 110,  # of the size of BERT-Base and GPT-1
  "roberta_base": 125,  # Liu et al. 2019, and its release
  "roberta_large": 355,
  "albert_base_v2": 12,  # Lan et al. 2020, table 1
  "albert_large_v2": 18,
  "albert_xlarge_v2": 60,
  "spanbert_base": 110,  # Joshi et al. 2020: BERT's sizes
  "spanbert_large": 340,
  "electra_small": 14,  # Clark et al. 2020, tables 1 and 6
  "electra_base": 110,
  "electra_large": 335,
  "distilbert_base": 66,  # Sanh et al. 2019, table 3
  "xlm_roberta_base": 270,  # Conneau et al. 2020, table 10
  "xlm_roberta_large": 550,
  "camembert_base": 110,  # Martin et al. 2020, section 4
  "camembert_large": 335,
  "mpnet_base": 110,  # Song et al. 2020, section 3.1: BERT-Base's size
}

# As counted in transformers 5.23, and the dense layer of the pooler, if any.
EXACT = {
  "bert_base": 109_482_240,
  "bert_large": 335_141_888,
  "xlnet_base": 116_718_336 + 768 * 769,
  "xlnet_large": 360_268_800 + 1024 * 1025,
  "deberta_base": 138_601_728 + 768 * 769,
  "deberta_large": 405_163_008 + 1024 * 1025,
  "deberta_v2_xlarge": 884_593_152 + 1536 * 1537,
  "deberta_v2_xxlarge": 1_564_549_632 + 1536 * 1537,
  "deberta_v3_xsmall": 70_682_112 + 384 * 385,
  "deberta_v3_small": 141_304_320 + 768 * 769,
  "deberta_v3_base": 183_831_552 + 768 * 769,
  "deberta_v3_large": 434_012_160 + 1024 * 1025,
  "mdeberta_v3_base": 278_218_752 + 768 * 769,
  "modernbert_base": 149_014_272,
  "modernbert_large": 394_781_696,
}

OTHERS = ("albert_xxlarge_v2", "elmo")

# In a process of its own: Keras would give the variables values later on.
PROGRAM = """
import dataclasses, json, sys
import keras
from keras_bert_impl import configs, models
def count(config, num_hidden_layers):
  config = dataclasses.replace(config, num_hidden_layers=num_hidden_layers)
  with keras.StatelessScope(initialize_variables=False):
    return models.make_encoder(config).count_params()
counts = {}
for name in sys.argv[1:]:
  config = configs.EncoderConfig.preset(name)
  # Every layer from the second on has as many.
  one, two = count(config, 1), count(config, 2)
  counts[name] = one + (config.num_hidden_layers - 1) * (two - one)
print(json.dumps(counts))
"""


@pytest.fixture(name="counts", scope="module")
def fixture_counts():
  """{preset: parameters of its encoder}, none of which takes memory."""
  result = subprocess.run(
    [sys.executable, "-c", PROGRAM, *SIZES, *EXACT, *OTHERS],
    capture_output=True,
    text=True,
  )
  assert result.returncode == 0, result.stderr
  return json.loads(result.stdout)


@pytest.mark.parametrize("name", SIZES)
def test_a_preset_has_as_many_parameters_as_the_paper_says(counts, name):
  assert counts[name] / MILLION == pytest.approx(SIZES[name], rel=0.04)


@pytest.mark.parametrize("name", EXACT)
def test_a_preset_has_as_many_parameters_as_in_transformers(counts, name):
  assert counts[name] == EXACT[name]


def test_elmo_has_the_matrices_of_the_paper(counts):
  lstm = 2 * 512 * 4 * 4096 + 4 * 4096 + 4096 * 512
  pooler, norm = 1024 * 1025, 2 * 512
  assert counts["elmo"] == 30522 * 512 + norm + 2 * 2 * lstm + pooler


def test_albert_xxlarge_has_the_parameters_of_its_released_weights(counts):
  # Table 1 of the paper says 235 million. The sizes it gives (E 128, H 4096,
  # V 30,000, one block for all layers) make 222.6, and so does the release.
  assert counts["albert_xxlarge_v2"] == pytest.approx(222.6 * MILLION, rel=1e-3)


@pytest.mark.parametrize(
  "name, share", [("small", 1 / 4), ("base", 1 / 3), ("large", 1 / 4)]
)
def test_generators_have_the_papers_share_of_the_width(name, share):
  config = configs.EncoderConfig.preset(f"electra_{name}")
  generator = models.electra_generator_config(config, share)
  assert generator == configs.EncoderConfig.preset(f"electra_{name}_generator")
  assert generator.hidden_size == round(config.hidden_size * share)
