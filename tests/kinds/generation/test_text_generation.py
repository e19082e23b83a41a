"""The loss of texts that are written, and training from Python and scripts."""

import dataclasses
import json
import pathlib
import random
import shutil

import numpy as np
import pytest
import tensorflow as tf

import keras_bert_impl as kb
from keras_bert_impl.generation import settings
from keras_bert_impl.kinds.generation import pair_rows, text_generation
from tests.generation import test_decoders
from tests.official_tasks import scripts

DATA = pathlib.Path(__file__).parents[2] / "data"
WORDS = {"cat": "고양이", "dog": "강아지", "house": "집", "tree": "나무"}


def task_of(folder, smoothing=0.0):
  """Returns task, batch and outputs of a model that transformers has written.

  Args:
    folder: path.
    smoothing: float.
  """
  model, arrays, values = test_decoders.opened(folder)
  task = text_generation.TextGenerationTask(model.config, smoothing)
  mask, labels = arrays["in.attention_mask"], arrays["in.labels"]
  batch = {"input_ids": arrays["in.input_ids"], "input_mask": mask}
  if model.config.num_decoder_layers:
    batch["decoder_ids"] = test_decoders.shifted(folder, labels, values)
  else:  # There a label stands where its token is read.
    labels = np.pad(labels[:, 1:], [(0, 0), (0, 1)], constant_values=-1)
  outputs = model(batch)
  batch["label_ids"] = np.maximum(labels, pair_rows.NONE).astype("int32")
  return task, batch, outputs, arrays


@pytest.mark.parametrize("name", ["bart", "mbart", "t5", "gpt2"])
def test_the_loss_is_that_of_transformers(name):
  task, batch, outputs, arrays = task_of(DATA / "decoders" / name)
  loss = task.losses(batch, outputs)["token"]
  loss /= task.denominators(batch)["token"]
  expected = float(arrays["out.loss"])
  assert float(loss) == pytest.approx(expected, abs=1e-5 * (1 + expected))
  rows = {"label_ids": [row[row >= 0] for row in batch["label_ids"]]}
  total = task.total_denominators(rows)["token"]
  assert total == float(task.denominators(batch)["token"])


def test_only_places_before_tokens_that_are_written_have_logits():
  task, batch, outputs, _ = task_of(DATA / "decoders/gpt2")
  model, _, _ = test_decoders.opened(DATA / "decoders/gpt2")
  trained = dataclasses.replace(task, at_targets=True).build_model()
  trained.set_weights(model.get_weights())
  places = np.tile([[3, 4, 6]], (len(batch["input_ids"]), 1))
  found = trained({**batch, "masked_lm_positions": places})["token_logits"]
  expected = np.array(outputs["token_logits"])[:, places[0]]
  np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("name", ["bart", "gpt2"])
def test_smoothed_labels_are_those_of_transformers(name):
  task, batch, outputs, _ = task_of(DATA / "decoders" / name, 0.1)
  loss = task.losses(batch, outputs)["token"]
  loss /= task.denominators(batch)["token"]
  # As its LabelSmoother.
  logs = tf.nn.log_softmax(outputs["token_logits"]).numpy()
  labels = batch["label_ids"]
  own = np.take_along_axis(logs, np.maximum(labels, 0)[..., None], axis=2)
  each = -0.9 * own[..., 0] - 0.1 * logs.mean(axis=2)
  assert float(loss) == pytest.approx(each[labels >= 0].mean(), rel=1e-5)
  plain = task.metrics(batch, outputs)["token_loss"]
  assert float(plain[0]) == pytest.approx(-own[..., 0][labels >= 0].sum())


@pytest.mark.parametrize("name", ["bart", "gpt2"])
def test_the_predictor_writes_what_the_generator_does(name, tmp_path):
  # The prompts of the batch are those without what follows.
  model, _, values = test_decoders.opened(DATA / "decoders" / name)
  tokens = settings.TokenIds(end=(values["eos_token_id"],))
  start = values.get("decoder_start_token_id")
  searched = settings.SearchSettings(max_new_tokens=5)
  task = text_generation.TextGenerationTask(
    model.config, 0.0, tokens, start, searched
  )
  ids = np.array([[5, 6, 7, 8], [9, 5, 0, 0], [0, 0, 0, 0]], "int32")
  mask = np.array([[1, 1, 1, 1], [1, 1, 0, 0], [0, 0, 0, 0]], "int32")
  batch = {"input_ids": ids, "input_mask": mask}
  batch["masked_lm_positions"] = np.array([[3], [1], [0]], "int32")
  write = tf.function(task.predictor(model), autograph=False)
  found = write(batch)
  assert found["ids"].shape == (3, 5)
  if not model.config.num_decoder_layers:
    # [5, 6] is the text; the rest follows it.
    places = np.array([[1, 2, 3], [1, 0, 0], [0, 0, 0]], "int32")
    more = {**batch, "masked_lm_positions": places}
    cut = {"input_ids": ids[:, :2], "input_mask": mask[:, :2]}
    short = write(more | cut)
    np.testing.assert_array_equal(write(more)["ids"][0], short["ids"][0])
  alone = write({name: x[1:2, :2] for name, x in batch.items()})
  np.testing.assert_array_equal(alone["ids"][0], found["ids"][1])


