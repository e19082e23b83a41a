"""Names of other libraries are answered with ours."""

import pytest

import keras_bert_impl as kb
from keras_bert_impl import files, foreign_names
from keras_bert_impl.checkpoints import hub
from tests.estimators.conftest import fixture_checkpoint  # noqa: F401


@pytest.mark.parametrize(
  ("name", "ours"),
  [
    ("AutoModel", "kb.from_checkpoint"),
    ("TFBertModel", "kb.from_checkpoint"),
    ("BertBackbone", "kb.from_checkpoint"),
    ("AutoTokenizer", "kb.load_tokenizer"),
    ("BertTokenizerFast", "kb.load_tokenizer"),
    ("AutoModelForSequenceClassification", "kb.TextClassifier"),
    ("TFBertForTokenClassification", "kb.TokenTagger"),
    ("BertForQuestionAnswering", "kb.QuestionAnswerer"),
    ("AutoModelForMaskedLM", "kb.FillMask"),
    ("BertConfig", "kb.EncoderConfig"),
    ("pipeline", "predict"),
    ("Trainer", "fit"),
    ("TrainingArguments", "fit"),
    ("SentenceTransformer", "kb.SentenceEncoder"),
    ("CrossEncoder", "kb.Reranker"),
  ],
)
def test_classes_of_other_libraries_are_named_as_ours(name, ours):
  with pytest.raises(AttributeError, match=f"'{name}': here it is.*{ours}"):
    getattr(kb, name)


@pytest.mark.parametrize("owner", [kb.TextClassifier, kb.SequenceClassifier])
@pytest.mark.parametrize(
  ("name", "ours"),
  [
    ("from_pretrained", "from_checkpoint"),
    ("save_pretrained", "save"),
    ("push_to_hub", "upload_folder"),
  ],
)
def test_methods_of_other_libraries_are_named_as_ours(owner, name, ours):
  with pytest.raises(
    AttributeError, match=f"'{name}': here it is {ours}|{ours}"
  ):
    getattr(owner, name)
  with pytest.raises(AttributeError, match="'nothing'$"):
    owner.nothing  # noqa: B018


def test_settings_of_other_libraries_are_named_as_ours(checkpoint):
  for theirs, ours in {
    **{"x": "data", "y": "targets", "num_train_epochs": "epochs"},
    **{"lr": "learning_rate", "validation_split": "validation_data=0.1"},
    **{"per_device_train_batch_size": "batch_size", "shuffle": "random_seed"},
    **{"num_labels": "labels", "max_length": "max_seq_length"},
    **{"eval_dataset": "validation_data", "fp16": "bfloat16"},
  }.items():
    assert foreign_names.hint(theirs).startswith(f": here it is {ours}") or (
      ours in foreign_names.hint(theirs)
    )
  assert foreign_names.hint("nothing") == ""
  made = kb.TextClassifier.from_checkpoint(checkpoint)
  with pytest.raises(TypeError, match="num_train_epochs: here it is epochs"):
    made.fit(["a", "b"], ["n", "p"], num_train_epochs=3)
  with pytest.raises(TypeError, match="no argument 'x': here it is data"):
    made.fit(x=["a", "b"], y=["n", "p"])
  with pytest.raises(ValueError, match="lr .* here it is learning_rate"):
    made.fit(["a", "b"], ["n", "p"], lr=0.1)


def test_no_name_of_ours_is_foreign():
  for name in kb.__all__:
    assert hasattr(kb, name)
  for kind in (kb.TextClassifier, kb.SentenceEncoder, kb.SequenceClassifier):
    for name in dir(kind):
      getattr(kind, name)


def test_an_old_name_of_the_hub_is_told_with_its_organisation(
  tmp_path, monkeypatch
):
  monkeypatch.chdir(tmp_path)
  for open_it in (kb.from_checkpoint, kb.load_tokenizer, kb.TextClassifier):
    with pytest.raises(
      FileNotFoundError, match="google-bert/bert-base-uncased"
    ):
      open_it("bert-base-uncased")
  (tmp_path / "bert-base-uncased").mkdir()
  assert hub.local_path("bert-base-uncased") == "bert-base-uncased"


@pytest.mark.parametrize("path", ["https://x.org/a", "s3://bucket/a"])
def test_an_address_that_tensorflow_does_not_open_is_told(path):
  for open_it in (files.exists, kb.from_checkpoint, kb.TextClassifier):
    with pytest.raises(ValueError, match=f"{path} cannot be opened.*gs://"):
      open_it(path)
