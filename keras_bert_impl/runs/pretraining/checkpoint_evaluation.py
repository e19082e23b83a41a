"""Standard scores of a checkpoint, of any format, without records."""

from keras_bert_impl.model_folders import model_files, run_folder
from keras_bert_impl.runs.pretraining import pretraining_report, standard
from keras_bert_impl.tasks.basics import pretraining
from keras_bert_impl.tasks.masking import masking
from keras_bert_impl.training import experiment as experiment_lib


def evaluate(config):
  """Scores --init_checkpoint on --eval_text_file; writes and prints the scores.

  Configuration and vocabulary are those beside it, if none are given; its
  weights those of the model of --objective.

  Args:
    config: `PretrainingConfig`.

  Raises:
    FileNotFoundError, ValueError: a file is missing, or they do not fit.
  """
  data, training = config.data, config.training
  if not training.init_checkpoint:
    raise ValueError(
      f"eval_text_file ({data.eval_text_file}) without input_file needs the"
      " weights to evaluate: give --init_checkpoint."
    )
  given = model_files.ModelFilesConfig(
    bert_config_file=data.bert_config_file, vocab_file=data.vocab_file
  )
  found = model_files.find(given, training.init_checkpoint, data.max_seq_length)
  vocabulary = found.vocabulary
  rows = standard.open_rows(data, vocabulary, found.encoder_config.model_type)
  of_rows = pretraining.PretrainingData(
    data.max_seq_length, masking.Masking(vocabulary, data.max_seq_length)
  )
  task = config.objective.task(found.encoder_config, of_rows, config.options)
  experiment = experiment_lib.Experiment(task, training).start()
  scores = standard.evaluate(experiment, rows, training.eval_batch_size)
  folder = run_folder.RunFolder(training.output_dir, experiment.is_chief)
  _report(folder, config, scores)


def _report(folder, config, scores):
  """Writes and prints the scores, or None, of a checkpoint."""
  path = config.training.init_checkpoint
  folder.results["eval"] = {"init_checkpoint": path}
  if scores:
    folder.results["eval"]["standard"] = scores
  folder.save_results(vars(config.data) | vars(config.training))
  rows = [*pretraining_report.standard_scores(folder.results["eval"])]
  folder.write_report(
    f"Standard scores of {path}",
    [pretraining_report.scores_section(rows, folder.results)],
  )
  folder.print_report(pretraining_report.table({}, rows))
