r"""Compiles a training step for TPU chips on a machine that has none.

    python official_tasks/check_tpu.py --bert_config_file=bert_config.json \
      --train_batch_size=128 --topology=v5e:2x2

takes the flags of run_pretraining.py, reads no records, and prints what the
step needs on each chip. If it does not fit, or contains ops that cannot run
there, the exit status is 1 and the script prints what would fit. It needs the
extra `tpu-check`.
"""

import dataclasses

from etils import epy

from keras_bert_impl import options
from keras_bert_impl.command_line import program
from keras_bert_impl.runs.pretraining import pretraining_config

with epy.lazy_imports():
  from keras_bert_impl.runs.pretraining import tpu_check, tpu_compiler


@dataclasses.dataclass(frozen=True)
class CheckConfig:
  """The topology to compile for, and what the records would tell."""

  topology: str = options.common(
    "v5e:2x2", "Chips to compile for, such as v5e:2x2 or v4:2x2x1."
  )
  pack_sequences: bool = options.common(
    False, "Whether the records have several texts in a row."
  )


pretraining_config.define_flags()
program.define_flags(CheckConfig)


def main():
  """Compiles the step, or finds what would fit; returns the exit status."""
  config = pretraining_config.from_flags()
  if not config.data.bert_config_file:
    raise ValueError("--bert_config_file must be given.")
  flags = program.from_flags(CheckConfig)
  topology = tpu_compiler.Topology(flags.topology)
  check = tpu_check.Check(config, topology, flags.pack_sequences)
  training = config.training
  try:
    print(check.table(training))
    return None
  except tpu_compiler.OutOfMemoryError as error:
    print(f"The step {error}\n", flush=True)
    print(check.advice(training, error))
    return program.EXIT_USER_ERROR


if __name__ == "__main__":
  program.run(main)
