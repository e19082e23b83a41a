r"""Trains an encoder of texts: vectors are near where texts belong together.

    python official_tasks/run_embeddings.py --do_train --do_eval \
      --train_file=pairs.tsv --dev_fraction=0.1 \
      --init_checkpoint=all-MiniLM-L6-v2 --output_dir=vectors

    ... --train_file=sts-train.tsv --text_columns=sentence1,sentence2 \
      --label_column=score --loss=cosent     pairs with scores
    ... --train_file=train-v1.1.json --dev_file=dev-v1.1.json
    ... --train_file=lines.txt --columns=text   SimCSE: each text with itself
    ... --vectors=sparse (SPLADE) or late (ColBERT)
    ... --train_batch_size=1024 --chunk_size=32  large batches, little memory

A file is a table with a column for each text (the anchor, its positive, any
negatives), or has the labels of NLI, of which triplets are made; SQuAD's JSON;
or a folder of BEIR. Scores of --dev_file are those of retrieval or, of pairs
with scores, their rank correlation with the similarities. Writes checkpoints,
results.json, report.html, and a folder of sentence-transformers or PyLate.
"""

from etils import epy

from keras_bert_impl.command_line import program
from keras_bert_impl.kinds.embeddings import embedding_splits
from keras_bert_impl.runs.fine_tuning import script

with epy.lazy_imports():
  from keras_bert_impl.kinds.embeddings.encoders import encoder_kind

script.define_flags(embedding_splits.EmbeddingConfig)


def main():
  """Fine-tunes on the data that the flags name."""
  script.run(
    encoder_kind.KIND, program.from_flags(embedding_splits.EmbeddingConfig)
  )


if __name__ == "__main__":
  program.run(main)
