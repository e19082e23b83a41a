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
  "transformer_base": 65,  # Vaswani et al. 2017, table 3
  "transformer_big": 213,
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
  # In transformers 5.24.
  "nomic_bert_base": 136_731_648 + 768 * 769,
  "gte_multilingual_base": 305_368_320 + 768 * 769,
  "jina_embeddings_v3": 559_364_096,
  "eurobert_210m": 211_766_016 + 768 * 769,
  "eurobert_610m": 607_874_688 + 1152 * 1153,
  "eurobert_2.1b": 2_107_590_912 + 2304 * 2305,
  "t5_small_encoder": 35_330_816 + 512 * 513,
  "t5_base_encoder": 109_628_544 + 768 * 769,
  "t5_large_encoder": 334_939_648 + 1024 * 1025,
  "mt5_small_encoder": 146_940_608 + 512 * 513,
  "umt5_small_encoder": 150_153_216 + 512 * 513,
  "ernie_3.0_base": 117_944_832,
  "rembert": 575_920_384,
  "roformer_base": 123_555_840 + 768 * 769,
  "longformer_base_4096": 148_659_456,
  "longformer_large_4096": 434_600_960,
  # Whole, and with the bias of the output, which is no parameter there.
  "transformer_tiny": 5_661_696 + 37000,
  "transformer_base": 63_082_496 + 37000,
  "transformer_big": 214_245_376 + 37000,
  "bart_base": 139_420_416 + 50265,
  "bart_large": 406_291_456 + 50265,
  "t5_small": 60_506_624,
  "t5_base": 222_903_552,
  "t5_large": 737_668_096,
  "gpt2": 124_439_808 + 768 * 769,
}

# Of published config.json files what tells the sizes; and the parameters that
# transformers 5.24 counts, poolers included.
_MODERNBERT = {"model_type": "modernbert", "global_attn_every_n_layers": 3}
PUBLISHED = {
  "klue/roberta-base": (
    {
      "model_type": "roberta",
      "vocab_size": 32000,
      "max_position_embeddings": 514,
      "type_vocab_size": 1,
      "layer_norm_eps": 1e-5,
      "pad_token_id": 1,
      "tokenizer_class": "BertTokenizer",
    },
    110_618_112,
  ),
  "BAAI/bge-m3": (
    {
      "model_type": "xlm-roberta",
      "vocab_size": 250002,
      "hidden_size": 1024,
      "num_hidden_layers": 24,
      "num_attention_heads": 16,
      "intermediate_size": 4096,
      "max_position_embeddings": 8194,
      "type_vocab_size": 1,
      "pad_token_id": 1,
    },
    567_754_752,
  ),
  "intfloat/multilingual-e5-base": (
    {
      "model_type": "xlm-roberta",
      "vocab_size": 250002,
      "max_position_embeddings": 514,
      "type_vocab_size": 1,
      "pad_token_id": 1,
    },
    278_043_648,
  ),
  "jhu-clsp/mmBERT-base": (
    _MODERNBERT | {"vocab_size": 256000, "local_rope_theta": 160000.0},
    306_939_648,
  ),
  "jhu-clsp/ettin-encoder-17m": (
    _MODERNBERT
    | {
      "vocab_size": 50368,
      "hidden_size": 256,
      "num_hidden_layers": 7,
      "num_attention_heads": 4,
      "intermediate_size": 384,
    },
    16_797_440,
  ),
  "ibm-granite/granite-embedding-small-english-r2": (
    _MODERNBERT
    | {
      "vocab_size": 50368,
      "hidden_size": 384,
      "num_hidden_layers": 12,
      "num_attention_heads": 12,
      "intermediate_size": 1536,
    },
    47_662_464,
  ),
  "Alibaba-NLP/gte-modernbert-base": (
    _MODERNBERT | {"vocab_size": 50368},
    149_014_272,
  ),
  # With the keys of code on the hub.
  "nomic-ai/nomic-embed-text-v1.5": (
    {
      "model_type": "nomic_bert",
      "auto_map": {"AutoModel": "modeling_hf_nomic_bert.NomicBertModel"},
      "activation_function": "swiglu",
      "attn_pdrop": 0.0,
      "layer_norm_epsilon": 1e-12,
      "mlp_fc1_bias": False,
      "n_embd": 768,
      "n_head": 12,
      "n_inner": 3072,
      "n_layer": 12,
      "n_positions": 8192,
      "prenorm": False,
      "qkv_proj_bias": False,
      "rotary_emb_base": 1000,
      "rotary_emb_fraction": 1.0,
      "rotary_scaling_factor": None,
      "type_vocab_size": 2,
      "use_rms_norm": False,
      "vocab_size": 30528,
    },
    136_731_648 + 768 * 769,
  ),
  "Alibaba-NLP/gte-multilingual-base": (
    {
      "model_type": "new",
      "auto_map": {"AutoModel": "modeling.NewModel"},
      "layer_norm_type": "layer_norm",
      "logn_attention_scale": False,
      "pack_qkv": True,
      "position_embedding_type": "rope",
      "rope_scaling": {"factor": 8.0, "type": "ntk"},
      "rope_theta": 20000,
      "type_vocab_size": 1,
      "vocab_size": 250048,
      "hidden_size": 768,
      "num_attention_heads": 12,
    },
    305_368_320 + 768 * 769,
  ),
}

OTHERS = ("albert_xxlarge_v2", "elmo")

# In a process of its own: Keras would give the variables values later on.
PROGRAM = """
import dataclasses, json, sys
import keras
from keras_bert_impl import configs, models
from keras_bert_impl.checkpoints.descriptions import config_json
def count(config, num_hidden_layers):
  has_decoder = config.num_decoder_layers > 0
  config = dataclasses.replace(
    config,
    num_hidden_layers=num_hidden_layers,
    num_decoder_layers=num_hidden_layers * has_decoder,
  )
  make = models.EncoderDecoder if has_decoder else models.make_encoder
  with keras.StatelessScope(initialize_variables=False):
    return make(config).count_params()
counts = {}
found = {name: configs.EncoderConfig.preset(name) for name in sys.argv[2:]}
for name, values in json.loads(sys.argv[1]).items():
  found[name] = config_json.from_dict(values, name).config
for name, config in found.items():
  # Every layer from the second on has as many.
  one, two = count(config, 1), count(config, 2)
  counts[name] = one + (config.num_hidden_layers - 1) * (two - one)
print(json.dumps(counts))
"""


@pytest.fixture(name="counts", scope="module")
def fixture_counts():
  """{preset: parameters of its encoder}, none of which takes memory."""
  published = {name: values for name, (values, _) in PUBLISHED.items()}
  result = subprocess.run(
    [
      sys.executable,
      "-c",
      PROGRAM,
      json.dumps(published),
      *SIZES,
      *EXACT,
      *OTHERS,
    ],
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


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_configuration_is_that_of_the_model(counts, name):
  assert counts[name] == PUBLISHED[name][1]


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
