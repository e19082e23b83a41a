"""The output directory of a run: model files, results, curves and report."""

import os

from keras_bert_impl import files
from keras_bert_impl.checkpoints.descriptions import google_config
from keras_bert_impl.reports import report_page, sections
from keras_bert_impl.sentences import folders
from keras_bert_impl.tokenizers.formats import (
  tokenizer_json_writing,
  tokenizer_options,
  vocabularies,
)
from keras_bert_impl.training import run_log, run_results


class RunFolder:
  """The output directory of a pre-training or fine-tuning run.

  `results` is what results.json held when the folder was opened; a run changes
  the dict and calls `save_results`.

  Args:
    path: str, may be a `gs://` path; it need not exist.
    is_chief: bool; False, for all workers but one, writes nothing.

  Attributes:
    path: as given.
    is_chief: as given.
    results: dict.

  Raises:
    ValueError: results.json was not written by a run.
  """

  def __init__(self, path, is_chief=True):
    self.path = path
    self.is_chief = is_chief
    self.results = run_results.read_results(path)

  @property
  def artifacts(self):
    """{name: path} of the run's files; part of the results."""
    return self.results.setdefault("artifacts", {})

  @property
  def commands(self):
    """List of the commands that changed the folder; part of the results."""
    return self.results.setdefault("commands", [])

  def join(self, *names):
    """Returns the path of a file in the folder."""
    return os.path.join(self.path, *names)

  def write_json(self, name, content):
    """Writes a JSON file into the folder, if this worker is the chief."""
    if self.is_chief:
      files.write_json(self.join(name), content)

  def save_results(self, configuration):
    """Writes results.json, in which all commands of the folder are kept.

    Args:
      configuration: {name: JSON value}, all that the run was configured with.
    """
    self.results["configuration"] = configuration
    command = sections.command(configuration)
    if command not in self.commands:
      self.commands.append(command)
    self.results["versions"] = run_results.versions()
    self.write_json(run_results.RESULTS_NAME, self.results)

  def keep_model_files(
    self, encoder_config, vocabulary=None, options=None, max_length=None
  ):
    """Writes configuration and vocabulary beside the checkpoints.

    Args:
      encoder_config: `EncoderConfig`.
      vocabulary: `Vocabulary`, or None.
      options: of its tokenizer; None for those stored beside the vocabulary.
      max_length: int, what `transformers` is to cut texts and pairs to; or
        None.
    """
    self.write_json(google_config.FILE_NAME, encoder_config.to_dict())
    if vocabulary is None or not self.is_chief:
      return
    if options is None:
      options = tokenizer_options.resolve(
        vocabulary.origin, encoder_config.model_type
      )
    tokenizer_json_writing.save(self.path, vocabulary, options)
    if max_length:
      folders.limit_texts(self.path, max_length)

  def vocabulary_path(self, vocabulary):
    """Returns the path of a `Vocabulary` in the folder."""
    return self.join(vocabularies.file_name(vocabulary))

  def plot_curves(self, evaluation=None, short_names=None):
    """Plots the training log, if there is one, as an artifact.

    Args:
      evaluation: {metric: float} of held-out data, or None.
      short_names: {loss name: str}, for the titles.
    """
    entries = run_log.read(self.path)
    if entries:
      curves = self.join(run_results.CURVES_NAME)
      run_results.plot_curves(curves, entries, evaluation, short_names)
      self.artifacts["curves"] = curves

  def write_report(self, title, parts):
    """Writes report.html, if this worker is the chief.

    Args:
      title: str.
      parts: iterable of `report_page.Section`; the commands follow them.
    """
    if self.is_chief:
      origin = sections.origin(self.commands)
      report_page.write(self.path, title, [*parts, *origin])

  def print_report(self, table, **shown):
    """Prints the results and the paths of the files.

    Args:
      table: str, the results as lines.
      **shown: by name, what to print in place of the path of an artifact.
    """
    print(f"\n{table}\n")
    width = max(map(len, self.artifacts), default=0)
    for name, path in {**self.artifacts, **shown}.items():
      print(f"{name:<{width}}  {path}")
