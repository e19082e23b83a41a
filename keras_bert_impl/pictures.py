"""PNG pictures, drawn without a display."""

import io

from keras_bert_impl import files


def new_figure(width, height):
  """Returns an empty matplotlib figure; sizes in hundreds of pixels."""
  # Late and without pyplot: no display, no global state, no start-up cost.
  from matplotlib import figure

  return figure.Figure(figsize=(width, height), dpi=100)


def save(canvas, path):
  """Writes a figure atomically as PNG."""
  content = io.BytesIO()
  canvas.tight_layout()
  canvas.savefig(content, format="png")
  files.write_atomically(path, content.getvalue())
