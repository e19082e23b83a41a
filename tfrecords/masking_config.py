"""Configuration of masking, given when records are written or read."""

import dataclasses

from keras_bert_impl import choices, options
from keras_bert_impl.tasks import objectives

# The fields of masking; do_whole_word_mask is another name of a policy.
NAMES = (
  "max_predictions_per_seq",
  "masked_lm_prob",
  "masking_policy",
  "mask_token_prob",
  "random_token_prob",
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class MaskingConfig:
  """Masking of tokens; None means the default of the objective.

  Names and meanings are those of google-research/bert where it has them.

  Raises:
    ValueError: a value is out of range or contradicts another.
  """

  max_predictions_per_seq: int | None = options.common(
    None,
    "Maximum masked tokens per example; default: the objective's, mostly 20.",
    interval=options.SEQ_LENGTHS,
  )
  masked_lm_prob: float | None = options.common(
    None,
    "Share of the tokens to predict; default: the objective's.",
    interval="(0, 1]",
  )
  do_whole_word_mask: bool | None = options.common(
    None, "Whether to mask whole words; same as masking_policy=whole_word."
  )
  masking_policy: str | None = options.field(
    None,
    "Unit of masking or, of objectives with a decoder, the noise (bart: ones of"
    " infilling; t5: the others); default: the objective's.",
    (*choices.MASKING_POLICIES, *choices.NOISES),
  )
  mask_token_prob: float | None = options.field(
    None,
    "Share of the masked tokens replaced by [MASK]; default: the objective's.",
    interval="[0, 1]",
  )
  random_token_prob: float | None = options.field(
    None,
    "Share replaced by a random token; default: the objective's.",
    interval="[0, 1]",
  )

  def __post_init__(self):
    options.check_fields(self)
    policy = self.masking_policy
    if self.do_whole_word_mask:
      if policy not in (None, "whole_word"):
        raise ValueError(
          f"masking_policy ({policy}) contradicts do_whole_word_mask, which"
          " means whole_word: give one of them."
        )
      object.__setattr__(self, "masking_policy", "whole_word")
    elif self.do_whole_word_mask is False and policy == "whole_word":
      raise ValueError(
        "masking_policy (whole_word) contradicts do_whole_word_mask=False:"
        " give one of them."
      )

  @property
  def given(self):
    """{name: value} of the fields that are not None."""
    values = {name: getattr(self, name) for name in NAMES}
    return {name: v for name, v in values.items() if v is not None}

  def completed(self, objective):
    """Returns {name: value} of all fields, with an objective's defaults.

    Args:
      objective: str, one of `objectives.OBJECTIVES`.

    Returns:
      dict; `masking_policy` is None where the objective masks nothing.

    Raises:
      ValueError: the shares sum to more than 1, or masking is given for an
        objective that masks nothing.
    """
    paper = objectives.OBJECTIVES[objective]
    for name, value in self.given.items():
      is_limit = name == "max_predictions_per_seq"  # Which 0 masks meet.
      if paper.masking_policy is None and not is_limit:
        raise ValueError(
          f"{name} ({value}) must be left out: objective {objective!r} masks"
          " nothing."
        )
    values = {name: getattr(paper, name) for name in NAMES} | self.given
    masks, randoms = values["mask_token_prob"], values["random_token_prob"]
    if masks + randoms > 1 + 1e-6:
      raise ValueError(
        f"mask_token_prob ({masks}) and random_token_prob ({randoms}) must sum"
        " to at most 1."
      )
    return values


def agreed(flags, objective, origins):
  """Returns the masking of a run from its flags, records and objective.

  A flag comes first, then the value that the records were written with, then
  the objective's default. Masked records count only if all are masked.

  Args:
    flags: `MaskingConfig`.
    objective: str, one of `objectives.OBJECTIVES`.
    origins: {file: dict}, options that each file was written with; {} if
      unknown.

  Returns:
    dict, as `MaskingConfig.completed` returns it.

  Raises:
    ValueError: flags or objective contradict a file, or two unmasked files
      contradict each other; the message names both.
  """
  if objectives.OBJECTIVES[objective].masking_policy is None:
    return flags.completed(objective)
  for file, origin in origins.items():
    _check_flags(flags, file, origin)
    if _is_masked(origin) and flags.masking_policy is None:
      _check_objective(objective, file, origin)
  unmasked = {f: o for f, o in origins.items() if not _is_masked(o)}
  stated = {}
  for file, origin in (unmasked or origins).items():
    for name in (n for n in NAMES if n in origin):
      value, other = stated.setdefault(name, (origin[name], file))
      if unmasked and value != origin[name]:
        raise ValueError(
          f"{file} was written with {name}={origin[name]}, but {other} with"
          f" {name}={value}: give files with the same {name}."
        )
  values = {name: value for name, (value, _) in stated.items()}
  return dataclasses.replace(flags, **values).completed(objective)


def _is_masked(origin):
  return origin.get("masking") == "static"


def _check_flags(flags, file, origin):
  """Raises ValueError if flags contradict the origin of a file."""
  given = flags.given
  theirs = {name: origin[name] for name in NAMES if name in origin}
  if flags.do_whole_word_mask is False:
    given["do_whole_word_mask"] = False
    theirs["do_whole_word_mask"] = origin.get("masking_policy") == "whole_word"
  for name, value in given.items():
    if theirs.get(name, value) != value:
      raise ValueError(
        f"--{name}={value} contradicts {name}={theirs[name]}, which {file} was"
        " written with: leave the flag out, or write records with its value."
      )


def _check_objective(objective, file, origin):
  """Raises ValueError if spans or n-grams are needed, but others masked."""
  wanted = objectives.OBJECTIVES[objective].masking_policy
  found = origin.get("masking_policy")
  # Tokens and whole words are interchangeable, as in google-research/bert.
  is_own = wanted in ("ngram", "span", *choices.NOISES)
  if (is_own or found in choices.NOISES) and found not in (None, wanted):
    raise ValueError(
      f"{file} was masked with masking_policy={found}, but --objective="
      f"{objective} needs {wanted}: write records with that objective, or give"
      f" --masking_policy={found}."
    )
