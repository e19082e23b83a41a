"""Small models that write text, of random weights, and prompts for them."""

import json
import pathlib
import shutil

import keras
import numpy as np

import keras_bert_impl as kb
from keras_bert_impl import heads
from keras_bert_impl.checkpoints import writing
from keras_bert_impl.checkpoints.descriptions import description
from keras_bert_impl.checkpoints.formats import safetensors_format
from keras_bert_impl.checkpoints.naming import mappings

TOKENIZERS = pathlib.Path(__file__).parents[2] / "data/tokenizers"
_WORDS = (
  "안녕하세요 한국어 문장입니다 고양이가 앉았다 서울은 대한민국의 수도 날씨가"
  " the cat sat on mat é 🙂 日本 123 , ."
).split()
# {name: preset, tokenizer, head, ids of config.json, further fields}.
_MODELS = {
  "gpt": (
    "gpt2",
    "gpt2",
    heads.FILL_MASK,
    {"bos_token_id": 0, "eos_token_id": 0},
    {},
  ),
  "kogpt": (
    "gpt2",
    "kobart",
    heads.FILL_MASK,
    {"bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 2},
    {},
  ),
  "t5": (
    "t5_small_encoder",
    "t5",
    heads.TEXT_TO_TEXT,
    {"decoder_start_token_id": 0, "eos_token_id": 1, "pad_token_id": 0},
    {"num_decoder_layers": 2},
  ),
  "kobart": (
    "bart_base",
    "kobart",
    heads.TEXT_TO_TEXT,
    {
      "decoder_start_token_id": 1,
      "eos_token_id": 1,
      "forced_eos_token_id": 1,
      "pad_token_id": 2,
    },
    {"num_decoder_layers": 2},
  ),
}
NAMES = (*_MODELS,)
# With <s> and </s> around each text.
_MODELS["bart"] = (
  "bart_base",
  "../tagged/roberta",
  heads.TEXT_TO_TEXT,
  {"bos_token_id": 0, "decoder_start_token_id": 2, "eos_token_id": 2},
  {"num_decoder_layers": 2},
)


def prompts(number):
  """Returns texts of mixed lengths, the first one empty, list of str."""
  draw = np.random.default_rng(5)
  lengths = [0, *draw.integers(1, 7, number - 1)]
  return [" ".join(draw.choice(_WORDS, length)) for length in lengths]


def make(name, folder):
  """Writes a model of `NAMES` as transformers has it; returns its folder."""
  preset, tokenizer, head, source, changes = _MODELS[name]
  folder.mkdir()
  for path in (TOKENIZERS / tokenizer).glob("tokenizer*.json"):
    shutil.copy(path, folder)
  size = kb.load_tokenizer(folder).vocab_size
  sizes = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "initializer_range": 0.4,
  }
  config = kb.EncoderConfig.preset(
    preset, **sizes, vocab_size=size + 3, max_position_embeddings=80, **changes
  )
  return write(folder, config, head, source)


def write(folder, config, head, source):
  """Writes a model of random weights as transformers has it; as `make`."""
  keras.utils.set_random_seed(3)
  model_of = (
    kb.EncoderDecoder if config.num_decoder_layers else kb.MaskedLanguageModel
  )
  model = model_of(config)
  described = description.Description(config, head, use_pooler=False)
  arrays = mappings.Arrays({w.path: w for w in model.weights})
  writing.write_safetensors(
    folder, arrays, described, safetensors_format.MAX_SHARD_SIZE
  )
  path = folder / "config.json"
  path.write_text(json.dumps(json.loads(path.read_text()) | source))
  return str(folder)
