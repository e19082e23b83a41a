r"""Fine-tunes a model to find named entities, or any other tagged spans.

    python official_tasks/run_ner.py --data_dir=conll2003 --do_train --do_eval \
      --init_checkpoint=cased_L-12_H-768_A-12/bert_model.ckpt \
      --max_seq_length=384 --output_dir=ner_run

    ... --train_file=klue-ner-v1.1_train.tsv --dev_file=klue-ner-v1.1_dev.tsv \
      --token_unit=character                 a character a line
    ... --approach=features --learning_rate=1e-3 --num_train_epochs=20
                                             a BiLSTM on a frozen encoder

Reads CoNLL-2003's columns, KLUE-NER and other files with a token a line, in
IOB1, IOB2 or BIOES (found out by itself). A row is a sentence with as much of
its document around it as --max_seq_length takes. Writes checkpoints, the
predictions of each split as conlleval reads them, and results.json into
--output_dir. Use a cased model: capitals tell names.

Source: Devlin et al. 2019, section 5.3.
"""

import dataclasses
import os

from absl import flags, logging
from etils import epy

from keras_bert_impl import choices, files, heads, options
from keras_bert_impl.checkpoints import reading
from keras_bert_impl.metrics import tagging
from keras_bert_impl.tokenizers import token_pieces
from official_tasks.command_line import common
from official_tasks.fine_tuning import script
from official_tasks.fine_tuning import splits as labelled_splits

with epy.lazy_imports():
  from keras_bert_impl.tasks import (
    fine_tuning,
    token_classification,
    token_classification_rows,
    token_classification_scores,
  )
  from tfrecords.labelled import tag_files

FLAGS = flags.FLAGS

# In --data_dir; the first of them that is there.
_FILES = {
  "train": ("train.txt", "eng.train"),
  "dev": ("dev.txt", "valid.txt", "eng.testa"),
  "test": ("test.txt", "eng.testb"),
}
_FEATURES = {
  "fine_tuning": None,
  "features": "concat_last_four",
  "fine_tuning_bilstm": "last",
}


@dataclasses.dataclass(frozen=True)
class NerConfig:
  """Where the sentences are, and how they are tagged.

  Raises:
    ValueError: flags contradict each other or are out of range.
  """

  data_dir: str | None = options.common(
    None,
    "Folder with train.txt, dev.txt and test.txt, or the names of CoNLL-2003"
    " (eng.train, eng.testa, eng.testb).",
  )
  train_file: str | None = options.common(None, "File to train on.")
  dev_file: str | None = options.common(None, "File to evaluate on.")
  test_file: str | None = options.common(
    None, "File to predict; it may have no tags."
  )
  dev_fraction: float = options.common(
    0.0,
    "Share of the documents (sentences, where there are none) of train_file"
    " that is held out to evaluate on; the same ones every time.",
  )
  token_unit: str = options.common(
    token_pieces.WORD,
    "What a line of a file has: a word and columns, or a character (which may"
    " be a blank), a tab and a tag, as in KLUE-NER.",
    token_pieces.UNITS,
  )
  tag_column: int = options.field(
    -1, "Column of the tag: 0 is the token, -1 the last one."
  )
  context: str = options.field(
    "document",
    "What is around a sentence in its row: as much of its document as there is"
    " room for, or nothing.",
    choices.CONTEXTS,
  )
  doc_stride: int | None = options.field(
    None,
    "Tokens from one window of a sentence that is too long to the next;"
    " default: half a window.",
  )
  approach: str = options.common(
    "fine_tuning",
    "What is trained: the encoder and a linear layer, a BiLSTM on features of"
    " the frozen encoder, or encoder and BiLSTM.",
    choices.APPROACHES,
  )
  features: str | None = options.field(
    None,
    "What the BiLSTM reads; default: concat_last_four of a frozen encoder, else"
    " the last layer.",
    tuple(choices.FEATURES),
  )
  lstm_width: int = options.field(
    768, "Size of the BiLSTM's state in each direction."
  )

  def __post_init__(self):
    if self.features and self.approach == "fine_tuning":
      raise ValueError("--features is for --approach=features.")
    if self.dev_fraction and self.dev_file:
      raise ValueError("--dev_fraction is without --dev_file.")
    if not 0 <= self.dev_fraction < 1:
      raise ValueError(f"dev_fraction ({self.dev_fraction}) must be in [0, 1).")
    for name in ("doc_stride", "lstm_width"):
      value = getattr(self, name)
      if value is not None and value < 1:
        raise ValueError(f"{name} ({value}) must be positive.")

  def path(self, split):
    """Returns the file of a split, or None."""
    named = getattr(self, f"{split}_file")
    if named or not self.data_dir:
      return named
    paths = [os.path.join(self.data_dir, name) for name in _FILES[split]]
    return next(filter(files.exists, paths), None)


