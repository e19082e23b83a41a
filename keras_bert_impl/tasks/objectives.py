"""The pre-training objectives by name.

Imports neither Keras nor TensorFlow: the scripts list the names and options of
all objectives in --help, and data preparation reads their choices.
"""

from keras_bert_impl.tasks.pretraining import (
  bidirectional_pair,
  causal_lm,
  elmo,
  mask_decoder,
  masked_lm,
  permutation,
  replaced_token,
  span_boundary,
)

OBJECTIVES = {
  "bert": masked_lm.BERT,
  "roberta": masked_lm.ROBERTA,
  "albert": masked_lm.ALBERT,
  "spanbert": span_boundary.SPANBERT,
  "electra": replaced_token.ELECTRA,
  "left_to_right": causal_lm.LEFT_TO_RIGHT,
  "right_to_left": causal_lm.RIGHT_TO_LEFT,
  "bidirectional_pair": bidirectional_pair.BIDIRECTIONAL_PAIR,
  "elmo": elmo.ELMO,
  "xlnet": permutation.XLNET,
  "modernbert": masked_lm.MODERNBERT,
  "deberta": mask_decoder.DEBERTA,
  "deberta_v3": replaced_token.DEBERTA_V3,
}
