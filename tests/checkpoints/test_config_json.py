"""Configuration files, and what they may not say."""

import dataclasses

import pytest

from keras_bert_impl import configs, heads
from keras_bert_impl.checkpoints.descriptions import config_json, description
from keras_bert_impl.families import family
from tests import architectures

BERT = {
  "model_type": "bert",
  "vocab_size": 20,
  "hidden_size": 8,
  "num_hidden_layers": 2,
  "num_attention_heads": 2,
  "intermediate_size": 16,
  "max_position_embeddings": 10,
}
ALBERT = BERT | {
  "model_type": "albert",
  "embedding_size": 4,
  "num_hidden_groups": 1,
}


def read(values):
  return config_json.from_dict(values, "there/config.json")


@pytest.mark.parametrize(
  "preset", [name for name in configs.PRESETS if name != "elmo"]
)
def test_every_preset_survives_config_json(preset):
  config = configs.EncoderConfig.preset(preset)
  # T5's encoder alone has a class of its own, which says nothing of a decoder.
  head = heads.TEXT_TO_TEXT if config.num_decoder_layers else heads.ENCODER
  values = config_json.to_dict(description.Description(config, head))
  expected = dataclasses.replace(
    config,
    embedding_size=config.embedding_size
    if "embedding_size" in config.family.config_keys
    else None,
    pooler_act=read(values).config.pooler_act,
  )
  assert read(values).config == expected


def test_what_transformers_has_no_model_of_is_refused():
  config = configs.EncoderConfig.preset("elmo")
  with pytest.raises(ValueError, match="recurrent.* no place in transformers"):
    config_json.to_dict(description.Description(config))


def test_robertas_first_position_follows_its_padding():
  roberta = BERT | {"model_type": "roberta", "pad_token_id": 1}
  found = read(roberta)
  assert found.config.position_offset == 2
  assert found.config.max_sequence_length == 8
  assert config_json.to_dict(found)["pad_token_id"] == 1


def test_what_is_null_counts_as_left_out():
  nulls = dict.fromkeys(("architectures", "num_labels", "pad_token_id"))
  roberta = BERT | {"model_type": "roberta"}
  assert read(roberta | nulls).config == read(roberta).config
  assert read(roberta | {"architectures": [None]}).head == heads.ENCODER


# Of transformers 5.24, in the order of `configs.SIZES`.
DEFAULTS = {
  "albert": (30000, 4096, 12, 64, 16384, 512),
  "bert": (30522, 768, 12, 12, 3072, 512),
  "deberta": (50265, 768, 12, 12, 3072, 512),
  "deberta-v2": (128100, 1536, 24, 24, 6144, 512),
  "distilbert": (30522, 768, 6, 12, 3072, 512),
  "electra": (30522, 256, 12, 4, 1024, 512),
  "modernbert": (50368, 768, 22, 12, 1152, 8192),
  "mpnet": (30527, 768, 12, 12, 3072, 512),
  "roberta": (50265, 768, 12, 12, 3072, 512),
  "xlm-roberta": (30522, 768, 12, 12, 3072, 512),
  "xlnet": (32000, 1024, 24, 16, 4096, 2**15),
}


@pytest.mark.parametrize("name", DEFAULTS)
def test_what_a_file_leaves_out_is_as_in_transformers(name):
  found = read({"model_type": name, "id2label": None})
  sizes = tuple(getattr(found.config, field) for field in configs.SIZES)
  assert (sizes, found.labels) == (DEFAULTS[name], None)


def test_mechanisms_that_a_file_leaves_out_are_as_in_transformers():
  albert, mpnet = (read({"model_type": x}).config for x in ("albert", "mpnet"))
  assert albert.num_hidden_groups == albert.inner_group_num == 1
  assert (albert.hidden_act, albert.hidden_dropout_prob) == ("gelu_new", 0.0)
  assert mpnet.relative_attention_num_buckets == 32


@pytest.mark.parametrize(
  ("theirs", "ours"), [*family.ACTIVATIONS.items(), ("mish", "mish")]
)
def test_names_of_activations_are_read_and_written_again(theirs, ours):
  found = read(BERT | {"hidden_act": theirs})
  assert found.config.hidden_act == ours
  assert config_json.to_dict(found)["hidden_act"] == theirs


def test_a_decoder_has_a_causal_mask():
  found = read(BERT | {"is_decoder": True})
  assert found.config.use_causal_mask
  written = config_json.to_dict(
    dataclasses.replace(found, head=heads.FILL_MASK)
  )
  assert written["is_decoder"] is True
  assert written["architectures"] == ["BertLMHeadModel"]


def test_labels_are_read_in_the_order_of_their_ids():
  values = BERT | {"id2label": {"1": "no", "0": "yes", "2": "maybe"}}
  assert read(values).labels == ("yes", "no", "maybe")
  assert read(BERT | {"num_labels": 2}).labels == ("LABEL_0", "LABEL_1")
  assert read(BERT).labels is None


def test_several_labels_at_once_are_told_by_the_type_of_problem():
  values = BERT | {
    "architectures": ["BertForSequenceClassification"],
    "problem_type": "multi_label_classification",
    "id2label": {"0": "욕설", "1": "차별"},
  }
  found = read(values)
  assert found.head == heads.MULTI_LABEL
  assert config_json.to_dict(found)["problem_type"] == values["problem_type"]
  # One label of this head is no score.
  shapes = {"classifier/output_weights": (1, 8), "bert/pooler/dense/kernel": ()}
  one = dataclasses.replace(found, labels=("욕설",))
  assert description.complete(one, shapes, "").head == heads.MULTI_LABEL
  other = dataclasses.replace(found, head=heads.CLASSIFICATION)
  assert read(config_json.to_dict(other)).head == heads.CLASSIFICATION
  plain = read(values | {"problem_type": "single_label_classification"})
  assert plain.head == heads.CLASSIFICATION
  again = config_json.to_dict(plain)
  assert again["problem_type"] == "single_label_classification"


