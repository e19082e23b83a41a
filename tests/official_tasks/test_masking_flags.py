"""Flags of masking of either script show in the batches."""

import pathlib

import numpy as np
import pytest

from keras_bert_impl.runs.pretraining import pretraining_run
from tests.official_tasks import scripts
from tests.tfrecords import corpus

pytestmark = pytest.mark.integration

LENGTH = 128
# The commands of google-research/bert's README, but for paths and sizes; whole
# words are asked for where the data is made, as it says.
CREATE = {
  "do_lower_case": True,
  "max_seq_length": LENGTH,
  "max_predictions_per_seq": 20,
  "masked_lm_prob": 0.15,
  "random_seed": 12345,
  "dupe_factor": 5,
  "do_whole_word_mask": True,
}
TRAIN = {
  "do_train": True,
  "do_eval": False,
  "train_batch_size": 32,
  "max_seq_length": LENGTH,
  "max_predictions_per_seq": 20,
  "num_train_steps": 20,
  "num_warmup_steps": 10,
  "learning_rate": 2e-5,
}
SPANS = {
  "masking_policy": "span",
  "masked_lm_prob": 0.4,
  "mask_token_prob": 0.5,
  "random_token_prob": 0.0,
  "max_predictions_per_seq": 60,
}
# In the data, in the training.
CASES = {
  "whole words": (CREATE, TRAIN),
  "left to training": (
    {"max_seq_length": LENGTH, "objective": "roberta"},
    TRAIN | SPANS | {"objective": "roberta"},
  ),
}


NUM_BATCHES = 4


def save_batches(run):
  """Saves batches instead of training on them."""
  batches = run.records.train_batches(run.task.prepare, 0)(0, 1)
  columns = list(batches.take(NUM_BATCHES).as_numpy_iterator())
  np.savez(
    pathlib.Path(run.config.training.output_dir) / "batches.npz",
    **{
      name: np.concatenate([batch[name] for batch in columns])
      for name in columns[0]
    },
  )


def replace_training():
  pretraining_run.PretrainingRun.train = save_batches
  pretraining_run.PretrainingRun.report = lambda run: None


@pytest.fixture(name="runs", scope="module")
def fixture_runs(tmp_path_factory):
  """Folder of the runs, and {case: (exit status, stdout, stderr)}."""
  folder = tmp_path_factory.mktemp("masking")
  with open(corpus.write_vocabulary(folder)) as file:
    size = len(file.read().split())
  scripts.write_model_files(
    folder / "model", vocab_size=size, max_position_embeddings=LENGTH
  )
  files = {"vocab_file": folder / "vocab.txt"}
  text = corpus.write_text(folder)
  prepared = scripts.run_each(
    "create_pretraining_data",
    [
      files
      | {"input_file": text, "output_file": folder / case, "num_workers": 1}
      | created
      for case, (created, _) in CASES.items()
    ],
  )
  assert {status for status, _ in prepared} == {0}, prepared
  trained = scripts.run_all(
    "run_pretraining",
    {
      case: files
      | {
        "bert_config_file": folder / "model/bert_config.json",
        "input_file": folder / case,
        "output_dir": folder / f"{case} trained",
        "do_export": False,
      }
      | flags
      for case, (_, flags) in CASES.items()
    },
    replace_training,
  )
  return folder, trained


@pytest.fixture(name="tokens", scope="module")
def fixture_tokens(runs):
  return (runs[0] / "vocab.txt").read_text().split()


def read(runs, case):
  """Yields (ids, positions of the masked tokens, {position: id}) by row."""
  folder, outcomes = runs
  status, _, err = outcomes[case]
  assert status == 0, err
  batches = np.load(folder / f"{case} trained" / "batches.npz")
  for ids, mask, positions, labels, weights in zip(
    *(
      batches[name]
      for name in (
        "input_ids",
        "input_mask",
        "masked_lm_positions",
        "masked_lm_ids",
        "masked_lm_weights",
      )
    ),
    strict=True,
  ):
    chosen = dict(zip(positions[weights > 0], labels[weights > 0]))
    yield ids[mask > 0], chosen


def words_of(ids, chosen, tokens):
  """Returns the words as lists of positions; each segment begins with one."""
  words, begins = [], True
  for position, token in enumerate(ids):
    name = tokens[chosen.get(position, token)]
    is_special = name in ("[CLS]", "[SEP]")
    if begins or not name.startswith("##"):
      words.append([])
    begins = is_special
    if not is_special:
      words[-1].append(position)
  return words


def test_the_originals_two_commands_mask_whole_words(runs, tokens):
  num_whole = 0
  for ids, chosen in read(runs, "whole words"):
    assert len(chosen) <= max(1, round(0.15 * len(ids)))
    for word in words_of(ids, chosen, tokens):
      num_chosen = sum(position in chosen for position in word)
      assert num_chosen in (0, len(word))
      num_whole += 1 < num_chosen
  assert num_whole > 100


def test_every_choice_may_be_left_to_training(runs, tokens):
  found, shares = [], []
  for ids, chosen in read(runs, "left to training"):
    shares.append(len(chosen) / len(ids))
    for word in words_of(ids, chosen, tokens):
      assert sum(position in chosen for position in word) in (0, len(word))
    found += [(ids[position], label) for position, label in chosen.items()]
  # Spans do not touch: at times there is no room for the whole share.
  assert 0.25 < np.mean(shares) < 0.41
  masks = np.array([tokens[token] == "[MASK]" for token, _ in found])
  kept = np.array([token == label for token, label in found])
  assert (masks | kept).all()  # None is replaced by a random one.
  assert 0.4 < masks.mean() < 0.6
