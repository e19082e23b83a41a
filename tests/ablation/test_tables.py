"""Tables of the paper: their rows, and the commands that fill them."""

import dataclasses
import json
import pathlib

import pytest

from keras_bert_impl import choices, configs
from keras_bert_impl.ablation import (
  scales,
  table_plan,
  table_rows,
  tables,
)
from keras_bert_impl.kinds.answers import question_rows
from keras_bert_impl.kinds.multi_task import labelled_tasks
from tests.command_line import all_scripts

TASKS = (
  labelled_tasks.Task(
    "MNLI", "texts", {"task_name": "MNLI", "data_dir": "mnli"}
  ),
  labelled_tasks.Task("SWAG", "choices", {"data_dir": "swag"}),
  labelled_tasks.Task(
    "SQuAD", "answers", {"train_file": "a", "dev_articles": 1}
  ),
  labelled_tasks.Task("NER", "tags", {"train_file": "b", "dev_fraction": 0.2}),
)
ALL = (*(f"table {name}" for name in tables.TABLES), "figure 5")


def table(name, scale="tiny"):
  kind, number = name.split()
  names = (number, None) if kind == "table" else (None, number)
  return tables.find(*names, scales.SCALES[scale])


def experiment(scale="tiny", model_dir="models"):
  return table_plan.Experiment(
    model_dir, scales.SCALES[scale], TASKS, "v.txt", "text", "held_out", 2
  )


def commands_of(name, scale="tiny"):
  whole = experiment(scale)
  return [
    whole.vocabulary(),
    *table_plan.commands_of(table(name, scale), whole),
  ]


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("scale", scales.SCALES)
def test_every_flag_is_one_of_its_script(name, scale):
  for command in commands_of(name, scale):
    text = all_scripts.told()[command.script]["--helpfull"][1]
    for flag in command.flags:
      assert f"--{flag}" in text or f"--[no]{flag}" in text, command


@pytest.mark.parametrize("name", ALL)
def test_no_two_commands_share_a_folder(name):
  commands = {c.folder: c for c in commands_of(name)}
  for command in commands_of(name):
    assert commands[command.folder] == command


def test_tables_share_the_models_that_are_equal():
  shared = [
    row.name
    for name in ("5", "7", "8", "roberta1", "spanbert6", "glue")
    for row in table(f"table {name}").rows
    if row.pretraining == table_rows.BERT
  ]
  features = [row.name for row in table("table 7").rows]
  masks = "80 % [MASK], 10 % same, 10 % random"
  assert shared == [
    "BERT",
    *features,
    masks,
    *("dynamic", "Subword tokens", "BERT"),
  ]


def test_static_masks_are_written_with_the_text():
  [train, _] = experiment().records(table("table roberta1").rows[0].pretraining)
  assert train.flags["masking"] == "static"
  assert train.flags["dupe_factor"] == 10
  assert train.folder != experiment().records(table_rows.BERT)[0].folder


def test_sentence_losses_are_of_one_model_and_one_masking():
  models = [row.pretraining for row in table("table albert5").rows]
  assert [m.objective for m in models] == ["roberta", "bert", "albert"]
  for model in models:
    assert model.flags == {"masking_policy": "ngram"}
    config = scales.SCALES["base"].encoder_config(model, 30000)
    assert config == configs.EncoderConfig.preset("albert_base_v1")


def test_a_bilstm_is_trained_where_there_is_one():
  cells = {
    (row.name, column): command.flags
    for row, column, command in table_plan.cells_of(
      table("table 5"), experiment()
    )
  }
  assert cells["+ BiLSTM", "MNLI"]["bilstm_width"] == 128
  assert cells["+ BiLSTM", "NER"]["approach"] == "fine_tuning_bilstm"
  assert ("+ BiLSTM", "SWAG") not in cells
  assert "bilstm_width" not in cells["LTR & No NSP", "MNLI"]


