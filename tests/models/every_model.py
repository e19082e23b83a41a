"""One small model of every kind, and inputs for it."""

import dataclasses

import keras
import numpy as np

from keras_bert_impl import models
from tests import architectures

CONFIG = architectures.small(vocab_size=30, num_hidden_layers=1)
DEEP = dataclasses.replace(CONFIG, num_hidden_layers=2)
ALBERT = dataclasses.replace(
  DEEP, embedding_size=8, num_hidden_groups=1, hidden_act="gelu_new"
)
ROBERTA = dataclasses.replace(CONFIG, position_offset=2, type_vocab_size=1)
MPNET = dataclasses.replace(
  ROBERTA, type_vocab_size=0, relative_attention_num_buckets=8
)
ELECTRA = dataclasses.replace(CONFIG, embedding_size=8)
XLNET = dataclasses.replace(
  DEEP, position_embedding_type="transformer_xl", type_vocab_size=4
)
DEBERTA = dataclasses.replace(
  DEEP,
  **architectures.DEBERTA | {"type_vocab_size": 2},
  norm_rel_ebd="layer_norm",
  conv_kernel_size=3,
)
MODERNBERT = dataclasses.replace(
  DEEP,
  **architectures.MODERNBERT | {"attention_window": 2},
  classifier_pooling="mean",
  decoder_bias=False,
)
EUROBERT = dataclasses.replace(DEEP, **architectures.EUROBERT)
UMT5 = dataclasses.replace(DEEP, **architectures.UMT5)
TABLES = dataclasses.replace(CONFIG, **architectures.TABLES)
STRETCHED = dataclasses.replace(
  CONFIG,
  position_embedding_type="rotary",
  rotary_factor=2.0,
  rotary_scaling="dynamic",
  max_position_embeddings=5,
)
PAIR = dataclasses.replace(CONFIG, **architectures.PAIR)
ELMO = dataclasses.replace(CONFIG, **architectures.ELMO)


def electra(config, share=0.5, depth=1.0, **options):
  """Returns the model of pre-training of generator and discriminator."""
  generator = models.electra_generator_config(config, share, depth)
  return models.ElectraPretrainingModel(config, generator, **options)


