"""ERNIE: Sun et al. 2019, 2020, 2021. BERT, perhaps with embeddings of tasks.

Source: PaddlePaddle/ERNIE, and its form in transformers.
"""

import dataclasses

from keras_bert_impl.families import bert, family

_SIZE, _IS_USED = "task_type_vocab_size", "use_task_id"
_TASKS = "task_types"  # A key that `read` makes of those two.


def read(values, origin):
  """Reads the number of tasks, 0 where they are not used; see `Family.read`."""
  del origin
  size = values.get(_SIZE, 3) if values.get(_IS_USED) else 0
  return values | {_TASKS: size}


def write(values, config):
  """Writes both keys for the number of tasks; see `Family.write`."""
  size = config.task_type_vocab_size
  kept = {key: values[key] for key in values if key != _TASKS}
  size_of_table = {_SIZE: size} if size else {}
  return {_SIZE: 3} | kept | {_IS_USED: size > 0} | size_of_table


FAMILY = dataclasses.replace(
  bert.FAMILY,
  name="ernie",
  class_stem="Ernie",
  presets={
    # Sun et al. 2021: its Chinese vocabulary.
    "ernie_3.0_base": family.size(
      12,
      768,
      vocab_size=40000,
      max_position_embeddings=2048,
      type_vocab_size=4,
      layer_norm_eps=1e-5,
      task_type_vocab_size=3,
    ),
  },
  config_keys=family.CONFIG_KEYS | {_SIZE: _TASKS},
  read=read,
  write=write,
  names=tuple(
    (ours, theirs.replace("bert/", "ernie/", 1))
    for ours, theirs in bert.FAMILY.names
  ),
  prefix="ernie",
  causal_class="ForCausalLM",
  google=None,
  keras_hub=None,
)
