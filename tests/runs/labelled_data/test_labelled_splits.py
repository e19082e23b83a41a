import pytest

from keras_bert_impl.kinds.tags import tag_splits
from keras_bert_impl.kinds.texts import classification_data
from keras_bert_impl.runs.fine_tuning import fine_tuning_config
from keras_bert_impl.runs.labelled_data import labelled_splits
from tfrecords.labelled import data_sets

HEADER = {
  "MNLI": ("sentence1", "sentence2", "gold_label"),
  "NSMC": ("id", "document", "label"),
}
FILES = {
  "train.tsv": 10,
  "dev_matched.tsv": 2,
  "dev_mismatched.tsv": 3,
}


@pytest.fixture(name="folder")
def fixture_folder(tmp_path):
  """The files of MNLI but those of its test sets."""
  for name, count in FILES.items():
    write(tmp_path / name, "MNLI", count)
  return tmp_path


def write(path, name, count):
  lines = [HEADER[name], *[("a", "b", "neutral")] * count]
  path.write_text("".join("\t".join(line) + "\n" for line in lines))
  return str(path)


def read(name, settings, **config):
  """Returns {split: number of examples}."""
  splits, _ = labelled_splits.read(
    data_sets.find(classification_data.DATA_SETS, name),
    labelled_splits.SplitsConfig(task_name=name, **config),
    fine_tuning_config.FineTuningConfig(**settings),
  )
  return {split: len(examples) for split, examples in splits.items()}


TRAIN, EVAL, PREDICT = (
  {f"do_{what}": True} for what in ("train", "eval", "predict")
)


def test_only_what_is_needed_is_read(folder):
  data_dir = str(folder)
  dev = {"dev": 2, "dev_mismatched": 3}
  assert read("MNLI", TRAIN, data_dir=data_dir) == {"train": 10}
  assert read("MNLI", EVAL, data_dir=data_dir) == dev
  searched = TRAIN | {"num_restarts": 2}
  assert read("MNLI", searched, data_dir=data_dir) == {"train": 10} | dev


def test_all_files_are_found_before_the_first_is_read(folder):
  (folder / "train.tsv").write_text("no table")
  with pytest.raises(FileNotFoundError, match="none.tsv"):
    read("MNLI", TRAIN | EVAL, data_dir=str(folder), dev_file=("none.tsv",))


@pytest.mark.parametrize(
  "names",
  [
    ("train.txt", "testa.txt", "testb.txt"),
    ("train.txt", "valid.txt", "test.txt"),
    ("eng.train", "eng.testa", "eng.testb"),
  ],
)
def test_conll_is_found_by_its_own_names(names, tmp_path):
  for number, name in enumerate(names, start=1):
    (tmp_path / name).write_text("cat NN B-NP B-ANI\n\n" * number)
  config = tag_splits.TagSplitsConfig(data_dir=str(tmp_path))
  settings = fine_tuning_config.FineTuningConfig(**TRAIN | EVAL | PREDICT)
  splits = tag_splits.read(config, settings)
  assert {split: len(each) for split, each in splits.items()} == {
    "train": 1,
    "dev": 2,
    "test": 3,
  }
  (tmp_path / names[0]).write_text("no columns\nin this\n\n")
  (tmp_path / names[1]).unlink()
  with pytest.raises(ValueError, match="--do_eval: give --dev_file"):
    tag_splits.read(config, settings)


def test_a_missing_published_file_is_named(folder):
  with pytest.raises(FileNotFoundError, match="test_matched.tsv"):
    read("MNLI", PREDICT, data_dir=str(folder))


def test_named_files_take_the_place_of_the_published_ones(folder):
  more = write(folder / "more.tsv", "MNLI", 4)
  files = {"train_file": (more, f"{folder}/train.tsv"), "dev_file": (more,)}
  both = TRAIN | EVAL
  assert read("MNLI", both, **files) == {"train": 14, "dev": 4}
  assert read("MNLI", EVAL, data_dir=str(folder), dev_file=(more,)) == {
    "dev": 4,
    "dev_mismatched": 3,
  }


def test_a_split_that_was_not_published_is_read_like_the_others(folder):
  own = write(folder / "own.txt", "NSMC", 5)
  assert read("NSMC", EVAL, dev_file=(own,)) == {"dev": 5}
  with pytest.raises(ValueError, match="--do_eval: give --dev_file, or --dev_"):
    read("NSMC", EVAL, data_dir=str(folder))


def test_a_part_of_the_training_data_is_held_out(folder):
  options = {"data_dir": str(folder), "dev_fraction": 0.3}
  assert read("MNLI", TRAIN, **options) == {"train": 7, "dev": 3}
  assert read("MNLI", EVAL, **options) == {"train": 7, "dev": 3}
  with pytest.raises(FileNotFoundError, match="test_matched.tsv"):
    read("MNLI", PREDICT, **options)
