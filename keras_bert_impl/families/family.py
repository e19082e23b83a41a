"""What may differ between families of models, as data.

Standard library only: `configs` reads it, and with it every script.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Framing:
  """How one text or a pair of texts becomes a sequence.

  [CLS] A [SEP] or [CLS] A [SEP] B [SEP], whatever the tokens are called.

  Attributes:
    separators: int, how many [SEP] stand between the texts of a pair.
    segments: bool, whether the segment ids of B and the [SEP] after it are 1;
      otherwise all are 0.
  """

  separators: int = 1
  segments: bool = True


@dataclasses.dataclass(frozen=True, kw_only=True)
class Family:
  """A family of models.

  Attributes:
    name: str, the `model_type` in a config.json.
    class_stem: str, what the classes in `transformers` begin with, such as
      "Bert" in "BertTokenizer".
    framing: `Framing`.
  """

  name: str
  class_stem: str
  framing: Framing = Framing()
