"""Pre-trains an encoder on TFRecords; without flags, on the machine's own text.

    python official_tasks/run_pretraining.py

gathers the documentation of the installed Python packages, learns a vocabulary,
writes TFRecords, trains a small BERT, evaluates it on held-out documents and
exports it. With --input_file it trains on records that
create_pretraining_data.py wrote, under the flags of google-research/bert;
--objective trains as RoBERTa, ALBERT, SpanBERT, ELECTRA or left to right.

Order of initialisation: (1) a checkpoint in --output_dir is resumed, (2) else
--init_checkpoint is loaded, (3) else weights are drawn from --random_seed.
"""

import dataclasses
import os
import time

from absl import flags
from etils import epy

from keras_bert_impl import options
from keras_bert_impl.tasks import objectives
from keras_bert_impl.training import config as config_lib
from official_tasks.command_line import common
from tfrecords import masking_config

with epy.lazy_imports():
  from keras_bert_impl.training import distribution, experiment
  from official_tasks.pretraining import default as default_pretraining
  from official_tasks.pretraining import run as pretraining_run

# oneDNN's kernels took 29 % off a training step of BERT-Base on a processor
# where TensorFlow leaves them off. It looks here when it is imported.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")

FLAGS = flags.FLAGS


@dataclasses.dataclass(frozen=True)
class DataConfig:
  """What is read; names and defaults of google-research/bert where it has them.

  Raises:
    ValueError: if neither training nor evaluation is asked for.
  """

  input_file: str | None = options.common(
    None,
    "Training TFRecords: paths or glob patterns, separated by commas. Without"
    " it the script prepares its embedded default.",
  )
  eval_input_file: str | None = options.common(
    None, "Held-out TFRecords; default: input_file, as in the original."
  )
  bert_config_file: str | None = options.common(
    None, "JSON file with the model's configuration (bert_config.json)."
  )
  vocab_file: str | None = options.common(
    None,
    "Vocabulary of the records (vocab.txt, vocab.json or *.model); default: the"
    " one beside the above.",
  )
  objective: str = options.common(
    "bert",
    "What is learned, and how it is masked.",
    tuple(objectives.OBJECTIVES),
  )
  max_seq_length: int = options.common(128, "Most tokens per example.")
  generator_size: float = options.field(
    0.25,
    "Width of ELECTRA's generator as a share of the discriminator's.",
    interval="(0, inf)",
  )
  detection_weight: float = options.field(
    50.0,
    "Weight of the loss of ELECTRA's discriminator.",
    interval="[0, inf)",
  )
  skip_corrupt_records: bool = options.field(
    False, "Leave out unreadable records, counted, instead of stopping."
  )
  do_train: bool = options.common(False, "Whether to train.")
  do_eval: bool = options.common(False, "Whether to evaluate.")
  do_export: bool = options.field(
    True, "Whether to write SavedModels after training (needs a vocabulary)."
  )
  example_text: tuple[str, ...] = options.field(
    (), "Text with [MASK] whose best fillings are shown; may be repeated."
  )

  def __post_init__(self):
    if self.input_file and not self.do_train and not self.do_eval:
      raise ValueError("at least one of --do_train and --do_eval must be True.")
    if self.input_file and not self.bert_config_file:
      raise ValueError("--bert_config_file must be given with --input_file.")


common.define_flags(DataConfig)
common.define_flags(masking_config.MaskingConfig)
common.define_flags(config_lib.TrainingConfig)
flags.DEFINE_alias("steps_per_loop", "iterations_per_loop")


def main():
  """Prepares the data if none is named, then trains, evaluates and exports."""
  started = time.monotonic()
  data = common.from_flags(DataConfig)
  training = common.from_flags(config_lib.TrainingConfig)
  strategy = experiment.strategy_of(training)
  if data.input_file is None:
    if distribution.num_workers(strategy) > 1:
      raise ValueError("--input_file must be given with several workers.")
    default_pretraining.prepare(FLAGS)
    data = common.from_flags(DataConfig)
    training = common.from_flags(config_lib.TrainingConfig)
  if not training.output_dir:
    raise ValueError("--output_dir must be given with --input_file.")
  masking = common.from_flags(masking_config.MaskingConfig)
  run = pretraining_run.PretrainingRun(data, masking, training)
  if data.do_train:
    run.train()
  if data.do_eval:
    run.evaluate()
  if run.experiment.is_chief:
    if data.do_train and data.do_export:
      run.export()
    run.report()
    print(f"Finished after {time.monotonic() - started:.0f} s.")
  # A chief that fails in its last work is started again, and needs them.
  distribution.wait_for_all(strategy)


if __name__ == "__main__":
  common.run(main)
