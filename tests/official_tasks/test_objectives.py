"""run_pretraining.py --objective=...: each learns, evaluates and exports."""

import json

import pytest
import tensorflow_text  # noqa: F401  Registers the ops of the tokenizer.

from keras_bert_impl import tokenizers
from keras_bert_impl.checkpoints.formats import tf_format
from keras_bert_impl.runs.pretraining import standard
from keras_bert_impl.tasks import objectives
from keras_bert_impl.training import run_log
from tests import architectures, slow
from tests.official_tasks import scripts, test_text_objectives
from tfrecords import manifest

DEBERTA = architectures.DEBERTA | {"model_type": "deberta-v2"}
# Fields of a configuration that it needs; and its losses in the log.
OBJECTIVES = {
  "bert": ({}, ["masked_lm", "next_sentence"]),
  "roberta": (
    {"position_offset": 2, "type_vocab_size": 1, "model_type": "roberta"},
    ["masked_lm"],
  ),
  "albert": (
    {
      "num_hidden_layers": 2,
      "num_hidden_groups": 1,
      "embedding_size": 8,
      "hidden_act": "gelu_new",
      "model_type": "albert",
    },
    ["masked_lm", "sentence_order"],
  ),
  "spanbert": ({}, ["masked_lm", "span_boundary"]),
  "electra": ({"model_type": "electra"}, ["masked_lm", "replaced_token"]),
  "left_to_right": ({"use_causal_mask": True}, ["language_model"]),
  "right_to_left": (architectures.RIGHT_TO_LEFT, ["language_model"]),
  "bidirectional_pair": (
    architectures.PAIR,
    ["language_model", "backward_language_model"],
  ),
  "elmo": (
    architectures.ELMO,
    ["language_model", "backward_language_model"],
  ),
  "xlnet": (
    {
      "position_embedding_type": "transformer_xl",
      "type_vocab_size": 4,
      "model_type": "xlnet",
    },
    ["permutation_lm"],
  ),
  "modernbert": (
    architectures.MODERNBERT
    | {
      "num_hidden_layers": 2,
      "use_scaled_initializer": True,
      "classifier_pooling": "cls",
      "classifier_bias": False,
      "model_type": "modernbert",
    },
    ["masked_lm"],
  ),
  "deberta": (DEBERTA, ["masked_lm"]),
  "deberta_v3": (DEBERTA, ["masked_lm", "replaced_token"]),
}
# Flags of training of a paper that differ from BERT's.
TRAINING = {
  "modernbert": {
    "optimizer": "stable_adamw",
    "clip_norm": 0,
    "learning_rate_schedule": "trapezoidal",
    "num_decay_steps": 8,
  }
}
DETECTORS = ("electra", "deberta_v3")
STEPS = 40
# Pairs of sentences, and two models in one, which alone are exported; models,
# losses and checkpoints of the others have quicker tests elsewhere.
QUICK = ("albert", "electra")
pytestmark = pytest.mark.integration
NAMES = slow.all_but(QUICK, OBJECTIVES)
# Trained on packed records, and evaluated on others.
PACKED = ("electra", "roberta")


def flags(folder, objective, **overrides):
  return {
    "objective": objective,
    "input_file": folder / "records",
    "bert_config_file": folder / "bert_config.json",
    "output_dir": folder / "out",
    "eval_text_file": folder / "text.txt",
    "max_seq_length": scripts.LENGTH,
    "max_predictions_per_seq": 5,
    "do_train": True,
    "do_eval": True,
    "train_batch_size": 16,
    "learning_rate": 1e-2,
    "use_bias_correction": True,
    "num_train_steps": STEPS,
    "num_warmup_steps": 4,
    **TRAINING.get(objective, {}),
  } | overrides


def write_data(folder, objective, **changes):
  scripts.write_model_files(folder, **changes)
  scripts.write_text(folder / "text.txt")
  return {
    "objective": objective,
    "input_file": folder / "text.txt",
    "output_file": folder / "records",
    "vocab_file": folder / "vocab.txt",
    "max_seq_length": scripts.LENGTH,
    "max_predictions_per_seq": 5,
    "dupe_factor": 2,
    "num_workers": 1,
  }


