"""The Python code of docs/pretraining.md runs."""

import pathlib
import re

from tests.official_tasks import scripts

PAGE = pathlib.Path(__file__).parents[2] / "docs/pretraining.md"


def test_a_model_is_pretrained_from_python(tmp_path, capsys):
  [code] = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.S)
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
