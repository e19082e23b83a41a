"""CamemBERT: Martin et al. 2020. RoBERTa in French."""

import dataclasses

from keras_bert_impl.families import family, roberta

FAMILY = dataclasses.replace(
  roberta.FAMILY,
  name="camembert",
  class_stem="Camembert",
  presets={
    "camembert_base": family.size(12, 768, vocab_size=32005, **roberta.SHARED),
    "camembert_large": family.size(
      24, 1024, vocab_size=32005, **roberta.SHARED
    ),
  },
  constants={"bos_token_id": 5, "eos_token_id": 6, "use_cache": True},
  keras_hub=None,
  defaults=family.BERT_DEFAULTS,
  sentencepiece_file="sentencepiece.bpe.model",
  sentencepiece_options={},
  # CamemBERT uses the <s> and </s> of the model, not fairseq's.
  piece_ids=family.PieceIds(
    ("<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED"), skipped=1
  ),
)
