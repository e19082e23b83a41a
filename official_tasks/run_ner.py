r"""Fine-tunes a model to find named entities, other spans or parts of speech.

    python official_tasks/run_ner.py --data_dir=conll2003 --do_train --do_eval \
      --init_checkpoint=cased_L-12_H-768_A-12/bert_model.ckpt \
      --max_seq_length=384 --output_dir=ner_run

    ... --train_file=klue-ner-v1.1_train.tsv --dev_file=klue-ner-v1.1_dev.tsv \
      --token_unit=character                 a character a line
    ... --tag_scheme=none --tag_column=1     parts of speech of CoNLL-2003
    ... --approach=features --learning_rate=1e-3 --num_train_epochs=20
                                             a BiLSTM on a frozen encoder

Reads CoNLL-2003's columns, KLUE-NER and other files with a token a line, in
IOB1, IOB2 or BIOES (found out by itself). A row is a sentence with as much of
its document around it as --max_seq_length takes. Writes checkpoints, the
predictions of each split as conlleval reads them, results.json and report.html
into --output_dir. Use a cased model: capitals tell names.

Source: Devlin et al. 2019, section 5.3.
"""

import dataclasses

from absl import flags, logging
from etils import epy

from keras_bert_impl import choices, options
from keras_bert_impl.command_line import program
from keras_bert_impl.metrics import tagging
from keras_bert_impl.runs.labelled_data import tag_splits
from official_tasks import fine_tuning_flags

with epy.lazy_imports():
  from keras_bert_impl.tasks.basics import fine_tuning
  from keras_bert_impl.tasks.tags import (
    token_classification,
    token_classification_rows,
    token_classification_scores,
  )

FLAGS = flags.FLAGS

_FEATURES = {
  "fine_tuning": None,
  "features": "concat_last_four",
  "fine_tuning_bilstm": "last",
}


@dataclasses.dataclass(frozen=True)
class NerConfig(tag_splits.TagSplitsConfig):
  """Files and tags of the sentences, and the approach.

  Raises:
    ValueError: flags contradict each other or are out of range.
  """

  context: str = options.field(
    "document",
    "Text around a sentence in its row: as much of its document as fits, or"
    " only the sentence.",
    choices.CONTEXTS,
  )
  doc_stride: int | None = options.field(
    None,
    "Tokens from one window of a long sentence to the next; default: half a"
    " window.",
    interval=options.SEQ_LENGTHS,
  )
  approach: str = options.common(
    "fine_tuning",
    "Trained parts: encoder and linear layer, a BiLSTM on the frozen encoder,"
    " or encoder and BiLSTM.",
    choices.APPROACHES,
  )
  features: str | None = options.field(
    None,
    "Encoder layers that the BiLSTM reads; default: concat_last_four of a"
    " frozen encoder, else the last layer.",
    tuple(choices.FEATURES),
  )
  lstm_width: int = options.field(
    768, "Units of the BiLSTM per direction.", interval=options.WIDTHS
  )
  use_crf: bool = options.common(
    False,
    "Whether a CRF chooses the tags of a sentence.",
  )

  def __post_init__(self):
    super().__post_init__()
    if self.features and self.approach == "fine_tuning":
      raise ValueError(
        "--features needs --approach=features or fine_tuning_bilstm."
      )


program.define_flags(NerConfig)
fine_tuning_flags.define_flags()


def main():
  """Reads the flags and the data; the rest is `job.Job`."""
  config = program.from_flags(NerConfig)
  job = fine_tuning_flags.read_flags()
  splits = tag_splits.read(config, job.settings)
  labels, scheme = _labels_and_scheme(config, job, splits)
  parts = fine_tuning.FineTuning(
    token_classification_rows.TagPreprocessor(
      job.settings.max_seq_length,
      labels,
      config.context,
      config.doc_stride,
      config.token_unit,
      scheme,
    ),
    token_classification.TokenClassificationTask(
      job.encoder_config,
      labels,
      config.approach,
      config.features or _FEATURES[config.approach],
      config.lstm_width,
      config.use_crf,
    ),
    token_classification_scores.make_evaluator(labels, scheme),
  )
  job.run(parts, splits, dataclasses.asdict(config))


def _labels_and_scheme(config, job, splits):
  """Returns labels and scheme of the training data, or of the trained model."""
  scheme = config.tag_scheme
  if "train" in splits:
    sentences = splits["train"]
    if scheme is None:
      scheme = tagging.detect_scheme(sentence.tags for sentence in sentences)
      logging.info("The tags are %s.", scheme)
    return token_classification_rows.labels_of(sentences, scheme), scheme
  task = job.described_task()
  if task.get("labels") and task.get("tag_scheme"):
    return tuple(task["labels"]), task["tag_scheme"]
  labels = tag_splits.labels_of_checkpoint(FLAGS.init_checkpoint, scheme)
  if labels:
    return labels, scheme or tagging.scheme_of_labels(labels)
  raise ValueError(
    f"output_dir ({FLAGS.output_dir}) has no run of this script that names the"
    " labels: train with --do_train, or give the output_dir of a run."
  )


if __name__ == "__main__":
  program.run(main)
