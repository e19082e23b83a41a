import dataclasses
import json

import pytest

from keras_bert_impl import configs
from tests import architectures

XL = {"position_embedding_type": "transformer_xl"}
ROTARY = {"position_embedding_type": "rotary"}
DEBERTA = {
  "clears_padding": True,
  "relative_attention": True,
  "pos_att_type": "c2p|p2c",
}


def write_json(path, values):
  path.write_text(json.dumps(values), encoding="utf-8")
  return path


def test_the_defaults_are_bert_base():
  config = configs.EncoderConfig(vocab_size=30522)
  assert config == configs.EncoderConfig.preset("bert_base")
  assert config.intermediate_size == 4 * config.hidden_size == 3072
  assert config.num_hidden_layers == config.num_attention_heads == 12


def test_a_configuration_survives_the_file_it_is_written_to(tmp_path):
  config = configs.EncoderConfig.preset(
    "bert_tiny", vocab_size=99, position_embedding_type="sinusoidal"
  )
  config.to_json_file(tmp_path / "bert_config.json")
  path = tmp_path / "bert_config.json"
  assert configs.EncoderConfig.from_json_file(path) == config


def test_keys_of_released_files_that_mean_nothing_are_accepted(tmp_path):
  path = write_json(
    tmp_path / "bert_config.json",
    {"vocab_size": 9, "directionality": "bidi", "pooler_fc_size": 768},
  )
  config = configs.EncoderConfig.from_json_file(path)
  assert config == configs.EncoderConfig(vocab_size=9)


def test_an_unknown_key_is_refused_with_its_name_and_file(tmp_path):
  path = write_json(
    tmp_path / "bert_config.json", {"vocab_size": 9, "hiden_size": 8}
  )
  with pytest.raises(ValueError, match="'hiden_size'.*bert_config.json"):
    configs.EncoderConfig.from_json_file(path)


def test_a_file_without_vocab_size_is_refused(tmp_path):
  path = write_json(tmp_path / "c.json", {"hidden_size": 8})
  with pytest.raises(ValueError, match="c.json lacks .*vocab_size"):
    configs.EncoderConfig.from_json_file(path)


@pytest.mark.parametrize("text", ["{", "[1]", ""])
def test_a_file_that_holds_no_json_object_is_refused(tmp_path, text):
  path = tmp_path / "c.json"
  path.write_text(text)
  with pytest.raises(ValueError, match="c.json"):
    configs.EncoderConfig.from_json_file(path)


def test_a_missing_file_is_refused_with_its_name(tmp_path):
  with pytest.raises(FileNotFoundError, match="absent.json"):
    configs.EncoderConfig.from_json_file(tmp_path / "absent.json")


@pytest.mark.parametrize(
  ("field", "value"),
  [
    ("hidden_size", 770),
    ("hidden_size", 0),
    ("num_hidden_layers", 1.5),
    ("vocab_size", True),
    ("hidden_act", "swish"),
    ("hidden_dropout_prob", 1.0),
    ("attention_probs_dropout_prob", -0.1),
    ("initializer_range", "0.02"),
    ("position_embedding_type", "relative"),
    ("embedding_size", 0),
  ],
)
def test_a_value_not_allowed_is_refused_with_name_value_and_file(
  tmp_path, field, value
):
  path = write_json(tmp_path / "c.json", {"vocab_size": 9, field: value})
  with pytest.raises(ValueError) as error:
    configs.EncoderConfig.from_json_file(path)
  message = str(error.value)
  assert field in message and str(value) in message and "c.json" in message


def test_every_released_size_is_a_preset():
  small = [name for name in configs.PRESETS if name.startswith("bert_L-")]
  # Turc et al. 2019, and three of table 6 of Devlin et al. 2019.
  assert len(small) == 24 + 3
  others = """
    bert_tiny bert_mini bert_small bert_medium bert_base bert_large
    left_to_right_base elmo
    roberta_base roberta_large
    albert_base_v1 albert_large_v1 albert_xlarge_v1 albert_xxlarge_v1
    albert_base_v2 albert_large_v2 albert_xlarge_v2 albert_xxlarge_v2
    spanbert_base spanbert_large
    electra_small electra_base electra_large
    electra_small_generator electra_base_generator electra_large_generator
    distilbert_base xlm_roberta_base xlm_roberta_large
    camembert_base camembert_large mpnet_base xlnet_base xlnet_large
    deberta_base deberta_large deberta_v2_xlarge deberta_v2_xxlarge
    deberta_v3_xsmall deberta_v3_small deberta_v3_base deberta_v3_large
    mdeberta_v3_base modernbert_base modernbert_large
    nomic_bert_base gte_multilingual_base jina_embeddings_v3
    eurobert_210m eurobert_610m eurobert_2.1b
    t5_small_encoder t5_base_encoder t5_large_encoder
    t5_small t5_base t5_large
    mt5_small_encoder umt5_small_encoder
    ernie_3.0_base rembert roformer_base
    t5_small t5_base t5_large
    bart_base bart_large gpt2 gpt2_medium gpt2_large gpt2_xl
    transformer_tiny transformer_base transformer_big
    longformer_base_4096 longformer_large_4096
  """
  assert set(configs.PRESETS) == {*small, *others.split()}