MODELS = {
  "encoder": lambda **dtype: models.TransformerEncoder(DEEP, **dtype),
  "shared_layers": lambda: models.TransformerEncoder(ALBERT),
  "bert": lambda: models.PretrainingModel(CONFIG),
  "no_sentences": lambda: models.PretrainingModel(CONFIG, False),
  "multi_task": lambda: models.MultiTaskClassifier(
    CONFIG, {"a": 2, "b": 1, "t": 3}, ["t"]
  ),
  "roberta": lambda: models.MaskedLanguageModel(ROBERTA),
  "albert": lambda: models.MaskedLanguageModel(ALBERT, True),
  "spanbert": lambda: models.SpanBoundaryModel(CONFIG, use_sequence_ids=True),
  "electra": lambda: electra(ELECTRA, use_sequence_ids=True),
  # Attention in blocks.
  "packed_long": lambda: models.PretrainingModel(
    dataclasses.replace(MPNET, max_position_embeddings=1100),
    use_sentence_head=False,
    use_sequence_ids=True,
  ),
  "xlnet": lambda: models.PermutationLanguageModel(XLNET, use_mems=True),
  "xlnet_mixed": lambda: models.PermutationLanguageModel(
    XLNET, dtype="mixed_bfloat16", use_mems=True
  ),
  "deberta": lambda: models.MaskedLanguageModel(DEBERTA),
  "deberta_decoder": lambda: models.MaskedLanguageModel(
    dataclasses.replace(DEBERTA, conv_kernel_size=0), use_mask_decoder=True
  ),
  "deberta_v3": lambda: electra(DEBERTA, 1, 0.5, embedding_sharing="gdes"),
  "modernbert": lambda: models.MaskedLanguageModel(MODERNBERT),
  "modernbert_choice": lambda: models.MultipleChoice(MODERNBERT),
  "eurobert": lambda: models.MaskedLanguageModel(EUROBERT),
  "eurobert_classifier": lambda: models.SequenceClassifier(EUROBERT, 3),
  "umt5": lambda: models.SequenceClassifier(UMT5, 3),
  "tables": lambda: models.MaskedLanguageModel(TABLES),
  "tables_classifier": lambda: models.SequenceClassifier(TABLES, 3),
  "stretched": lambda: models.TransformerEncoder(STRETCHED),
  "pair": lambda: models.BidirectionalLanguageModel(PAIR),
  "pair_tagger": lambda: models.FeatureTagger(
    PAIR, 3, "last", is_frozen=False, lstm_width=4
  ),
  "elmo": lambda: models.ElmoLanguageModel(ELMO),
  "elmo_tagger": lambda: models.FeatureTagger(
    ELMO, 3, "weighted_sum_from_embeddings", lstm_width=4
  ),
  "classifier": lambda: models.SequenceClassifier(CONFIG, 3),
  "classifier_bilstm": lambda: models.SequenceClassifier(
    CONFIG, 3, bilstm_width=4
  ),
  "token_classifier": lambda: models.TokenClassifier(CONFIG, 3, use_crf=True),
  "question_answering": lambda: models.QuestionAnswering(CONFIG),
  "question_bilstm": lambda: models.QuestionAnswering(CONFIG, bilstm_width=4),
  "choice": lambda: models.MultipleChoice(CONFIG),
  "replaced_tokens": lambda: models.ReplacedTokenDetector(ELECTRA),
  "tagger": lambda: models.FeatureTagger(
    DEEP, 3, "weighted_sum_all", lstm_width=4, use_crf=True
  ),
  "embeddings": lambda: models.EmbeddingModel(
    models.TransformerEncoder(CONFIG),
    ("cls", "mean", "weightedmean", "lasttoken", "max"),
    [keras.layers.Dense(4), keras.layers.UnitNormalization()],
    include_prompt=False,
  ),
  "multi_vector_embeddings": lambda: models.MultiVectorEmbeddingModel(
    CONFIG, embedding_size=5
  ),
  "sparse_embeddings": lambda: models.SparseEmbeddingModel(CONFIG),
}
# Outputs that are drawn anew in every call.
DRAWN = ("replaced_token_logits", "is_replaced")


def make_inputs(model):
  """Returns random inputs of `model`: B = 2, four choices, L = 8, P = 3."""
  rng = np.random.default_rng(0)
  shapes = {1: (2,), 2: (2, 8), 3: (2, 4, 8)}
  inputs = {}
  for tensor in model.inputs:
    if tensor.name in ("perm_mask", "target_mapping", "mems"):
      continue
    is_prediction = tensor.name.startswith("masked_lm")
    shape = (2, 3) if is_prediction else shapes[len(tensor.shape)]
    inputs[tensor.name] = rng.integers(0, 2, shape).astype("int32")
  inputs["input_ids"] += rng.integers(0, 28, inputs["input_ids"].shape)
  inputs["input_mask"][:] = np.arange(8) < 6
  if "sequence_ids" in inputs:
    inputs["sequence_ids"][0] = [1, 1, 2, 2, 2, 3, 0, 0]
    inputs["sequence_ids"][1] = [1, 2, 2, 2, 2, 2, 0, 0]
  if "masked_lm_positions" in inputs:
    inputs["masked_lm_positions"][:] = [[1, 3, 5], [2, 4, 0]]
  if "target_mapping" in model.input:
    inputs["perm_mask"] = np.triu(np.ones((2, 8, 8), "float32"))
    inputs["target_mapping"] = np.eye(8, dtype="float32")[[[1, 3], [2, 4]]]
    inputs["mems"] = rng.normal(size=(2, 2, 3, 16)).astype("float32")
  if "masked_lm_weights" in inputs:
    inputs["masked_lm_weights"] = np.ones((2, 3), "float32")
  if "span_boundaries" in inputs:
    inputs["span_boundaries"] = np.array(
      [[[0, 2], [2, 4], [4, 6]], [[1, 3], [3, 5], [0, 0]]], "int32"
    )
  return inputs


def outputs_of(model):
  """Returns {name: array} of what is not drawn anew in every call."""
  outputs = model(make_inputs(model))
  return {
    name: keras.ops.convert_to_numpy(x)
    for name, x in outputs.items()
    if name not in DRAWN
  }
