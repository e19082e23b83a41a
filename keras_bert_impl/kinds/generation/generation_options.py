"""Options of generation: flags of the script, settings of `fit`."""

import dataclasses

from keras_bert_impl import options
from keras_bert_impl.generation import settings

_SEARCH = settings.SearchSettings.__dataclass_fields__


def _searched(name):
  """Returns the field of a setting of the search; it is the model's later on.

  Args:
    name: str, of `settings.SearchSettings`.
  """
  entry = _SEARCH[name]
  words = " For the scores, and for the saved model."
  metadata = {**entry.metadata, "help": entry.metadata["help"] + words}
  return dataclasses.field(default=entry.default, metadata=metadata)


@dataclasses.dataclass(frozen=True, kw_only=True)
class GenerationOptions:
  """What texts are written of, how they are learned and how searched for."""

  prefix: str = options.common(
    "",
    "Text before each one, as 'summarize: '.",
  )
  max_target_length: int = options.common(
    64,
    "Most tokens of a text that is written, its end included.",
    interval=options.SEQ_LENGTHS,
  )
  label_smoothing: float = options.common(
    0.0,
    "Share of the truth that is spread evenly over the vocabulary in the loss.",
    interval="[0, 1)",
  )
  metrics: tuple[str, ...] | None = options.listed(
    None,
    "Metrics, comma-separated, the main one first, of rougeL, rouge1, rouge2,"
    " rougeLsum, exact_match, bleu and chrf; default: all but the last two,"
    " which need sacrebleu.",
    is_common=True,
  )
  num_beams: int = _searched("num_beams")
  length_penalty: float = _searched("length_penalty")
  no_repeat_ngram_size: int = _searched("no_repeat_ngram_size")

  @property
  def searched(self):
    """{field of `settings.SearchSettings`: value} of what is written."""
    return {
      "max_new_tokens": self.max_target_length,
      "num_beams": self.num_beams,
      "length_penalty": self.length_penalty,
      "no_repeat_ngram_size": self.no_repeat_ngram_size,
    }


# Those of all servables of the kind.
SERVING = (settings.SearchSettings,)
