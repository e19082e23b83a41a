"""XLM-RoBERTa: Conneau et al. 2020. RoBERTa in a hundred languages."""

import dataclasses

from keras_bert_impl.families import family, roberta

FAMILY = dataclasses.replace(
  roberta.FAMILY,
  name="xlm-roberta",
  class_stem="XLMRoberta",
  presets={
    "xlm_roberta_base": family.size(
      12, 768, vocab_size=250002, **roberta.SHARED
    ),
    "xlm_roberta_large": family.size(
      24, 1024, vocab_size=250002, **roberta.SHARED
    ),
  },
  keras_hub=dataclasses.replace(
    roberta.FAMILY.keras_hub, backbone="XLMRobertaBackbone"
  ),
  defaults=family.BERT_DEFAULTS,
  sentencepiece_file="sentencepiece.bpe.model",
  sentencepiece_options={},
  # The model's own <unk>, <s> and </s> give way to fairseq's.
  piece_ids=family.PieceIds(("<s>", "<pad>", "</s>", "<unk>"), skipped=3),
)
