"""run_pretraining.py --bucket_by_length: resumed, and as two workers.

What every run tests of it is in test_run_pretraining.py.
"""

import pytest

from tests.official_tasks import (
  scripts,
  test_multi_worker,
  test_run_pretraining,
)

LENGTH, NUM_STEPS = 64, 12


@pytest.fixture(scope="module")
def data(tmp_path_factory):
  """Folder with vocab.txt, bert_config.json and records of short documents."""
  folder = tmp_path_factory.mktemp("data")
  scripts.write_model_files(folder)
  scripts.write_records(
    folder, LENGTH, objective="roberta", packing="doc_sentences"
  )
  return folder


def flags(data, output_dir, **overrides):
  values = {
    "objective": "roberta",
    "input_file": data / f"records-dynamic-{LENGTH}",
    "max_seq_length": LENGTH,
    "num_train_steps": NUM_STEPS,
    "bucket_by_length": True,
  }
  return test_run_pretraining.flags(data, output_dir, **values | overrides)


@pytest.fixture(scope="module")
def uninterrupted(data, tmp_path_factory):
  """Folder of a finished run."""
  folder = tmp_path_factory.mktemp("whole")
  status, _, err = scripts.run("run_pretraining", **flags(data, folder))
  assert status == 0, err
  return folder


@pytest.mark.slow
def test_a_killed_run_ends_with_the_same_bits(data, uninterrupted, tmp_path):
  output_dir = tmp_path / "killed"
  process = scripts.start(
    "run_pretraining", **flags(data, output_dir, iterations_per_loop=1)
  )
  test_run_pretraining.wait_for_step(output_dir, 5, process)
  process.kill()
  process.communicate()
  status, _, err = scripts.run("run_pretraining", **flags(data, output_dir))
  assert status == 0, err
  test_run_pretraining.assert_equal_bitwise(
    test_run_pretraining.final_state(output_dir),
    test_run_pretraining.final_state(uninterrupted),
  )


@pytest.mark.slow
def test_two_workers_train_as_one_device(data, uninterrupted, tmp_path):
  overrides = flags(data, tmp_path)
  del overrides["output_dir"]
  outcomes = test_multi_worker.finish(
    test_multi_worker.start_two(data, [tmp_path] * 2, **overrides)
  )
  for status, _, err in outcomes:
    assert status == 0, err
  test_multi_worker.check_same(
    test_run_pretraining.final_state(tmp_path),
    test_run_pretraining.final_state(uninterrupted),
    1e-5,
  )
