r"""Converts a checkpoint from any known format into another.

    python official_tasks/convert_checkpoint.py \
      --input=uncased_L-12_H-768_A-12 --output=bert-base --format=safetensors

Reads safetensors as `transformers` writes them, TensorFlow checkpoints of
Google's BERT, ALBERT and ELECTRA and of runs of ours, and .keras files, with
their heads. Writes a new folder: weights, configuration, the files of the
tokenizer, what a run says of its task (task.json), and results.json, which
reports on each tensor.
"""

from etils import epy

from keras_bert_impl.command_line import program
from keras_bert_impl.model_folders import conversion

with epy.lazy_imports():
  from keras_bert_impl.kinds import head_importance

program.define_flags(conversion.ConversionConfig)


def main():
  """Converts as the flags say."""
  config = program.from_flags(conversion.ConversionConfig)
  results = conversion.convert(config, _measure_heads)
  conversion.print_summary(config, results)


def _measure_heads(config):
  """Returns how much each head of the input matters, float [layers, N]."""
  return head_importance.measure(
    config.input,
    config.num_heads,
    config.head_data,
    program.split_names(config.head_columns),
  )


if __name__ == "__main__":
  program.run(main)
