"""Lengths of the rows of a data set: summary, facts and histogram."""

import numpy as np

from keras_bert_impl.reports import report_page, sections
from keras_bert_impl.tasks.basics import pictures

_MOST_BARS = 24


def summary(lengths, limit):
  """Returns a summary of the tokens of rows and their histogram, JSON object.

  Args:
    lengths: int [N].
    limit: int, tokens that a row may have.
  """
  num_bars = min(_MOST_BARS, limit)
  counts, edges = np.histogram(lengths, num_bars, (0, limit))
  return {
    "shortest": int(np.min(lengths)),
    "median": float(np.median(lengths)),
    "mean": float(np.mean(lengths)),
    "longest": int(np.max(lengths)),
    "share_at_limit": float(np.mean(np.equal(lengths, limit))),
    "limit": limit,
    "counts": counts.tolist(),
    "edges": edges.tolist(),
  }


def facts(found):
  """Returns {what: text or number} of a `summary`."""
  return {
    "shortest row": found["shortest"],
    "median": f"{found['median']:.0f}",
    "mean": f"{found['mean']:.1f}",
    "longest row": found["longest"],
    f"rows of all {found['limit']} tokens": sections.percent(
      found["share_at_limit"]
    ),
  }


def histograms(summaries):
  """Returns the figure of {data set: `summary`} for a page."""
  canvas = pictures.new_figure(4.6, 2.4)
  axes = canvas.add_axes((0.14, 0.14, 0.83, 0.82))
  for name, found in summaries.items():
    total = max(1, sum(found["counts"]))
    shares = [count / total for count in found["counts"]]
    axes.stairs(shares, found["edges"], label=name)
  axes.locator_params(nbins=5)
  axes.grid(alpha=0.3)
  axes.legend(frameon=False)
  return report_page.figures([("Tokens of a row, share of rows", canvas)])
