"""Signatures of an export under the names of `transformers`.

Clients of its SavedModels call `serving_default` with token ids.
"""

import tensorflow as tf

from keras_bert_impl import choices, options
from keras_bert_impl.models import transformers_names
from keras_bert_impl.serving import servables

TEXT = "text"
# Outputs that no model of `transformers` has.
_OWN_OUTPUTS = ("embeddings",)


def definitions(servable, names=choices.GOOGLE):
  """Returns the signatures of an export, {name: `servables.Signature`}.

  Args:
    servable: `servables.Servable`.
    names: one of `choices.NAMES`; with "transformers", `serving_default` takes
      ids and has the names of `transformers`, and `text` takes strings.

  Raises:
    ValueError: names are none of them.
  """
  options.check_choice("signature_names", names, choices.NAMES)
  ours = servable.definitions()
  if names == choices.GOOGLE:
    return ours
  on_ids = ours.get(servables.TOKEN_IDS)
  if not on_ids or {*on_ids.example} != {*transformers_names.INPUTS.values()}:
    raise ValueError(
      f"signature_names ({names!r}) must be {choices.GOOGLE!r} for this model:"
      " transformers has none like it."
    )
  return ours | {
    servables.SERVING_DEFAULT: _renamed(servable, on_ids),
    TEXT: ours[servables.SERVING_DEFAULT],
  }


def _renamed(servable, on_ids):
  """Returns a `Signature` of ids under the names of `transformers`.

  Models of one segment or none have no token_type_ids there.
  """
  config, ours = servable.config, transformers_names.INPUTS

  def answer(input_ids, attention_mask, token_type_ids):
    given = (input_ids, attention_mask, token_type_ids)
    outputs = on_ids.function(**dict(zip(ours.values(), given, strict=True)))
    outputs = {k: v for k, v in outputs.items() if k not in _OWN_OUTPUTS}
    return transformers_names.rename_outputs(outputs, config)

  def answer_one_segment(input_ids, attention_mask):
    return answer(input_ids, attention_mask, tf.zeros_like(input_ids))

  example = {theirs: on_ids.example[name] for theirs, name in ours.items()}
  if config.type_vocab_size < 2:
    del example["token_type_ids"]
  specs = {
    name: tf.TensorSpec([None] * values.ndim, tf.int32, name)
    for name, values in example.items()
  }
  has_segments = "token_type_ids" in specs
  function = answer if has_segments else answer_one_segment
  return servables.make_signature(function, specs, example)