def test_weights_in_half_precision_are_written_in_full():
  values = config_json.to_dict(read(BERT | {"torch_dtype": "float16"}))
  assert values["torch_dtype"] == "float32"


@pytest.mark.parametrize(
  ("values", "message"),
  [
    (BERT | {"model_type": "xlm_roberta"}, "nearest .* is 'xlm-roberta'"),
    (BERT | {"model_type": "gpt3"}, "Unknown model_type 'gpt3'.*bert, roberta"),
    (
      BERT | {"position_embedding_type": "relative_key"},
      "position_embedding_type .'relative_key'.*only 'absolute'",
    ),
    (BERT | {"model_type": ["bert"]}, "model_type .* must be a text"),
    (BERT | {"architectures": "x"}, "architectures .* a list or null, not 'x'"),
    (BERT | {"num_labels": 10**12}, "num_labels .* must be in .1, 1000000"),
    (BERT | {"num_labels": "2"}, "num_labels .* an integer or null, not '2'"),
    (BERT | {"pad_token_id": "0"}, "pad_token_id .* an integer or null"),
    (BERT | {"is_decoder": "no"}, "is_decoder .* true or false"),
    (BERT | {"tie_word_embeddings": 2}, "tie_word_embeddings .2"),
    (BERT | {"add_cross_attention": True}, "add_cross_attention .True"),
    (BERT | {"pruned_heads": {"0": [1]}}, "pruned_heads"),
    (BERT | {"hidden_act": "xielu"}, "hidden_act .'xielu'"),
    (ALBERT | {"inner_group_num": 0}, "inner_group_num .0."),
    (ALBERT | {"inner_group_num": "2"}, "inner_group_num .'2'."),
    (ALBERT | {"net_structure_type": 1}, "net_structure_type .1."),
    (ALBERT | {"embedding_size": 8}, "embedding_size .* must not be hidden_s"),
    (ALBERT | {"num_hidden_groups": 3}, "num_hidden_groups .3."),
    ({**ALBERT, "model_type": "electra"} | {"summary_type": "mean"}, "summary"),
    ({"vocab_size": 20}, "lacks .* 'hidden_size'"),
    ({"model_type": "albert", "hidden_size": 128}, "must not be hidden"),
    (BERT | {"id2label": {"1": "yes"}}, "id2label .* does not name"),
    (BERT | {"id2label": ["yes", "no"]}, "id2label .* does not name"),
  ],
)
def test_models_that_are_none_of_ours_are_refused_with_the_file(
  values, message
):
  with pytest.raises(ValueError, match=message) as error:
    read(values)
  assert "there/config.json" in str(error.value)


@pytest.mark.parametrize(
  ("values", "change", "field"),
  [
    (BERT, {"position_embedding_type": "sinusoidal"}, "position_embedding_typ"),
    (BERT, {"embedding_size": 4}, "embedding_size"),
    (BERT, {"num_hidden_groups": 1}, "num_hidden_groups"),
    (BERT, {"position_offset": 2}, "position_offset"),
    (BERT, {"pooler_act": "gelu"}, "pooler_act"),
    (BERT, architectures.RIGHT_TO_LEFT, "causal_direction"),
    (ALBERT, {"num_hidden_groups": None}, "num_hidden_groups .None."),
  ],
)
def test_what_transformers_lacks_is_refused_by_name(values, change, field):
  config = dataclasses.replace(read(values).config, **change)
  with pytest.raises(ValueError, match=f"{field}.* has no place in transf"):
    config_json.to_dict(description.Description(config))


XLNET = {
  "model_type": "xlnet",
  "vocab_size": 20,
  "d_model": 8,
  "n_layer": 2,
  "n_head": 2,
  "d_inner": 16,
}


@pytest.mark.parametrize(
  ("changes", "words"),
  [
    ({"d_head": 3}, r"d_head \(3\) in .* must be d_model / n_head \(8 / 2\)"),
    ({"attn_type": "both"}, r"attn_type \('both'\) in .* one of \['bi', 'uni'"),
    ({"untie_r": False}, r"untie_r \(False\) .* is not supported"),
    ({"summary_activation": "x"}, r"summary_activation \('x'\) .* must be one"),
    ({"summary_type": "attn"}, r"summary_type \('attn'\) must be one of"),
    ({"ff_activation": "prelu"}, r"hidden_act \('prelu'\) must be one of"),
    ({"clamp_len": 0.5}, r"clamp_len \(0.5\) must be an integer"),
    ({"n_head": None, "d_head": 4}, r"num_attention_heads \(None\) must be"),
  ],
)
def test_what_xlnet_has_not_is_refused_by_the_key(changes, words):
  with pytest.raises(ValueError, match=words) as error:
    read(XLNET | changes)
  assert "there/config.json" in str(error.value)


def test_values_of_xlnet_that_are_none_or_words_survive():
  values = XLNET | {
    "attn_type": "uni",
    "summary_activation": None,
    "summary_type": "mean",
    "mem_len": None,
    "clamp_len": 3,
  }
  found = read(values)
  assert found.config.use_causal_mask and found.config.pooler_act == "linear"
  assert config_json.to_dict(found).items() >= values.items()
  assert read(XLNET).config.mem_len == 512
