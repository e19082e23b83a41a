"""A task that a tiny model learns in seconds: is it an animal or a thing?"""

import os
import random

import numpy as np

from keras_bert_impl import configs
from keras_bert_impl.kinds.texts import (
  sequence_classification,
  text_rows,
  text_scores,
)
from keras_bert_impl.runs.fine_tuning import (
  fine_tuning_config,
  fine_tuning_run,
)
from keras_bert_impl.runs.labelled_data import fine_tuning_data
from keras_bert_impl.tasks.basics import example_types, fine_tuning
from keras_bert_impl.tokenizers.formats import vocabularies
from tests.official_tasks import scripts

LABELS = ("animal", "thing")
ANIMALS, THINGS = ("cat", "dog", "bird"), ("house", "tree", "river")
FILLERS = ("the", "a", "old", "new", "small", "big", "red", "blue")


def make_examples(number, seed):
  """Sentences that name one animal or one thing among fillers."""
  rng = random.Random(seed)
  examples = []
  for index in range(number):
    label = rng.choice(LABELS)
    words = rng.choices(FILLERS, k=rng.randint(2, 12))
    noun = rng.choice(ANIMALS if label == "animal" else THINGS)
    words.insert(rng.randrange(len(words)), noun)
    examples.append(
      example_types.TextExample(str(index), " ".join(words), None, label)
    )
  return examples


def write_model(folder, **overrides):
  """Writes vocabulary and configuration; such weights learn fast."""
  scripts.write_model_files(
    folder, **{"initializer_range": 0.3, "hidden_dropout_prob": 0.0} | overrides
  )


def make_parts(config, max_seq_length=16):
  """Returns the `FineTuning` of the task."""
  return fine_tuning.FineTuning(
    text_rows.TextPreprocessor(max_seq_length, LABELS),
    sequence_classification.SequenceClassificationTask(config, LABELS),
    text_scores.ClassEvaluator(LABELS),
  )


def make_setup(
  model_folder,
  output_dir,
  splits=None,
  training=(),
  config=None,
  vocab_file=None,
  make_parts=make_parts,
  **settings,
):
  """Returns the `Run` that the flags would give."""
  settings = {"do_train": True, "max_seq_length": 16, **settings}
  training = fine_tuning_config.training_values(
    fine_tuning_config.PAPER,  # Learns in fewer steps.
    **{
      "output_dir": str(output_dir),
      "train_batch_size": 8,
      "learning_rate": 3e-3,
      "eval_batch_size": 8,
      **dict(training),
    },
  )
  config = config or configs.EncoderConfig.from_json_file(
    model_folder / "bert_config.json"
  )
  parts = make_parts(config)
  vocab_file = vocab_file or str(model_folder / "vocab.txt")
  splits = splits or {
    "train": make_examples(96, 1),
    "dev": make_examples(40, 2),
  }
  data = fine_tuning_data.Data(
    parts.preprocessor,
    splits,
    *vocabularies.find(vocab_file, config.model_type),
    os.path.join(output_dir, "records"),
  )
  return fine_tuning_run.Run(
    parts,
    data,
    fine_tuning_config.FineTuningConfig(**settings),
    training,
    {"train_file": "train.tsv"},
  )


def weights(run):
  return {w.path: np.array(w) for w in run.experiment.model.weights}


def make_run(setup, **values):
  """Returns a `Run` like another that knows only what is in its folder."""
  return setup.varied(setup.output_dir, **values)