common.define_flags(NerConfig)
script.define_flags()


def main():
  """Reads the flags and the data; the rest is `script.Frame`."""
  config = common.from_flags(NerConfig)
  frame = script.Frame()
  splits = _read_splits(config, frame.settings)
  labels, scheme = _labels_and_scheme(frame, splits)
  parts = fine_tuning.FineTuning(
    token_classification_rows.TagPreprocessor(
      frame.settings.max_seq_length,
      labels,
      config.context,
      config.doc_stride,
      config.token_unit,
    ),
    token_classification.TokenClassificationTask(
      frame.encoder_config,
      labels,
      config.approach,
      config.features or _FEATURES[config.approach],
      config.lstm_width,
    ),
    token_classification_scores.TagEvaluator(labels, scheme),
  )
  frame.run(parts, splits, config)


def _read_splits(config, settings):
  """Returns {split: list of `TaggedSentence`}, those that are needed."""
  splits = labelled_splits.read_needed(
    settings,
    config.dev_fraction,
    lambda split, flag: {split: _read(config, split, flag)},
    tag_files.split_off,
  )
  for split, sentences in splits.items():
    if split != "test" and sentences[0].tags is None:
      raise ValueError(f"{sentences[0].origin}: the rows have no tags.")
  return splits


def _read(config, split, flag):
  path = config.path(split)
  if path is None:
    *others, last = _FILES[split]
    names_there = f"{', '.join(others)} or {last}"
    remedy = f"give --{split}_file, or --data_dir with {names_there}"
    if split == "dev":
      remedy += ", or --dev_fraction to hold out some of the training sentences"
    raise ValueError(f"{flag}: {remedy}.")
  sentences = tag_files.read(path, config.token_unit, config.tag_column)
  num_documents = len({sentence.document for sentence in sentences})
  logging.info(
    "%s: %d sentences, %d tokens, %d documents in %s.",
    split,
    len(sentences),
    sum(len(sentence.tokens) for sentence in sentences),
    num_documents if sentences[-1].document else len(sentences),
    path,
  )
  return sentences


def _labels_and_scheme(frame, splits):
  """Returns labels and scheme of the training data, or of what was trained."""
  if "train" in splits:
    sentences = splits["train"]
    scheme = tagging.detect_scheme(sentence.tags for sentence in sentences)
    logging.info("The tags are %s.", scheme)
    return token_classification_rows.labels_of(sentences), scheme
  task = frame.described_task()
  if task.get("labels") and task.get("scheme"):
    return tuple(task["labels"]), task["scheme"]
  labels = _labels_of_checkpoint()
  if labels:
    return labels, tagging.scheme_of_labels(labels)
  raise ValueError(
    f"Nothing says what the labels are: {FLAGS.output_dir} holds no run of this"
    " script; train with --do_train."
  )


def _labels_of_checkpoint():
  """Returns the classes of a tagger of other programs, or None."""
  path = FLAGS.init_checkpoint
  described = path and reading.open_checkpoint(path).description
  if not described or described.head != heads.TOKEN_CLASSIFICATION:
    return None
  for label in described.labels or ():
    fault = tagging.find_fault(label)
    if fault:
      raise ValueError(f"{path}: {fault}, and it is a class of its head.")
  return described.labels


if __name__ == "__main__":
  common.run(main)
