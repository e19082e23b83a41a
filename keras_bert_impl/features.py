"""Names, dtypes and shapes of every record and batch.

One name from disk to serving: the key in a TFRecord is the key in a batch, the
name of the Keras input and the argument of a SavedModel. The names are those of
google-research/bert.

Clean record (one instance before masking; lengths vary, nothing is padded):
  input_ids             int64 [n], n <= max_seq_length: [CLS] A [SEP] B [SEP],
                        or without sentence pairs [CLS] A [SEP], with a [SEP]
                        more wherever another document begins in A.
  next_sentence_labels  int64 [1], 1 = B is random or, for sentence-order
                        prediction, A and B are swapped; absent without pairs.
  sequence_ids          int64 [n], of packed records, whose input_ids are those
                        of several texts, [CLS] A [SEP] [CLS] B [SEP] ...: 1 for
                        the tokens of the first, 2 for those of the second, ...
  target_ids            int64 [n], of records of two texts: the one that a
                        decoder writes, or that follows input_ids.

Masked record ("static" masking; byte-compatible with the original's
create_pretraining_data.py): every feature of `masked_record`, padded; and in
packed records `sequence_ids`, 0 = padding.
"""

import dataclasses

INPUT_IDS = "input_ids"
INPUT_MASK = "input_mask"
SEGMENT_IDS = "segment_ids"
SEQUENCE_IDS = "sequence_ids"
# The task that a token is read for (ERNIE).
TASK_TYPE_IDS = "task_type_ids"
POOLING_MASK = "pooling_mask"
MASKED_LM_POSITIONS = "masked_lm_positions"
MASKED_LM_IDS = "masked_lm_ids"
MASKED_LM_WEIGHTS = "masked_lm_weights"
NEXT_SENTENCE_LABELS = "next_sentence_labels"

# Inputs of models with two streams: where a token does not see another, and the
# places of the queries.
PERM_MASK = "perm_mask"
TARGET_MAPPING = "target_mapping"
# 1 for a row whose text runs backwards.
IS_REVERSED = "is_reversed"
# Hidden states of the tokens before a row.
MEMS = "mems"

# Outputs of a frozen encoder's K layers, [L, K, H], kept beside the rows of
# fine-tuning in the dtype that the encoder computes in.
HIDDEN_STATES = "hidden_states"

# XLNet's pre-training only, not on disk: int32 [L], the place of a token in the
# order in which tokens are predicted; -1 where all see it.
PERMUTATION_ORDER = "permutation_order"

# Tokens of the text that a decoder writes, on disk; and as it reads them, after
# the one that begins it.
TARGET_IDS = "target_ids"
DECODER_IDS = "decoder_ids"

ENCODER_INPUTS = (INPUT_IDS, INPUT_MASK, SEGMENT_IDS)

# Labels of fine-tuning.
LABEL_IDS = "label_ids"
# Factors of the losses of rows, float32 []; without, all count the same.
SAMPLE_WEIGHTS = "sample_weights"
# Equal for equal texts, where a loss compares the rows of a batch.
TEXT_IDS = "text_ids"
START_POSITIONS = "start_positions"

# Not on disk: int32 [P, 2], `masking.span_boundaries` of the positions.
SPAN_BOUNDARIES = "span_boundaries"


@dataclasses.dataclass(frozen=True)
class Feature:
  """dtype ("int64" or "float32" on disk) and shape of one example's feature."""

  dtype: str
  shape: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class RecordForm:
  """Which features a record of pre-training has.

  Attributes:
    is_masked: bool, masked when it was written ("static"), else clean.
    use_pairs: bool, whether it carries `next_sentence_labels`.
    is_packed: bool, whether it holds several texts, with `sequence_ids`.
    has_target: bool, whether it holds two texts, with `target_ids`.
  """

  is_masked: bool
  use_pairs: bool
  is_packed: bool = False
  has_target: bool = False


def of_text(name, index):
  """Returns the name of a feature of the text `index` of a row of several."""
  return f"{name}/{index}" if index else name


def record(form, max_seq_length, max_predictions_per_seq):
  """Returns {name: Feature} of one record; the length None varies.

  Args:
    form: RecordForm.
    max_seq_length: int, L of a masked record.
    max_predictions_per_seq: int, P of a masked record.
  """
  masked = masked_record(
    max_seq_length, max_predictions_per_seq, form.use_pairs
  )
  if form.is_packed:
    masked[SEQUENCE_IDS] = masked[INPUT_IDS]
  if form.is_masked:
    return masked
  clean = {INPUT_IDS: Feature("int64", (None,))}
  if form.use_pairs:
    clean[NEXT_SENTENCE_LABELS] = masked[NEXT_SENTENCE_LABELS]
  if form.is_packed:
    clean[SEQUENCE_IDS] = clean[INPUT_IDS]
  if form.has_target:
    clean[TARGET_IDS] = clean[INPUT_IDS]
  return clean


def masked_record(max_seq_length, max_predictions_per_seq, use_pairs=True):
  """Returns {name: Feature} of one masked record, as the original writes it.

  Args:
    max_seq_length: int, L.
    max_predictions_per_seq: int, P.
    use_pairs: bool, whether records carry `next_sentence_labels`.

  Source: google-research/bert, create_pretraining_data.py.
  """
  record = {
    INPUT_IDS: Feature("int64", (max_seq_length,)),
    INPUT_MASK: Feature("int64", (max_seq_length,)),
    SEGMENT_IDS: Feature("int64", (max_seq_length,)),
    MASKED_LM_POSITIONS: Feature("int64", (max_predictions_per_seq,)),
    MASKED_LM_IDS: Feature("int64", (max_predictions_per_seq,)),
    MASKED_LM_WEIGHTS: Feature("float32", (max_predictions_per_seq,)),
  }
  if use_pairs:
    record[NEXT_SENTENCE_LABELS] = Feature("int64", (1,))
  return record