def test_features_are_those_of_words():
  columns = table_plan.columns_of(table("table 8"), TASKS)
  assert list(columns) == ["MNLI", "SWAG", "SQuAD", "NER", "NER, features"]
  assert list(table_plan.columns_of(table("table 7"), TASKS)) == ["NER"]


@pytest.mark.parametrize("scale", scales.SCALES)
def test_a_question_leaves_room_for_a_text(scale):
  whole = experiment(scale)
  command = whole.fine_tuning(table("table 5").rows[0], TASKS[2], "fine-tuning")
  names = ("max_seq_length", "max_query_length", "doc_stride")
  sizes = {n: command.flags[n] for n in names if n in command.flags}
  preprocessor = question_rows.QuestionPreprocessor(**sizes)
  # After a question of mean length, windows overlap.
  assert preprocessor.doc_stride < preprocessor.max_seq_length - 3 - 12


def test_a_given_model_is_not_trained_before():
  whole = dataclasses.replace(experiment(), init_checkpoint="bert/model.ckpt")
  for name in ("glue", "7"):
    wanted = table(f"table {name}")
    found = table_plan.commands_of(wanted, whole)
    assert found == [cell[2] for cell in table_plan.cells_of(wanted, whole)]
    starts = {command.flags["init_checkpoint"] for command in found}
    assert starts == {"bert/model.ckpt"}


def test_shares_of_masks_add_up():
  for row in table("table 8").rows[1:]:
    mask, same, random = (
      int(part.split("%")[0]) for part in row.name.split(",")
    )
    flags = row.pretraining.flags
    assert mask + same + random == 100
    assert flags["mask_token_prob"] == mask / 100
    assert flags["random_token_prob"] == random / 100


@pytest.mark.parametrize("num_restarts", [1, 2])
def test_scores_are_those_that_the_paper_has(num_restarts, tmp_path):
  metrics = {  # In the order that the scripts write them in.
    "MNLI": {"f1": 0.1, "accuracy": 0.7, "accuracy_and_f1": 0.2},
    "SWAG": {"accuracy": 0.6},
    "SQuAD": {"exact_match": 0.3, "f1": 0.5},
    "NER": {"accuracy": 0.9, "precision": 0.1, "recall": 0.2, "f1": 0.4},
  }
  whole = experiment(model_dir=str(tmp_path))
  names = [f"random_seed={number}" for number in range(num_restarts)]
  for _, column, command in table_plan.cells_of(table("table 5"), whole):
    run = {"eval": {"dev": {"scores": metrics[column]}}}
    search = {"runs": [{"name": name} for name in names]}
    results = {"": run}
    if num_restarts > 1:
      results = {"": search} | {f"runs/{name}": run for name in names}
    for name, content in results.items():
      path = pathlib.Path(command.folder, name, "results.json")
      path.parent.mkdir(parents=True, exist_ok=True)
      path.write_text(json.dumps(content))
  found = table_plan.scores_of(table("table 5"), whole)[0]["scores"]
  means = {name: score["mean"] for name, score in found.items()}
  expected = {"MNLI": 70, "SWAG": 60, "SQuAD": 50, "NER": 40}
  assert means == pytest.approx(expected)
  assert all(score["n"] == num_restarts for score in found.values())


def test_a_figure_fine_tunes_each_checkpoint():
  found = table("figure 5")
  steps = {row.step for row in found.rows}
  model = experiment().pretraining(found.rows[0].pretraining)
  assert steps == {80, 160, 240, 320, 400}
  assert model.flags["save_checkpoints_steps"] == 80
  assert model.flags["keep_checkpoint_max"] == 5


@pytest.mark.parametrize("scale", scales.SCALES)
def test_sizes_have_models(scale):
  whole = scales.SCALES[scale]
  sizes = [whole.size]
  sizes += [whole.shrink(r.pretraining.size) for r in table("table 6").rows]
  for layers, hidden, heads in sizes:
    configs.EncoderConfig.preset(
      "bert_base",
      num_hidden_layers=layers,
      hidden_size=hidden,
      num_attention_heads=heads,
    )
  assert len(set(sizes[1:])) == 6
  if scale == "base":
    presets = {
      (c.num_hidden_layers, c.hidden_size, c.num_attention_heads)
      for name, c in configs.PRESETS.items()
      if name.startswith("bert_")
    }
    assert presets.issuperset(sizes)
  # Table 7 of two layers needs a checkpoint; table 8 takes all layers.
  needed = max(choices.FEATURES.values()) if scale != "mini" else 2
  assert whole.size[0] >= needed