def check_all(script, commands):
  """Runs a script for each dict of flags; all must end well."""
  outcomes = scripts.run_each(script, commands)
  assert {status for status, _ in outcomes} == {0}, outcomes


def finished_runs(chosen, tmp_path_factory):
  """Returns {name of an objective: folder of its finished run}."""
  folders = {name: tmp_path_factory.mktemp(name) for name in chosen}
  written, trained = [], []
  for name, folder in folders.items():
    data = write_data(folder, name, **OBJECTIVES[name][0])
    training = flags(folder, name, do_export=name != "albert")
    if name in PACKED:
      held_out = folder / "held_out"
      data["packing"] = "doc_sentences"
      written.append(data | {"output_file": held_out})
      data["pack_sequences"] = True
      training |= {"eval_input_file": held_out}
      training |= {"gradient_accumulation_steps": 2}
    written.append(data)
    trained.append(training)
  check_all("create_pretraining_data", written)
  check_all("run_pretraining", trained)
  return folders


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
  return finished_runs(QUICK, tmp_path_factory)


@pytest.fixture(scope="module")
def slow_runs(tmp_path_factory):
  """{name: folder} of the other objectives, each run when it is asked for."""

  class Runs(dict):
    def __missing__(self, name):
      self.update(finished_runs([name], tmp_path_factory))
      return self[name]

  return Runs()


@pytest.fixture
def folder(request, name):
  """Folder of the finished run of the objective `name`."""
  return request.getfixturevalue("runs" if name in QUICK else "slow_runs")[name]


def test_each_objective_is_tested_here():
  # A student is trained in `test_distil`.
  others = {"distil", *test_text_objectives.OBJECTIVES}
  assert {*OBJECTIVES} | others == objectives.OBJECTIVES.keys()


@pytest.mark.parametrize("name", NAMES)
def test_every_loss_of_an_objective_falls(folder, name):
  entries = run_log.read(str(folder / "out"))
  for loss in OBJECTIVES[name][1]:
    first, last = (entries[i][f"{loss}_loss"] for i in (0, -1))
    # A pair's random answer is learned in longer runs only.
    slack = 0.1 if loss in ("next_sentence", "sentence_order") else -0.1
    assert last < first + slack, loss
    evaluation = scripts.results(folder / "out")["eval"]
    assert evaluation[f"{loss}_loss"] < first + slack
    assert 0 <= evaluation[f"{loss}_accuracy"] <= 1


def rows_of_text(folder):
  """Returns the `standard.Rows` of a run's text."""
  tokenizer = tokenizers.load(str(folder / "vocab.txt"))
  texts = standard.read_passages([str(folder / "text.txt")])
  return standard.make_rows(tokenizer, texts, scripts.LENGTH)


@pytest.mark.parametrize("name", NAMES)
def test_every_objective_reports_standard_scores(folder, name):
  found = scripts.results(folder / "out")["eval"]["standard"]
  rows, start = rows_of_text(folder), ""
  number = rows.is_masked.sum()
  if "language_model" in OBJECTIVES[name][1]:
    start = "previous_token_" if name == "right_to_left" else "next_token_"
    number = rows.ids[:, 1:-1].size
  assert found["num_tokens"] == number
  for score in ("accuracy", "bits_per_token", "bits_per_byte"):
    low, high, _ = found["intervals"][start + score].values()
    assert 0 < low <= found[start + score] <= high < 8
  bits = f"{found[start + 'bits_per_byte']:.3f}"
  assert bits in scripts.report(folder / "out")


@pytest.mark.parametrize("name", slow.all_but(("albert",), OBJECTIVES))
def test_weights_alone_have_the_standard_scores_of_their_run(
  folder, name, tmp_path
):
  values = {
    "objective": name,
    "do_eval": True,
    "eval_text_file": folder / "text.txt",
    "init_checkpoint": folder / "out",
    "output_dir": tmp_path,
    "max_seq_length": scripts.LENGTH,
  }
  check_all("run_pretraining", [values])
  first, again = (
    scripts.results(path)["eval"]["standard"]
    for path in (folder / "out", tmp_path)
  )
  assert scripts.flat(again) == pytest.approx(scripts.flat(first), abs=1e-5)