def translations(number, seed):
  """Returns pairs of words, of which each stands for one."""
  rng = random.Random(seed)
  pairs = []
  for _ in range(number):
    words = rng.choices([*WORDS], k=rng.randint(1, 3))
    pairs.append((" ".join(words), " ".join(WORDS[word] for word in words)))
  return pairs


def write_pairs(path, pairs, names=("text", "target")):
  lines = (dict(zip(names, pair, strict=True)) for pair in pairs)
  path.write_text("".join(f"{json.dumps(x)}\n" for x in lines))
  return path


@pytest.fixture(name="run", scope="module")
def fixture_run(tmp_path_factory):
  """Folder, flags and outcomes of run_seq2seq.py: trained, refused."""
  folder = tmp_path_factory.mktemp("run")
  sizes = {"hidden_size": 32, "hidden_dropout_prob": 0.0}
  scripts.write_model_files(
    folder, **sizes, num_decoder_layers=1, initializer_range=0.2
  )
  scripts.write_model_files(folder / "encoder", **sizes)
  train = write_pairs(folder / "train.jsonl", translations(240, 1))
  dev = write_pairs(folder / "dev.jsonl", translations(30, 2))
  bad = write_pairs(folder / "bad.jsonl", [("cat", "집"), ("dog", "")])
  usual = {
    "bert_config_file": folder / "bert_config.json",
    "train_file": train,
    "max_seq_length": 16,
    "max_target_length": 12,
    "learning_rate": 1e-2,
    "train_batch_size": 16,
  }
  trained = usual | {"dev_file": dev, "output_dir": folder / "out"}
  trained |= {"do_train": True, "do_eval": True, "num_train_epochs": 8}
  trained |= {"early_stopping_patience": 3, "metrics": "exact_match,rougeL"}
  other = usual | {"do_train": True, "output_dir": folder / "none"}
  encoder = {"bert_config_file": folder / "encoder/bert_config.json"}
  flags = {
    "trained": trained,
    "written": trained
    | {"do_train": False, "do_eval": False, "do_predict": True}
    | {"test_file": dev, "num_beams": 2},
    "encoder": other | encoder,
    "prefix": other | {"prefix": "cat " * 20},
    "length": other | {"max_target_length": 600},
    "room": other | {"max_target_length": 2},
    "beams": other | {"num_beams": 0},
    "target": other | {"train_file": bad},
    "metric": other | {"metrics": "rouge3"},
    "dev": other | {"do_train": False, "do_eval": True},
    "members": other
    | {"do_train": False, "do_eval": True, "dev_file": dev}
    | {"ensemble_dirs": folder / "out"},
  }
  return folder, flags, scripts.run_all("run_seq2seq", flags)


@pytest.mark.integration
def test_the_script_learns_to_translate(run):
  folder, _, outcomes = run
  status, out, err = outcomes["trained"]
  assert status == 0, err
  results = scripts.results(folder / "out")
  found = results["eval"]["dev"]
  assert found["scores"]["exact_match"] > 0.9 > found["baseline"]
  assert found["intervals"]["rougeL"]["high"] <= 1
  lines = (folder / "out/dev/predictions.jsonl").read_text().splitlines()
  assert json.loads(lines[0]).keys() == {"id", "prediction", "target"}
  assert "1 - ROUGE-L" in scripts.report(folder / "out")
  assert "dev exact_match" in out


