"""Generation of text: the kind, whole."""

from keras_bert_impl import files, heads
from keras_bert_impl.checkpoints import reading
from keras_bert_impl.generation import settings
from keras_bert_impl.kinds.generation import (
  generation_options,
  generation_scores,
  generation_servable,
  pair_files,
  pair_rows,
  text_generation,
  token_ids,
)
from keras_bert_impl.model_folders import model_files
from keras_bert_impl.runs.fine_tuning import kind
from keras_bert_impl.tasks.basics import fine_tuning


def make_parts(run, splits, options):
  """Returns the `FineTuning` of pairs.

  Args:
    run: `job.Job`.
    splits: {split: list of `Pair`}.
    options: `generation_options.GenerationOptions`.

  Raises:
    ValueError: the model writes no text, or options do not fit it.
  """
  del splits
  if run.settings.members:
    raise ValueError(
      "--ensemble_dirs averages scores, but texts are written token by token:"
      " evaluate the runs one by one."
    )
  config, tokenizer = run.encoder_config, run.tokenizer
  if not config.num_decoder_layers:
    _check_is_causal(run)
  tokens, start = token_ids.completed(
    *token_ids.read(_folder(run)), tokenizer.vocabulary, config
  )
  if not tokens.end:
    raise ValueError(
      f"{run.init_checkpoint} has no token that ends a text: give its"
      " config.json eos_token_id, or its vocabulary a [SEP]."
    )
  begin, end = token_ids.begin_of(tokens, tokenizer, config), tokens.end[:1]
  _check_lengths(run, options, len(begin + end))
  preprocessor = pair_rows.PairPreprocessor(
    run.settings.max_seq_length,
    options.max_target_length,
    bool(config.num_decoder_layers),
    options.prefix,
    start,
    begin,
    end,
  )
  searched = settings.SearchSettings(**options.searched)
  metrics = options.metrics or generation_scores.METRICS
  return fine_tuning.FineTuning(
    preprocessor,
    text_generation.TextGenerationTask(
      config, options.label_smoothing, tokens, start, searched, at_targets=True
    ),
    generation_scores.GenerationEvaluator(tokenizer, tokens.end, metrics),
    used_with=options.searched | {"metrics": [*metrics]},
  )


def _folder(run):
  """Returns the folder whose files say what ids mean, which may not exist."""
  if run.init_checkpoint:
    return model_files.folder_of(run.init_checkpoint)
  return reading.best_run(files.Folder(run.output_dir)) or run.output_dir


def _check_is_causal(run):
  """Raises ValueError unless a model without a decoder can write."""
  config = run.encoder_config
  if config.reading_direction != "left_to_right":
    raise ValueError(
      f"{run.init_checkpoint or 'bert_config_file'} is an encoder"
      f" ({config.model_type}), which writes no text: give a model with a"
      " decoder, such as facebook/bart-base, or from left to right, such as"
      " gpt2."
    )


def _check_lengths(run, options, num_special):
  """Raises ValueError if a text or the prefix has no room.

  Args:
    run: as `make_parts`; so are options.
    options: `generation_options.GenerationOptions`.
    num_special: int, tokens that begin and end what is written.
  """
  config, longest = run.encoder_config, run.encoder_config.longest_input
  most, target = run.settings.max_seq_length, options.max_target_length
  if target <= num_special:
    raise ValueError(
      f"max_target_length ({target}) must be at least {num_special + 1}: what"
      " begins and ends a text counts."
    )
  needed = target if config.num_decoder_layers else most + target
  if longest is not None and needed > longest:
    what = "" if config.num_decoder_layers else f" and max_seq_length ({most})"
    raise ValueError(
      f"max_target_length ({target}){what} must be at most {longest} in all,"
      " the positions of the model: lower it."
    )
  size = len(run.tokenizer.tokenize(options.prefix))
  least = size + run.tokenizer.num_special_tokens(1) + 1
  if most < least:
    raise ValueError(
      f"max_seq_length ({most}) must be at least {least}, as prefix"
      f" ({options.prefix!r}) has {size} tokens: give a larger one, or shorten"
      " it."
    )


def prepare(job, config):
  """Returns the `Prepared` of a `pair_files.PairsConfig`.

  Raises:
    ValueError: as `pair_files.read` and `make_parts`.
  """
  splits = pair_files.read(config, job.settings)
  return kind.Prepared(make_parts(job, splits, config), splits)


KIND = kind.Kind(
  "generation",
  tasks={heads.GENERATION: text_generation.TextGenerationTask},
  servables={heads.GENERATION: generation_servable.GenerationServable},
  options=generation_options.GenerationOptions,
  described=(
    pair_rows.PairPreprocessor,
    generation_options.GenerationOptions,
    settings.SearchSettings,
  ),
  pipeline="text-generation",
  prepare=prepare,
)
