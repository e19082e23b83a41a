"""run_seq2seq.py, which is killed at several places of a run."""

import json

import pytest

from tests import slow
from tests.official_tasks import scripts, test_run_pretraining

# {model: fields of its configuration}.
MODELS = {
  "bart": {"model_type": "bart", "num_decoder_layers": 1},
  "gpt": {"model_type": "gpt2", "use_causal_mask": True},
}
# Steps of a training, or what lies in the folder of its run, in their order.
PLACES = ("records/*", 12, "model.ckpt-45*", "dev")
LAST = 67


def prepare(folder, name):
  """Writes a model and its pairs; returns the flags of a run."""
  scripts.write_model_files(
    folder,
    **MODELS[name],
    type_vocab_size=0,
    decoder_transform=False,
    hidden_dropout_prob=0.1,
  )
  pairs = [
    (f"the {a} sees", f"{b} finds {a}")
    for a, b in zip(scripts.WORDS, scripts.WORDS[1:], strict=False)
  ]
  for split, some in (("train", pairs), ("dev", pairs[:6])):
    lines = [json.dumps({"text": a, "target": b}) for a, b in some]
    (folder / f"{split}.jsonl").write_text("\n".join(lines) + "\n")
  return scripts.fine_tuning(
    folder,
    "out",
    train_file=folder / "train.jsonl",
    dev_file=folder / "dev.jsonl",
    do_train=True,
    do_eval=True,
    max_target_length=6,
    label_smoothing=0.1,
    num_train_epochs=20,
    iterations_per_loop=1,
    save_checkpoints_steps=5,
  )


def wait_for(place, folder, process):
  """Waits until a run has come to a place."""
  if isinstance(place, int):
    return test_run_pretraining.wait_for_step(folder, place, process)
  while process.poll() is None:
    if list(folder.glob(place)):
      return None
  pytest.fail(f"ended before {place}: {process.communicate()[1]}")


@pytest.mark.integration
@pytest.mark.parametrize("name", slow.all_but(("gpt",), MODELS))
def test_a_run_that_is_killed_ends_with_the_same_bits(name, tmp_path):
  whole, killed = (prepare(tmp_path / x, name) for x in ("whole", "killed"))
  status, _, err = scripts.run("run_seq2seq", **whole)
  assert status == 0, err
  folders = [tmp_path / x / "out" for x in ("killed", "whole")]
  for place in PLACES:
    process = scripts.start("run_seq2seq", **killed)
    wait_for(place, folders[0], process)
    process.kill()
    process.communicate()
  status, _, err = scripts.run("run_seq2seq", **killed)
  assert status == 0, err
  states = [test_run_pretraining.final_state(x, LAST) for x in folders]
  test_run_pretraining.assert_equal_bitwise(*states)
  texts = [(x / "dev/predictions.jsonl").read_bytes() for x in folders]
  assert texts[0] == texts[1]
