"""The folder of a run keeps the model's files and the results."""

import json

import pytest

from keras_bert_impl import configs
from keras_bert_impl.model_folders import run_folder
from keras_bert_impl.tokenizers.formats import tokenizer_options, vocabularies

CONFIG = configs.EncoderConfig(vocab_size=6)
VOCABULARY = vocabularies.Vocabulary((*vocabularies.SPECIAL_TOKENS, "a"))
OPTIONS = tokenizer_options.WordPieceOptions(do_lower_case=False)


def test_results_are_there_when_the_folder_is_opened_again(tmp_path):
  folder = run_folder.RunFolder(str(tmp_path))
  assert folder.results == {}
  folder.results["train"] = {"steps": 3}
  folder.artifacts["log"] = folder.join("train_log.jsonl")
  folder.save_results({"learning_rate": 0.1})
  again = run_folder.RunFolder(str(tmp_path)).results
  assert again["train"] == {"steps": 3}
  assert again["artifacts"] == {"log": str(tmp_path / "train_log.jsonl")}
  assert again["configuration"] == {"learning_rate": 0.1}
  assert again["versions"]["python"]


def test_a_later_command_stands_below_that_of_the_training(
  tmp_path, monkeypatch
):
  commands = [("--do_train", "영화.tsv"), ("--do_predict", None)]
  for flag, train_file in [*commands, commands[1]]:
    monkeypatch.setattr("sys.argv", ["run_classifier.py", flag])
    folder = run_folder.RunFolder(str(tmp_path))
    folder.save_results({"train_file": train_file, "sizes": (1, 2)})
    folder.save_results({"train_file": train_file, "sizes": (1, 2)})
  folder.write_report("Classification", [])
  shown = (tmp_path / "report.html").read_text(encoding="utf-8")
  lines = [
    f"<pre>python run_classifier.py {flag}</pre>" for flag, _ in commands
  ]
  assert "\n".join(lines) in shown and shown.count("<pre>") == 2
  assert "영화.tsv" in shown and shown.count("2 options") == 2


def test_the_model_can_be_loaded_from_the_folder(tmp_path):
  folder = run_folder.RunFolder(str(tmp_path))
  folder.keep_model_files(CONFIG, VOCABULARY, OPTIONS)
  path = folder.vocabulary_path(VOCABULARY)
  assert vocabularies.Vocabulary.load(path).tokens == VOCABULARY.tokens
  assert not tokenizer_options.resolve(path).do_lower_case
  stored = json.loads((tmp_path / "bert_config.json").read_text())
  assert stored["vocab_size"] == 6


def test_only_the_chief_writes(tmp_path):
  folder = run_folder.RunFolder(str(tmp_path), is_chief=False)
  folder.keep_model_files(CONFIG, VOCABULARY, OPTIONS)
  folder.save_results({})
  assert not list(tmp_path.iterdir())


def test_curves_are_drawn_where_something_was_logged(tmp_path):
  folder = run_folder.RunFolder(str(tmp_path))
  folder.plot_curves()
  assert folder.artifacts == {}
  entries = [{"step": k, "loss": 1.0 / k, "a_loss": 2.0} for k in (1, 2)]
  lines = "".join(json.dumps(entry) + "\n" for entry in entries)
  (tmp_path / "train_log.jsonl").write_text(lines)
  folder.plot_curves({"a_loss": 1.0})
  with open(folder.artifacts["curves"], "rb") as picture:
    assert picture.read(4) == b"\x89PNG"


def test_the_report_shows_the_paths_below_the_table(tmp_path, capsys):
  folder = run_folder.RunFolder(str(tmp_path))
  folder.artifacts.update(log="a/log", records=["b", "c"])
  folder.print_report("the table", records="b,c")
  assert capsys.readouterr().out == (
    "\nthe table\n\nlog      a/log\nrecords  b,c\n"
  )


def test_results_of_something_else_are_refused(tmp_path):
  (tmp_path / "results.json").write_text("[]")
  with pytest.raises(ValueError, match="results.json must be an object"):
    run_folder.RunFolder(str(tmp_path))
