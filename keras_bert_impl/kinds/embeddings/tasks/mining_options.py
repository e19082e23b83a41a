"""Options of hard negatives that an encoder finds."""

import dataclasses

from keras_bert_impl import options


@dataclasses.dataclass(frozen=True, kw_only=True)
class MiningOptions:
  """Options of the negatives that an encoder finds.

  Raises:
    ValueError: one is out of range.
  """

  num_negatives: int = options.common(
    7, "Negatives of each query, with --mine.", interval="[1, 1000]"
  )
  first_mined_rank: int = options.field(
    1, "First rank from which negatives are taken.", interval="[1, 1000000]"
  )
  last_mined_rank: int = options.field(
    50, "Last rank from which negatives are taken.", interval="[1, 1000000]"
  )
  mining_margin: float = options.field(
    0.05,
    "How far the similarity of a negative must be below that of the positive:"
    " what is nearer may be relevant, too.",
    interval="[-1000, 1000]",
  )
  mining_share: float | None = options.field(
    None,
    "Largest share of the similarity of the positive that a negative may have,"
    " such as 0.95. Default: any.",
    interval="[0, 10]",
  )

  def __post_init__(self):
    options.check_fields(self)
