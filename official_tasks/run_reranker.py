r"""Trains a reranker: it reads a query with a document and scores the pair.

    python official_tasks/run_reranker.py --do_train --do_eval \
      --train_file=train-v1.1.json --dev_file=dev-v1.1.json --mine=encoder \
      --init_checkpoint=uncased_L-12_H-768_A-12 --output_dir=reranker

    ... --train_file=triplets.tsv    a query, its positive and its negatives

Files are those of run_embeddings.py. --mine names an encoder, the folder of
sentence-transformers or the sentence_encoder/ of run_embeddings.py: it finds
hard negatives for the queries to train on, and the documents to be put in order
for those of --dev_file, whose order is the baseline. The model is a classifier
of pairs with one score: CrossEncoder of sentence-transformers, kb.Reranker and
export_saved_model.py open it.
"""

from etils import epy

from keras_bert_impl.command_line import program
from keras_bert_impl.kinds.reranking import reranking_options
from keras_bert_impl.runs.fine_tuning import script

with epy.lazy_imports():
  from keras_bert_impl.kinds.reranking import reranking_kind

script.define_flags(reranking_options.RerankerConfig)


def main():
  """Fine-tunes on the data that the flags name."""
  script.run(
    reranking_kind.KIND, program.from_flags(reranking_options.RerankerConfig)
  )


if __name__ == "__main__":
  program.run(main)
