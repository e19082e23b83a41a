"""The README.md of a saved model says nothing of one machine."""

import tempfile

import keras_bert_impl as kb
from keras_bert_impl.estimators import model_card


def test_a_card_names_no_folder_of_this_machine(tmp_path):
  for start, shown in (
    ("klue/bert-base", "| init_checkpoint | klue/bert-base |"),
    ("/home/me/models/bert/", "| init_checkpoint | bert |"),
    (f"{tempfile.gettempdir()}/keras_bert_impl_x/runs/a", None),
  ):
    configuration = {"init_checkpoint": start, "random_seed": 0}
    results = {"configuration": configuration}
    task = {"head": "classification", "labels": ["no", "yes"]}
    model_card.write(str(tmp_path), kb.TextClassifier, task, results)
    card = (tmp_path / "README.md").read_text()
    assert "| random_seed | 0 |" in card
    assert f'from_checkpoint("{tmp_path.name}")' in card
    assert str(tmp_path.parent) not in card and "keras_bert_impl_x" not in card
    assert shown in card if shown else "init_checkpoint" not in card


def test_a_card_says_what_a_model_writes_and_how(tmp_path):
  settings = {"prefix": "summarize: ", "max_target_length": 8, "num_beams": 2}
  for task, configuration in (({}, {}), ({"head": "generation"}, settings)):
    results = {"configuration": configuration}
    model_card.write(str(tmp_path), kb.TextGenerator, task, results)
    card = (tmp_path / "README.md").read_text()
    assert "pipeline_tag: text-generation" in card
    for name, value in configuration.items():
      assert f"| {name} | {value} |" in card
