"""From the flags of run_pretraining.py to the task of its objective."""

from keras_bert_impl.tasks import (
  left_to_right,
  masked_lm,
  replaced_token,
  span_boundary,
)
from keras_bert_impl.tasks import masking as masking_lib

# Objectives that classify sentence pairs, and what they call it: the name of
# the loss and of the packing that makes such pairs.
_SENTENCE_LOSSES = {"bert": "next_sentence", "albert": "sentence_order"}


def make(
  data, masking, encoder_config, vocabulary, records, eval_records, origins
):
  """Returns the `PretrainingTask` of an objective.

  Args:
    data: the script's `DataConfig`.
    masking: {name: value}, see `masking_config.agreed`.
    encoder_config: `EncoderConfig`.
    vocabulary: `Vocabulary`, or None.
    records: `reader.Records` to train on.
    eval_records: `reader.Records` to evaluate on.
    origins: {file: dict}, what its files were written with.

  Raises:
    ValueError: objective, model, records and vocabulary do not fit together.
  """
  if data.objective == "left_to_right":
    _check_not_masked(data, records)
    return left_to_right.LeftToRightTask(
      encoder_config,
      data.max_seq_length,
      vocabulary.pad_id if vocabulary else 0,
    )
  clean = [r for r in (records, eval_records) if not r.form.is_masked]
  mask = None
  if clean:
    mask = _make_masking(data, masking, vocabulary, clean[0].files)
  if data.objective == "spanbert":
    return span_boundary.SpanBoundaryTask(encoder_config, mask)
  if data.objective == "electra":
    return replaced_token.ReplacedTokenTask(
      encoder_config, mask, data.generator_size, data.detection_weight
    )
  return masked_lm.MaskedLanguageModelTask(
    encoder_config, mask, _sentence_loss(data, records, origins)
  )


def _make_masking(data, masking, vocabulary, files):
  if vocabulary is None:
    raise ValueError(
      f"--vocab_file must be given: the records of {files[0]} are not masked"
      f" yet, and there is no vocabulary beside {data.bert_config_file}."
    )
  return masking_lib.Masking(vocabulary, data.max_seq_length, **masking)


def _sentence_loss(data, records, origins):
  """Returns the name of the loss of sentence pairs, or None without one."""
  if data.objective == "albert" and not records.form.use_pairs:
    raise ValueError(
      f"the records of {data.input_file} are no sentence pairs, which"
      " --objective=albert needs: write them with --objective=albert too."
    )
  if not records.form.use_pairs or data.objective not in _SENTENCE_LOSSES:
    return None
  loss = _SENTENCE_LOSSES[data.objective]
  for file in records.files:
    packing = origins[file].get("packing")
    if packing not in (None, loss):
      raise ValueError(
        f"{file} holds pairs of packing={packing}, but --objective="
        f"{data.objective} learns {loss}: write records with that objective."
      )
  return loss


def _check_not_masked(data, records):
  if records.form.is_masked:
    raise ValueError(
      f"the records of {data.input_file} are masked already, which"
      " --objective=left_to_right cannot read: write them with"
      " --objective=left_to_right too."
    )
