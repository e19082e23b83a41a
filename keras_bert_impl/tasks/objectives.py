"""The pre-training objectives by name.

Imports neither Keras nor TensorFlow: the scripts list the names and options of
all objectives in --help, and data preparation reads their choices.
"""

from keras_bert_impl.tasks.pretraining import (
  denoising,
  distillation,
  language_models,
  masked_lm,
  next_sentence_ranking,
  permutation,
  replaced_token,
  span_boundary,
  text_to_text,
)

OBJECTIVES = {
  "bert": masked_lm.BERT,
  "roberta": masked_lm.ROBERTA,
  "albert": masked_lm.ALBERT,
  "spanbert": span_boundary.SPANBERT,
  "electra": replaced_token.ELECTRA,
  "left_to_right": language_models.LEFT_TO_RIGHT,
  "right_to_left": language_models.RIGHT_TO_LEFT,
  "bidirectional_pair": language_models.BIDIRECTIONAL_PAIR,
  "elmo": language_models.ELMO,
  "xlnet": permutation.XLNET,
  "modernbert": masked_lm.MODERNBERT,
  "deberta": masked_lm.DEBERTA,
  "deberta_v3": replaced_token.DEBERTA_V3,
  "distil": distillation.DISTIL,
  "bart": denoising.BART,
  "t5": denoising.T5,
  "gpt": language_models.GPT,
  "next_sentence_words": text_to_text.NEXT_SENTENCE_WORDS,
  "next_sentence_ranking": next_sentence_ranking.NEXT_SENTENCE_RANKING,
}