@pytest.mark.integration
def test_a_run_is_opened_and_writes_what_it_wrote(run, tmp_path):
  folder, _, outcomes = run
  assert outcomes["written"][0] == 0, outcomes["written"][2]
  lines = (folder / "out/test/predictions.jsonl").read_text().splitlines()
  expected = [json.loads(line)["prediction"] for line in lines]
  generator = kb.TextGenerator.from_checkpoint(folder / "out")
  texts = [text for text, _ in translations(30, 2)]
  found = generator.generate(texts)
  assert [one["text"] for [one] in found] == expected
  served = tf.saved_model.load(generator.export(tmp_path / "served"))
  answer = served.signatures["serving_default"](text=tf.constant(texts))
  assert [x.decode() for x in answer["text"].numpy()] == expected
  assert generator.evaluate(translations(30, 2))["exact_match"] > 0.9


@pytest.mark.integration
def test_mistakes_are_one_line(run):
  for name, message in (
    ("encoder", "is an encoder (bert), which writes no text"),
    ("prefix", "max_seq_length (16) must be at least 23, as prefix ('cat cat"),
    ("length", "max_target_length (600) must be at most"),
    ("room", "max_target_length (2) must be at least 3: what begins"),
    ("beams", "num_beams (0) must be in [1, 256]"),
    ("target", "bad.jsonl:2 has no target: write it"),
    ("metric", "metrics ('rouge3') must be one of"),
    ("dev", "--do_eval: give --dev_file or --dev_fraction"),
    ("members", "texts are written token by token"),
  ):
    status, _, err = run[2][name]
    assert status == 1, name
    assert message in scripts.error_line(err), name


@pytest.mark.integration
@pytest.mark.parametrize("model", ["t5", "gpt", "kobart"])
def test_fit_learns_and_saves_for_transformers(model, folder_of, tmp_path):
  generator = kb.TextGenerator.from_checkpoint(folder_of(model))
  pairs = [("the cat", "sat on"), ("sat", "the mat")] * 12
  settings_ = {"max_seq_length": 16, "max_target_length": 8, "verbose": 0}
  history = generator.fit(
    pairs,
    validation_data=pairs[:4],
    epochs=3,
    learning_rate=3e-3,
    prefix="x ",
    num_beams=2,
    **settings_,
  ).history
  assert history["loss"][-1] < history["loss"][0]
  assert {"val_rougeL", "val_exact_match"} <= {*history}
  texts = ["the cat", "sat"]
  found = generator.generate(texts)
  generator.save(tmp_path / "saved")
  again = kb.TextGenerator.from_checkpoint(tmp_path / "saved")
  assert again.generate(texts) == found
  config = json.loads((tmp_path / "saved/config.json").read_text())
  end = {"t5": 1, "gpt": 0, "kobart": 1}[model]
  assert config["eos_token_id"] == end
  # The prefix and the beams are the model's now.
  shutil.move(tmp_path / "saved/task.json", tmp_path)
  plain = kb.TextGenerator.from_checkpoint(tmp_path / "saved")
  given = ["x " + text for text in texts]
  beams = {"num_beams": 2, "max_new_tokens": 8}
  assert plain.generate(given, **beams) == found


def test_a_model_that_is_not_trained_here_is_saved_and_opened(t5, tmp_path):
  generator = kb.TextGenerator.from_checkpoint(t5)
  found = generator.generate(["the cat"], max_new_tokens=3)
  generator.save(tmp_path / "saved")
  again = kb.TextGenerator.from_checkpoint(tmp_path / "saved")
  assert again.generate(["the cat"], max_new_tokens=3) == found


@pytest.mark.integration
def test_adapters_learn_alone(t5):
  generator = kb.TextGenerator.from_checkpoint(t5)
  pairs = [("the cat", "sat on")] * 8
  history = generator.fit(
    pairs,
    epochs=2,
    lora_rank=2,
    learning_rate=1e-2,
    verbose=0,
    max_seq_length=16,
    max_target_length=8,
  )
  assert history.history["loss"][-1] < history.history["loss"][0]


@pytest.mark.parametrize(
  ("data", "message"),
  [
    ([("a", "")], "data[0] has no target: write it"),
    ([(" ", "b")], "data[0] has no text: write it"),
    (["a"], "data[0] has no target: write it, or leave data[0] out"),
    ([{"text": 3, "target": "b"}], "data[0].text (3) must be a str"),
  ],
)
def test_wrong_pairs_are_named(t5, data, message):
  with pytest.raises(ValueError) as caught:
    kb.TextGenerator.from_checkpoint(t5).fit(data)
  assert message in str(caught.value)


def test_an_encoder_is_refused():
  bert = kb.TextGenerator.from_checkpoint(DATA / "parity/bert_classifier")
  with pytest.raises(ValueError, match="--head=generation does not fit"):
    bert.generate("a")
