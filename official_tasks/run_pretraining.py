"""Pre-trains an encoder on TFRecords; without flags, on the machine's own text.

    python official_tasks/run_pretraining.py

gathers the documentation of the installed Python packages, learns a vocabulary,
writes TFRecords, trains a small BERT, evaluates it on held-out documents and
exports it. With --input_file it trains on records that
create_pretraining_data.py wrote, under the flags of google-research/bert;
--objective chooses what it learns from them: that of BERT or of a later paper;
--recipe=fast what learns most in minutes.
--do_eval --eval_text_file=... --init_checkpoint=... without --input_file scores
weights of any origin on raw text.

Order of initialisation: (1) a checkpoint in --output_dir is resumed, (2) else
--init_checkpoint is loaded, (3) else weights are drawn from --random_seed.
"""

import time

from absl import flags
from etils import epy

from keras_bert_impl import kinds
from keras_bert_impl.command_line import program
from keras_bert_impl.runs.pretraining import pretraining_config

with epy.lazy_imports():
  from keras_bert_impl.runs.pretraining import (
    checkpoint_evaluation,
    default_pretraining,
    pretraining_run,
  )
  from keras_bert_impl.training import distribution, experiment

FLAGS = flags.FLAGS


pretraining_config.define_flags()
flags.DEFINE_alias("steps_per_loop", "iterations_per_loop")


def main():
  """Prepares the data if none is named, then trains, evaluates and exports."""
  started = time.monotonic()
  if FLAGS.recipe != pretraining_config.PAPER:
    default_pretraining.take_recipe(FLAGS)
  config = pretraining_config.from_flags()
  strategy = experiment.strategy_of(config.training)
  output_dir = config.training.output_dir
  if config.data.input_file is None and not config.data.has_text_alone:
    if distribution.num_workers(strategy) > 1:
      raise ValueError("--input_file must be given with several workers.")
    output_dir = output_dir or default_pretraining.OUTPUT_DIR
  if not output_dir:
    raise ValueError(
      "--output_dir must be given with --input_file or --eval_text_file."
    )
  with experiment.holding(strategy, output_dir):
    _run(config, strategy, started)


def _run(config, strategy, started):
  """Does what the flags say in the output directory."""
  if config.data.has_text_alone:
    checkpoint_evaluation.evaluate(config)
    return
  is_default = config.data.input_file is None
  if is_default:
    default_pretraining.prepare(FLAGS)
    config = pretraining_config.from_flags()
  run = pretraining_run.PretrainingRun(config)
  data = config.data
  if data.do_train:
    run.train()
  if data.do_eval:
    run.evaluate()
  if run.experiment.is_chief:
    if data.do_train and data.do_export:
      run.export(kinds.servables)
    run.report()
    is_paper = data.recipe == pretraining_config.PAPER
    if is_default and is_paper and data.objective == "bert":
      print(default_pretraining.ADVICE)
    print(f"Finished after {time.monotonic() - started:.0f} s.")
  # A chief that fails in its last work is started again, and needs them.
  distribution.wait_for_all(strategy)
  distribution.leave(strategy)


if __name__ == "__main__":
  program.run(main)
