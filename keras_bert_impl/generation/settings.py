"""Settings of a search: how long, how many, how likely."""

import dataclasses

from keras_bert_impl import calls, options

_LONGEST = f"[0, {options.LONGEST}]"


@calls.checked_init
@dataclasses.dataclass(frozen=True, kw_only=True)
class SearchSettings:
  """How tokens are searched for; names and meanings are those of transformers.

  Without `do_sample` and with one beam, the search is greedy.

  Raises:
    ValueError: a value is out of range or contradicts another.
  """

  max_new_tokens: int = options.common(
    64, "Most tokens to generate.", interval=options.SEQ_LENGTHS
  )
  min_new_tokens: int = options.field(
    0, "Tokens before which no text ends.", interval=_LONGEST
  )
  num_beams: int = options.common(
    1, "Beams of the search; 1: greedy, or sampled.", interval="[1, 256]"
  )
  num_return_sequences: int = options.field(
    1, "Texts to return for each prompt, the best first.", interval="[1, 256]"
  )
  length_penalty: float = options.field(
    1.0,
    "Power of the length by which the log-probability of a text is divided:"
    " above 0, longer texts are preferred.",
    interval="(-inf, inf)",
  )
  early_stopping: str = options.field(
    "false",
    "When beams end: 'true', as soon as there are num_beams texts; 'false', if"
    " others are unlikely to be better; 'never', if none can be.",
    ("false", "true", "never"),
  )
  do_sample: bool = options.common(
    False, "Whether tokens are drawn, instead of the likeliest."
  )
  temperature: float = options.common(
    1.0,
    "Divisor of the logits that are drawn from.",
    interval="(0, inf)",
  )
  top_k: int = options.common(
    0,
    "Number of the likeliest tokens to draw from; 0: all.",
    interval="[0, 10000000]",
  )
  top_p: float = options.common(
    1.0,
    "Probability of the likeliest tokens to draw from, together.",
    interval="(0, 1]",
  )
  random_seed: int = options.field(
    0, "Seed of what is drawn.", interval=options.SEEDS
  )
  no_repeat_ngram_size: int = options.field(
    0,
    "Size of n-grams that occur once in a text at most; 0: none.",
    interval="[0, 1000]",
  )
  repetition_penalty: float = options.field(
    1.0,
    "Factor that makes tokens of the text so far less likely, if above 1.",
    interval="(0, inf)",
  )

  def __post_init__(self):
    if isinstance(self.early_stopping, bool):
      word = str(self.early_stopping).lower()
      object.__setattr__(self, "early_stopping", word)
    options.check_fields(self)
    if self.min_new_tokens > self.max_new_tokens:
      raise ValueError(
        f"min_new_tokens ({self.min_new_tokens}) must be at most"
        f" max_new_tokens ({self.max_new_tokens})."
      )
    if self.do_sample and self.num_beams > 1:
      raise ValueError(
        f"num_beams ({self.num_beams}) must be 1 with do_sample: beams are"
        " searched, not drawn."
      )
    several = self.num_return_sequences
    if not self.do_sample and several > self.num_beams:
      raise ValueError(
        f"num_return_sequences ({several}) must be at most num_beams"
        f" ({self.num_beams}), or give do_sample."
      )
    for name, default in (("temperature", 1.0), ("top_k", 0), ("top_p", 1.0)):
      value = getattr(self, name)
      if value != default and not self.do_sample:
        raise ValueError(f"{name} ({value}) needs do_sample.")


@dataclasses.dataclass(frozen=True)
class TokenIds:
  """Ids with a meaning for the search.

  Attributes:
    end: tuple of int, ids after which a text is over.
    padding: int, id that fills texts up.
    first: int, `forced_bos_token_id`, with which every text begins; or None.
    last: int, `forced_eos_token_id`, the last of max_new_tokens; or None.
    banned: tuple of int, ids that are never generated.
  """

  end: tuple[int, ...] = ()
  padding: int = 0
  first: int | None = None
  last: int | None = None
  banned: tuple[int, ...] = ()