def test_heads_are_64_wide_but_for_four_sizes():
  widths = {name: config.head_size for name, config in configs.PRESETS.items()}
  others = {name: width for name, width in widths.items() if width != 64}
  # Lan et al. 2020 give xlarge 16 heads for 2,048 units; Devlin et al. 2019,
  # table 6, one size 3 for 768; Boizard et al. 2025 give one 18 for 2,304.
  assert others == {
    "albert_xlarge_v1": 128,
    "albert_xlarge_v2": 128,
    "bert_L-6_H-768_A-3": 256,
    "eurobert_2.1b": 128,
  }


def test_an_offset_shortens_the_longest_sequence():
  config = configs.EncoderConfig.preset("roberta_base")
  assert config.max_position_embeddings == 514
  assert config.max_sequence_length == 512
  assert configs.EncoderConfig.preset("bert_base").max_sequence_length == 512


def test_only_a_table_of_positions_limits_the_input():
  for name, longest in (
    ("roberta_base", 512),
    ("distilbert_base", 512),
    ("mpnet_base", 512),
    ("deberta_v3_base", None),
    ("modernbert_base", None),
    ("xlnet_base", None),
    ("elmo", None),
  ):
    assert configs.EncoderConfig.preset(name).longest_input == longest


@pytest.mark.parametrize(
  "changes, words",
  [
    ({"num_hidden_groups": 5}, "multiple of num_hidden_groups .5."),
    ({"type_vocab_size": -1}, "type_vocab_size .-1."),
    ({"position_offset": 512}, "position_offset .512."),
    ({"relative_attention_num_buckets": 2}, "num_buckets .2. must be an even"),
    ({"model_type": "gpt3"}, "model_type .'gpt3'."),
    ({"pooler_act": "swish"}, "pooler_act .'swish'."),
    ({"clamp_len": 3}, "clamp_len .3. needs .* 'transformer_xl'"),
    (XL | {"clamp_len": 2.5}, "clamp_len .2.5. must be an integer in .-1,"),
    (XL | {"mem_len": -1}, "mem_len .-1. must be an integer in .0,"),
    (XL | {"reuse_len": "6"}, "reuse_len .'6'. must be an integer"),
    (XL | {"same_length": None}, "same_length .None."),
    (XL | {"bi_data": 2}, "bi_data .2."),
    (XL | {"summary_type": "attn"}, "summary_type .'attn'. must be one of"),
    (XL | {"embedding_size": 8}, "embedding_size .8. must be 768 with"),
    (DEBERTA | {"pos_att_type": "p2p"}, "pos_att_type .'p2p'. must be one of"),
    (DEBERTA | {"norm_rel_ebd": "batch"}, "norm_rel_ebd .'batch'. must be one"),
    (DEBERTA | {"conv_act": "swish"}, "conv_act .'swish'. must be one of"),
    (DEBERTA | {"conv_kernel_size": 4}, "conv_kernel_size .4. must be odd"),
    (DEBERTA | {"conv_groups": 5}, "must be a multiple of conv_groups .5."),
    (
      DEBERTA | {"conv_groups": 0},
      "conv_groups .0. must be an integer in .1,",
    ),
    (DEBERTA | {"position_buckets": 1}, "position_buckets .1. must be from 2"),
    (
      DEBERTA | {"position_buckets": 8, "max_relative_positions": 5},
      "position_buckets .8. must be from 2 to below .* less 1 .4.",
    ),
    (
      DEBERTA | {"position_buckets": 2.5},
      "position_buckets .2.5. must be an in",
    ),
    (DEBERTA | {"share_att_key": 2}, "share_att_key .2. must be one of"),
    (DEBERTA | {"relative_attention": False}, "pos_att_type .* needs relative"),
    (DEBERTA | {"position_offset": 2}, "position_offset .2. must be 0 with"),
    (DEBERTA | {"num_hidden_groups": 1}, "num_hidden_groups .1. must be None"),
    (DEBERTA | {"use_causal_mask": True}, "use_causal_mask .True. must be Fal"),
    (DEBERTA | {"pooler_dropout": 1.0}, "pooler_dropout .1.0. must be in"),
    (DEBERTA | XL, "clears_padding .True. must be False with .*_xl'"),
    (
      {"relative_attention": True},
      "relative_attention .True. needs clears_pad",
    ),
    ({"conv_kernel_size": 3}, "conv_kernel_size .3. needs clears_padding"),
    ({"clears_padding": None}, "clears_padding .None. must be one of"),
    (XL | {"attention_head_size": 8}, "attention_head_size .8. must be None"),
    ({"attention_head_size": 0}, "attention_head_size .0. must be an integer"),
    (XL | {"hidden_size": 15, "num_attention_heads": 3}, ".15. must be even"),
    (
      {"causal_direction": "right_to_left"},
      "causal_direction .'right_to_left'. needs use_causal_mask True",
    ),
    (
      XL | {"use_causal_mask": True, "causal_direction": "right_to_left"},
      "causal_direction .'right_to_left'. must be 'left_to_right' with pos",
    ),
    (
      architectures.PAIR | {"classifier_pooling": "mean"},
      "classifier_pooling .'mean'. must be None with .*direction 'both'",
    ),
    (
      {"position_embedding_type": "recurrent"},
      "use_causal_mask .False. must be True with .*'recurrent'",
    ),
    (
      architectures.ELMO | {"embedding_size": 8},
      "embedding_size .8. must be .* with position_embedding_type 'recurrent'",
    ),
    (
      XL | {"norm_first": True},
      "norm_first .True. must be False with position",
    ),
    (
      ROTARY | {"hidden_size": 15, "num_attention_heads": 3},
      "size of attention heads .5: .* must be even",
    ),
    (ROTARY | {"rotary_base": 0}, "rotary_base .0. must be in .1, inf"),
    (ROTARY | {"position_offset": 2}, "position_offset .2. must be 0 with"),
    (
      ROTARY | {"relative_attention_num_buckets": 8},
      "relative_attention_num_buckets .8. must be 0 with position_embedding_ty",
    ),
    ({"local_rotary_base": 5.0}, "local_rotary_base .5.0. needs .*'rotary'"),
    ({"attention_window": 1}, "attention_window .1. must be at least 2"),
    (
      {"attention_window": -8},
      "attention_window .-8. must be an integer in .0,",
    ),
    ({"global_attention_every": 0}, "every .0. must be an integer in .1,"),
    ({"global_attention_every": 3}, "every .3. needs attention_window"),
    (
      {"attention_window": 8, "num_hidden_groups": 1},
      "num_hidden_groups .1. must be None with .*attention_window",
    ),
    (
      {"attention_window": 8, "relative_attention_num_buckets": 8},
      "relative_attention_num_buckets .8. must be 0 with attention_window",
    ),
    (
      DEBERTA | {"attention_window": 8},
      "clears_padding .True. must be False with attention_window",
    ),
    (
      {"norm_first": True, "num_hidden_groups": 1},
      "num_hidden_groups .1. must be None with norm_first",
    ),
    ({"mlp_bias": None}, "mlp_bias .None. must be one of"),
    ({"classifier_pooling": "max"}, "classifier_pooling .'max'. must be one"),
    ({"classifier_act": "swish"}, "classifier_act .'swish'. must be one of"),
    ({"decoder_bias": 2}, "decoder_bias .2. must be one of"),
  ],
)
def test_fields_that_do_not_fit_each_other_are_refused(changes, words):
  with pytest.raises(ValueError, match=words):
    configs.EncoderConfig(vocab_size=9, **changes)


def test_a_preset_takes_changes_and_an_unknown_one_is_refused():
  config = configs.EncoderConfig.preset("bert_large", vocab_size=100)
  assert (config.vocab_size, config.num_hidden_layers) == (100, 24)
  with pytest.raises(ValueError, match="'bert_huge'.*bert_base"):
    configs.EncoderConfig.preset("bert_huge")


def test_a_configuration_cannot_be_changed_in_place():
  config = configs.EncoderConfig.preset("bert_tiny")
  with pytest.raises(dataclasses.FrozenInstanceError):
    config.hidden_size = 8
