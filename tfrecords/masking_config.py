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
# google-research/bert's; the others are those of the objective.
_DEFAULTS = {"max_predictions_per_seq": 20, "masked_lm_prob": 0.15}


@dataclasses.dataclass(frozen=True, kw_only=True)
class MaskingConfig:
  """Configuration of masking; None leaves a field open.

  Names and meanings are those of google-research/bert where it has them.

  Raises:
    ValueError: a value is out of range or contradicts another.
  """

  max_predictions_per_seq: int | None = options.common(
    None,
    "Most masked tokens per example; default: 20.",
    interval="[1, inf)",
  )
  masked_lm_prob: float | None = options.common(
    None,
    "Share of the tokens to predict; default: 0.15.",
    interval="(0, 1]",
  )
  do_whole_word_mask: bool | None = options.common(
    None, "Whether words are masked whole: masking_policy=whole_word."
  )
  masking_policy: str | None = options.field(
    None,
    "What is masked together; default: the objective's.",
    choices.MASKING_POLICIES,
  )
  mask_token_prob: float | None = options.field(
    None,
    "Share of the predictions that become [MASK]; default: the objective's.",
    interval="[0, 1]",
  )
  random_token_prob: float | None = options.field(
    None,
    "Share that becomes a random token; default: the objective's.",
    interval="[0, 1]",
  )

  def __post_init__(self):
    options.check_fields(self)
    policy = self.masking_policy
    if self.do_whole_word_mask:
      if policy not in (None, "whole_word"):
        raise ValueError(
          f"masking_policy ({policy}) contradicts do_whole_word_mask, which"
          " stands for whole_word: give one of them."
        )
      object.__setattr__(self, "masking_policy", "whole_word")
    elif self.do_whole_word_mask is False and policy == "whole_word":
      raise ValueError(
        "masking_policy (whole_word) contradicts do_whole_word_mask=False:"
        " give one of them."
      )

  @property
  def given(self):
    """{name: value} of the fields that are given."""
    values = {name: getattr(self, name) for name in NAMES}
    return {name: v for name, v in values.items() if v is not None}

  def completed(self, objective):
    """Returns {name: value} with the defaults of an objective.

    Args:
      objective: str, one of `objectives.OBJECTIVES`.

    Returns:
      dict; `masking_policy` is None where the objective masks nothing.

    Raises:
      ValueError: the shares sum to more than 1, or something is given that the
        objective does not do.
    """
    paper = objectives.OBJECTIVES[objective]
    if paper.masking_policy is None:
      self._check_nothing_is_masked(objective)
    values = {
      **_DEFAULTS,
      "masking_policy": paper.masking_policy,
      "mask_token_prob": paper.mask_token_prob,
      "random_token_prob": paper.random_token_prob,
      **self.given,
    }
    masks, randoms = values["mask_token_prob"], values["random_token_prob"]
    if masks + randoms > 1 + 1e-6:
      raise ValueError(
        f"mask_token_prob ({masks}) and random_token_prob ({randoms}) must sum"
        " to at most 1."
      )
    return values

  def _check_nothing_is_masked(self, objective):
    for name, value in self.given.items():
      if name != "max_predictions_per_seq":  # None is not more than these.
        raise ValueError(
          f"{name} ({value}) says how tokens are masked, but objective"
          f" {objective!r} masks nothing: leave it out."
        )


def agreed(flags, objective, origins):
  """Returns the masking of a run: by flags, else records, else its objective.

  Records that are masked already decide only if all records are masked.

  Args:
    flags: `MaskingConfig`.
    objective: str, one of `objectives.OBJECTIVES`.
    origins: {file: dict}, what each of its files was written with; empty where
      that is not known.

  Returns:
    dict as of `MaskingConfig.completed`.

  Raises:
    ValueError: flags or objective contradict a file, or two files that are to
      be masked contradict each other; names both.
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
          f" {name}={value}: one run masks all its records alike."
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
  """Raises ValueError if an objective of spans or n-grams has other masks."""
  wanted = objectives.OBJECTIVES[objective].masking_policy
  found = origin.get("masking_policy")
  # Whole words or tokens: as the original, whatever was written.
  if wanted in ("ngram", "span") and found not in (None, wanted):
    raise ValueError(
      f"{file} was masked with masking_policy={found}, but --objective="
      f"{objective} wants {wanted}: write records with that objective, or give"
      f" --masking_policy={found}."
    )
