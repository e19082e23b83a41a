"""Allowed values of arguments and flags.

Standard library only: the scripts list them in --help, which answers before
Keras and TensorFlow are imported.
"""

# Encoder layers that a BiLSTM reads, and the number of layers that this needs:
# the rows of table 7 of Devlin et al. 2019.
FEATURES = {
  "embeddings": 0,
  "second_to_last": 2,
  "last": 1,
  "weighted_sum_last_four": 4,
  "concat_last_four": 4,
  "weighted_sum_all": 2,
  # The weighted sum includes the embeddings: Peters et al. 2018, equation 1.
  "weighted_sum_from_embeddings": 0,
}

# How text becomes instances for pre-training. The first two make sentence pairs
# with a label that has the name of the packing.
PAIR_PACKINGS = ("next_sentence", "sentence_order")
# Two texts of a record, of which a model reads the first.
FOLLOWING_SENTENCES = "following_sentences"
# Text without end, of which rows are cut.
DOCUMENTS = "documents"
PACKINGS = (
  *PAIR_PACKINGS,
  "full_sentences",
  "doc_sentences",
  DOCUMENTS,
  FOLLOWING_SENTENCES,
)

# Units that are masked together; see `tasks/masking/masking.py`.
MASKING_POLICIES = ("token", "whole_word", "ngram", "span", "context")

# Noise of a text that a decoder writes anew; see `tasks/masking/denoising.py`.
NOISES = ("infilling", "permuted_infilling", "span_corruption", "prefix_lm")

# How ELECTRA's generator and discriminator share embeddings.
EMBEDDING_SHARINGS = ("shared", "gdes", "none")

# Text around a tagged sentence in its row, and trained parts of a tagger; see
# `kinds/tags/token_classification.py`.
CONTEXTS = ("document", "sentence")
APPROACHES = ("fine_tuning", "features", "fine_tuning_bilstm")

# The vector of a text; what a model computes in where it is not trained; how
# the weights of a SavedModel are stored.
POOLINGS = (
  "cls",
  "mean",
  "mean_sqrt_len_tokens",
  "weightedmean",
  "lasttoken",
  "max",
  "pooler",
)
COMPUTE_DTYPES = ("float32", "bfloat16")
FLOAT32, INT8, BINARY = "float32", "int8", "binary"
WEIGHTS_DTYPES = ("float32", "bfloat16", "float16", INT8)
# What exported vectors of texts consist of.
PRECISIONS = (FLOAT32, INT8, BINARY)
# What the vectors of a corpus consist of.
CORPUS_PRECISIONS = (FLOAT32, "float16", INT8, BINARY)

# What a model is exported as, and the dtypes of weights in files for clients.
SAVED_MODEL, LITERT, ONNX = "saved_model", "litert", "onnx"
FORMATS = (SAVED_MODEL, LITERT, ONNX)
SMALL_DTYPES = ("float32", "float16", INT8)

# Whose names inputs and outputs have; see `models.transformers_names`.
GOOGLE, TRANSFORMERS = "google", "transformers"
NAMES = (GOOGLE, TRANSFORMERS)

# Kinds of SentencePiece models that can be learned.
SENTENCE_PIECE_TYPES = ("unigram", "bpe")
# Losses of reranking, see `kinds.reranking.reranking`.
RANKING_LOSSES = ("listwise", "pairwise", "pointwise")