def test_features_of_a_model_of_few_layers_are_those_of_all():
  wanted, found = table("table 8", "mini"), []
  for *_, command in table_plan.cells_of(wanted, experiment("mini")):
    found.append(command.flags.get("features"))
  assert {*found} == {None, "weighted_sum_all"}


@pytest.mark.parametrize("name", ALL)
def test_published_scores_are_of_columns_that_exist(name):
  known = "MNLI,QNLI,MRPC,SST-2,SQuAD,SQuAD 2.0,NER,GLUE".split(",")
  known += ["NER, features", table_rows.PERPLEXITY]
  if name == "table glue":
    known += "MNLI-m,MNLI-mm,QQP,CoLA,STS-B,RTE".split(",")
    known += [table_rows.AVERAGE]
  for row in table(name).rows:
    assert row.paper.keys() <= {*known}
    assert row.paper or row.step or row.name == "LTR + RTL"


@pytest.mark.parametrize(
  "text, name, kind, flags",
  [
    ("qnli={folder}", "QNLI", "texts", {"task_name": "QNLI"}),
    (
      "MNLI={file}",
      "MNLI",
      "texts",
      {"task_name": "MNLI", "dev_fraction": 0.2},
    ),
    ("CoNLL-2003={folder}", "NER", "tags", {}),
    (
      "klue-ner={file}",
      "KLUE-NER",
      "tags",
      {"dev_fraction": 0.2, "token_unit": "character"},
    ),
    ("SQuAD={file}", "SQuAD", "answers", {"dev_articles": 10}),
    ("codah={folder}", "CODAH", "choices", {"task_name": "CODAH"}),
    ("리뷰={file}", "리뷰", "texts", {"dev_fraction": 0.2}),
  ],
)
def test_a_task_is_a_name_and_a_path(text, name, kind, flags, tmp_path):
  file = tmp_path / "file.tsv"
  file.write_text("")
  if "{file}" in text:
    flags = flags | {"train_file": str(file)}
  else:
    flags = flags | {"data_dir": str(tmp_path)}
  text = text.format(file=file, folder=tmp_path)
  assert labelled_tasks.parse(text) == (labelled_tasks.Task(name, kind, flags),)


@pytest.mark.parametrize(
  "text, error, message",
  [
    ("MNLI", ValueError, "NAME=PATH"),
    ("MNLI=/no/such", FileNotFoundError, "/no/such, of the task MNLI"),
    ("mine={folder}", ValueError, "'mine' is no known data set"),
    ("QNLI={folder},qnli={folder}", ValueError, "each task once"),
  ],
)
def test_a_wrong_task_is_named(text, error, message, tmp_path):
  with pytest.raises(error, match=message):
    labelled_tasks.parse(text.replace("{folder}", str(tmp_path)))


def test_a_scale_says_what_masks_become_where_there_are_any():
  whole = experiment("mini")
  static = table("table roberta1").rows[0].pretraining
  causal = table_rows.LEFT_TO_RIGHT
  name = "mask_token_prob"
  assert whole.pretraining(table_rows.BERT).flags[name] == 1.0
  assert name not in whole.records(table_rows.BERT)[0].flags
  assert name not in whole.pretraining(static).flags
  assert whole.records(static)[0].flags[name] == 1.0
  assert name not in whole.pretraining(causal).flags


def test_masks_of_table_8_are_its_own_where_a_scale_has_others():
  for scale, own in (("tiny", tables.BERT.name), ("mini", "masks_80_10_10")):
    found = tables.find("8", None, scales.SCALES[scale])
    assert found.rows[0].pretraining.name == own
