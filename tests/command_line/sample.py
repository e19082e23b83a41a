"""A script in which everything happens that a user can cause, or a bug."""

import dataclasses
import os

from keras_bert_impl import files
from keras_bert_impl.command_line import program


@dataclasses.dataclass
class Config:
  kind: str = dataclasses.field(metadata={"help": "What happens."})
  path: str = dataclasses.field(metadata={"help": "File to write."})
  size: int = dataclasses.field(
    default=3, metadata={"help": "A number.", "interval": "[1, 1000]"}
  )
  share: float = dataclasses.field(
    default=0.5, metadata={"help": "A share.", "interval": "[0, 1]"}
  )
  limit: float = dataclasses.field(
    default=0.0, metadata={"help": "Any.", "interval": "(-inf, inf)"}
  )

  def __post_init__(self):
    list(range(self.size))
    self.digits = round(self.limit)


def main():
  config = program.from_flags(Config)
  if config.kind == "value":
    raise ValueError("size (3) must be\n  even.")
  if config.kind == "file":
    open("absent.txt")
  if config.kind == "full":
    with files.writing(config.path) as file, open("/dev/full", "wb") as full:
      file.write(b"text")
      os.write(full.fileno(), b"text")
  if config.kind == "bug":
    raise KeyError("bug")
  print(config.size)


program.define_flags(Config)

if __name__ == "__main__":
  program.run(main, imports=())
