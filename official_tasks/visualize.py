r"""Draws what a model does with a text: a page of its attention.

    python official_tasks/visualize.py --checkpoint_dir=mrpc \
      --text="The cat sat." --text_pair="A cat was sitting."
    python official_tasks/visualize.py --checkpoint_dir=bert-base-uncased \
      --text="Paris is the [MASK] of France." --layers=1,6,12

The page is one HTML file below 400 kB, for any browser and without a network:
every head of every layer, its entropy, and where each token looks; what the
prediction rests on (gradient x input); and which tokens are alike in each
layer. Its probabilities are off by 1e-6 at most. 12 layers of 12 heads have
room for about 30 tokens; a longer text is cut, and fewer --layers leave room
for more.
"""

import dataclasses

from absl import logging
from etils import epy

from keras_bert_impl import files, heads, options
from keras_bert_impl.command_line import program
from keras_bert_impl.model_folders import model_files

with epy.lazy_imports():
  from keras_bert_impl.visualization import viewing


@dataclasses.dataclass(frozen=True)
class VisualizationConfig(model_files.TrainedModelConfig):
  """Model, text and page.

  Raises:
    ValueError: a value is out of range.
  """

  text: str = options.required("Text to look at.")
  text_pair: str | None = options.common(
    None,
    "Second text of a pair, such as the context of a question; or what a model"
    " with a decoder writes.",
  )
  output_file: str = options.common("attention.html", "Page to write.")
  layers: str | None = options.common(
    None,
    "Layers to draw: 1 for the first, -1 for the last, as in 1,6,-1; default:"
    " all.",
  )
  head: str | None = options.common(
    None,
    "Head whose predictions are explained; default: the head that was trained.",
    heads.SERVED,
  )
  max_seq_length: int | None = options.common(
    None,
    "Maximum tokens; default: 128, or the model's maximum if it is less.",
    interval=options.SEQ_LENGTHS,
  )

  def __post_init__(self):
    self.layer_numbers()

  def layer_numbers(self):
    """Returns the layers, list of int, or None for all.

    Raises:
      ValueError: they are no numbers.
    """
    return self.layers and program.split_numbers(self.layers, "layers")


program.define_flags(VisualizationConfig)


def main():
  """Loads the model, reads the text and writes the page."""
  config = program.from_flags(VisualizationConfig)
  viewer = viewing.open_viewer(
    config,
    config.checkpoint_dir,
    config.head,
    config.layer_numbers(),
    config.max_seq_length,
  )
  view = viewer.view(config.text, config.text_pair)
  if view.num_cut:
    logging.warning(
      "The text was cut to %d of its %d tokens: fewer --layers leave room for"
      " more below 400 kB, up to --max_seq_length.",
      view.num_tokens,
      view.num_tokens + view.num_cut,
    )
  files.write_atomically(config.output_file, view.html.encode("utf-8"))
  print(config.output_file)


if __name__ == "__main__":
  program.run(main)