@pytest.mark.parametrize(
  "name", slow.all_but(("electra",), sorted({*OBJECTIVES} - {"albert"}))
)
def test_what_can_be_served_is_exported(folder, name):
  saved_models = folder / "out" / "saved_model"
  assert (saved_models / "encoder" / "1" / "saved_model.pb").exists()
  has_masked_lm = "fill_mask" in objectives.OBJECTIVES[name].servables
  assert (saved_models / "fill_mask").exists() == has_masked_lm
  assert (saved_models / "replaced_tokens").exists() == (name in DETECTORS)


@pytest.mark.parametrize("name", slow.all_but(QUICK, PACKED))
def test_packed_records_hold_several_texts(folder, name):
  content = manifest.read(str(folder / "records"))
  assert content["origin"]["pack_sequences"]
  assert content["num_records"] < content["num_instances"]
  results = scripts.results(folder / "out")
  assert results["data"]["num_instances"] == content["num_instances"]


@pytest.mark.slow
def test_modernbert_goes_on_with_longer_rows_and_another_base(
  slow_runs, tmp_path
):
  folder, data = slow_runs["modernbert"], tmp_path / "records"
  values = json.loads((folder / "bert_config.json").read_text())
  values |= {"max_position_embeddings": 128, "rotary_base": 1.6e5}
  (tmp_path / "bert_config.json").write_text(json.dumps(values))
  longer = {"max_seq_length": 128, "max_predictions_per_seq": 40}
  values = write_data(folder, "modernbert", **OBJECTIVES["modernbert"][0])
  check_all(
    "create_pretraining_data", [values | longer | {"output_file": data}]
  )
  second = flags(
    folder,
    "modernbert",
    input_file=data,
    output_dir=tmp_path / "out",
    bert_config_file=tmp_path / "bert_config.json",
    vocab_file=folder / "vocab.txt",
    init_checkpoint=folder / "out",
    num_train_steps=4,
    num_warmup_steps=0,
    num_decay_steps=4,
    do_export=False,
    **longer,
  )
  check_all("run_pretraining", [second])
  first, longer = (
    run_log.read(str(path / "out"))[0]["masked_lm_loss"]
    for path in (folder, tmp_path)
  )
  assert longer < first - 0.1


def test_electras_checkpoint_holds_a_discriminator_like_any_encoder(runs):
  prefix = str(runs["electra"] / "out" / f"model.ckpt-{STEPS}")
  names = set(tf_format.read(prefix).shapes)
  assert "bert/encoder/layer_0/attention/self/query/kernel" in names
  assert "generator/encoder/layer_0/attention/self/query/kernel" in names
  assert "generator/embeddings/word_embeddings" not in names


def test_data_of_another_objective_are_refused(tmp_path):
  folders = {}
  written = []
  for name in ("bert", "roberta", "albert", "spanbert", "left_to_right"):
    folders[name] = tmp_path / name
    written.append(
      write_data(folders[name], name, **OBJECTIVES[name][0])
      | {"dupe_factor": 1}
    )
  static = {"output_file": tmp_path / "static", "masking": "static"}
  pairs = written[2] | {"pack_sequences": True}
  *outcomes, (status, err) = scripts.run_each(
    "create_pretraining_data", [*written[:2], written[0] | static, pairs]
  )
  assert {status for status, _ in outcomes} == {0}, outcomes
  assert status == 1
  assert "pack_sequences needs texts" in scripts.error_line(err)

  records = {name: folder / "records" for name, folder in folders.items()}
  records["static"] = tmp_path / "static"
  of_bert = {"bert_config_file": folders["bert"] / "bert_config.json"}
  cases = (
    ("albert", "roberta", {}, "not sentence pairs"),
    ("albert", "bert", {}, "has pairs of packing=next_sentence"),
    ("left_to_right", "static", {}, "masked already"),
    ("left_to_right", "bert", of_bert, "use_causal_mask"),
    ("spanbert", "static", {}, "masked with masking_policy=token"),
    ("bert", "bert", {"detection_weight": -1}, "detection_weight (-1.0) must"),
    (
      "bert",
      "bert",
      {"masking_policy": "span", "do_whole_word_mask": True},
      "contradicts do_whole_word_mask",
    ),
  )
  scripts.check_mistakes(
    "run_pretraining",
    [
      (flags(folders[name], name, input_file=records[read], **more), words)
      for name, read, more, words in cases
    ],
    dict,
  )
