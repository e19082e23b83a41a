"""The scripts on paths that only TensorFlow's file systems know, such as gs://.

file:// stands in for them: Python's own functions do not find such a path.
"""

import pytest

from tests.official_tasks import scripts

ROWS = "".join(
  f"{text}\t{label}\n"
  for text, label in [("the cat sees .", "a"), ("a dog runs .", "b")] * 10
)


@pytest.fixture
def store(tmp_path, monkeypatch):
  """Text, rows and a configuration in a store; (folder, its address)."""
  scripts.write_text(tmp_path / "text.txt")
  scripts.write_model_files(tmp_path, vocab_size=90)
  (tmp_path / "vocab.txt").unlink()
  (tmp_path / "tokenizer_config.json").unlink()
  (tmp_path / "train.tsv").write_text("text\tlabel\n" + ROWS)
  elsewhere = tmp_path / "elsewhere"
  elsewhere.mkdir()
  # A path that is not understood would end up here.
  monkeypatch.chdir(elsewhere)
  return tmp_path, f"file://{tmp_path}"


def run(script, **values):
  status, _, err = scripts.run(script, **values)
  assert status == 0, err
  return err


@pytest.mark.slow
def test_from_text_to_a_tuned_model_that_is_served(store):
  folder, address = store
  run(
    "train_vocabulary",
    input_file=f"{address}/text.txt",
    vocab_file=f"{address}/vocab.txt",
    vocab_size=90,
  )
  run(
    "create_pretraining_data",
    input_file=f"{address}/*.txt",
    output_file=f"{address}/records/part",
    vocab_file=f"{address}/vocab.txt",
    max_seq_length=scripts.LENGTH,
    num_shards=2,
    num_workers=2,
  )
  pretraining = {
    "input_file": f"{address}/records/part-*",
    "output_dir": f"{address}/pretrained",
    "bert_config_file": f"{address}/bert_config.json",
    "vocab_file": f"{address}/vocab.txt",
    "do_train": True,
    "train_batch_size": 8,
    "max_seq_length": scripts.LENGTH,
    "num_warmup_steps": 2,
    "save_checkpoints_steps": 3,
  }
  run("run_pretraining", **pretraining, num_train_steps=6, do_export=False)
  err = run("run_pretraining", **pretraining, num_train_steps=9, do_eval=True)
  assert "Resuming at step 6 from file://" in err
  run(
    "run_classifier",
    train_file=f"{address}/train.tsv",
    dev_file=f"{address}/train.tsv",
    text_column="text",
    label_column="label",
    init_checkpoint=f"{address}/pretrained",
    output_dir=f"{address}/classifier",
    do_train=True,
    do_eval=True,
    train_batch_size=8,
    max_seq_length=scripts.LENGTH,
    num_train_epochs=1,
  )
  run(
    "export_saved_model",
    checkpoint_dir=f"{address}/classifier",
    export_dir=f"{address}/served",
  )
  for name in (
    "records/part-00001-of-00002.manifest.json",
    "pretrained/model.ckpt-9.index",
    "pretrained/train_log.jsonl",
    "pretrained/curves.png",
    "pretrained/report.html",
    "pretrained/saved_model/fill_mask/1/saved_model.pb",
    "classifier/dev/predictions.tsv",
    "classifier/report.html",
    "served/1/saved_model.pb",
  ):
    assert (folder / name).is_file(), name
  assert not list((folder / "elsewhere").iterdir())
