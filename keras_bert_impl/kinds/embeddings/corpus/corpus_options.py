"""Options of the vectors of a corpus: flags of the script, settings here."""

import dataclasses

from keras_bert_impl import choices, options
from tfrecords.writing import writing_config

NPY, SAFETENSORS, IMPACTS = FORMATS = ("npy", "safetensors", "impacts")


@dataclasses.dataclass(frozen=True, kw_only=True)
class CorpusOptions(writing_config.BeamConfig):
  """Options of the vectors of a corpus, and of the work.

  Raises:
    ValueError: one is out of range or contradicts another.
  """

  precision: str = options.common(
    choices.FLOAT32,
    "What vectors consist of: numbers; int8 numbers and a scale for each"
    " vector; or bits, eight in a byte.",
    choices.CORPUS_PRECISIONS,
  )
  file_format: str = options.common(
    NPY,
    "Files of vectors; impacts: of sparse ones, JSON lines that Anserini and"
    " Pyserini index.",
    FORMATS,
  )
  shard_size: int | None = options.common(
    None,
    "Texts of a file; default: 8,192, of late interaction 1,024.",
    interval="[1, 10000000]",
  )
  batch_size: int | None = options.common(
    None,
    "Texts at once; default: 32, of static vectors 1,024.",
    interval=options.BATCH_SIZES,
  )
  pool_factor: int = options.common(
    1,
    "Tokens whose vectors become one, of late interaction (Clavié et al."
    " 2024).",
    interval="[1, 1000]",
  )
  num_workers: int = options.common(
    1,
    "Processes of one core each, or 1 with all cores. Not with a runner.",
    interval="[1, 1024]",
  )
  id_column: str | None = options.field(
    None, "Column of ids; default: _id or id, or else numbers from 0."
  )
  text_columns: tuple[str, ...] | None = options.listed(
    None,
    "Columns of text, comma-separated, which are joined; missing ones are left"
    " out. Default: title and text.",
  )

  def __post_init__(self):
    options.check_fields(self)
    super().__post_init__()
    if self.runner and self.num_workers > 1:
      raise ValueError(
        f"num_workers ({self.num_workers}) must be left out for"
        f" runner={self.runner}: give its own option in pipeline_options, such"
        " as --direct_num_workers of DirectRunner."
      )
