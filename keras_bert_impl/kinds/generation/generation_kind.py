"""Generation of text: the kind, whole."""

from keras_bert_impl import heads
from keras_bert_impl.kinds.generation import generation_servable
from keras_bert_impl.runs.fine_tuning import kind

KIND = kind.Kind(
  "generation",
  tasks={},
  servables={heads.GENERATION: generation_servable.GenerationServable},
  pipeline="text-generation",
)
