"""Fills the masks of texts, from Python."""

import typing

from keras_bert_impl import heads
from keras_bert_impl.estimators import answering, typed
from keras_bert_impl.kinds.fill_mask import fill_mask_kind

if typing.TYPE_CHECKING:
  from typing_extensions import Unpack


class Filling(typing.TypedDict):
  """A token for a mask."""

  token: str
  score: float


class FillMask(answering.Answering[str, list[list[Filling]]]):
  """Fills the masks of texts with the likeliest tokens.

      fill_mask = kb.FillMask.from_checkpoint("klue/bert-base")
      fill_mask.predict(["대한민국의 수도는 [MASK]이다."])
      # [[[{"token": "서울", "score": 0.9}, ...]]]

  The answer to a text is a list with an entry for each mask: a list of `top_k`
  tokens, the likeliest first. The mask is the vocabulary's, [MASK] or <mask>.

  Args:
    checkpoint: str, as of `from_checkpoint`.
    top_k: int, tokens for each mask.
    max_seq_length: int, maximum tokens of a text; default: the model's.
    **files: fields of `model_files.ModelFilesConfig`.
  """

  kind = fill_mask_kind.KIND
  head = heads.FILL_MASK

  def __init__(
    self,
    checkpoint: typed.Path,
    top_k: int = 5,
    max_seq_length: int | None = None,
    **files: "Unpack[typed.FileNames]",
  ) -> None:
    super().__init__(checkpoint, max_seq_length, **files)
    self._top_k = top_k

  def _servable_options(self, questions):
    del questions
    return {"top_k": self._top_k}

  def _answer(self, row):
    return [
      [
        {"token": token.decode(), "score": float(score)}
        for token, score in zip(tokens, scores, strict=True)
      ]
      for tokens, scores in zip(
        row["tokens"][: row["num_masks"]], row["scores"], strict=False
      )
    ]
