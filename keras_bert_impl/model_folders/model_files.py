"""Finds a model's configuration and vocabulary, by flags or beside it."""

import dataclasses

from etils import epy

from keras_bert_impl import files, options
from keras_bert_impl.checkpoints import hub, reading
from keras_bert_impl.checkpoints.descriptions import google_config, vocab_size
from keras_bert_impl.tokenizers.formats import (
  vocabularies,
)

with epy.lazy_imports():
  from keras_bert_impl.sentences import folder_models, folders


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelFilesConfig:
  """Files to use instead of those beside a checkpoint."""

  bert_config_file: str | None = options.common(
    None,
    "Model configuration, as in bert_config.json; default: the file beside the"
    " checkpoint.",
  )
  vocab_file: str | None = options.common(
    None,
    "Vocabulary (vocab.txt, vocab.json or *.model); default: the file beside"
    " the configuration or the checkpoint.",
  )
  do_lower_case: bool | None = options.common(
    None,
    "Whether to lower-case text; default: as stored beside the vocabulary.",
  )


def values(config):
  """Returns {field of `ModelFilesConfig`: value} of a configuration of it."""
  names = [field.name for field in dataclasses.fields(ModelFilesConfig)]
  return {name: getattr(config, name) for name in names}


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainedModelConfig(ModelFilesConfig):
  """A trained model, as of `trained_models.open_with_tokenizer`."""

  checkpoint_dir: str = options.required(
    "output_dir of a run_*.py or of a search, a folder of"
    " sentence-transformers, or a checkpoint: a folder of safetensors, a"
    " prefix such as bert_model.ckpt, a name such as klue/bert-base, ..."
  )


@dataclasses.dataclass(frozen=True)
class ModelFiles:
  """The files that belong to a model's weights.

  Attributes:
    encoder_config: `EncoderConfig`; of static embeddings, a `StaticConfig`.
    vocabulary: `Vocabulary`.
    tokenizer_options: options, as `tokenizer_options.resolve` returns them.
  """

  encoder_config: object
  vocabulary: vocabularies.Vocabulary
  tokenizer_options: object


def find(config, checkpoint, max_seq_length):
  """Returns the `ModelFiles` for flags and a checkpoint.

  Args:
    config: `ModelFilesConfig`.
    checkpoint: str, or None.
    max_seq_length: int, length that the model must support.

  Raises:
    FileNotFoundError: the configuration or vocabulary does not exist.
    ValueError: configuration, vocabulary and max_seq_length do not fit.
  """
  if config.bert_config_file:
    encoder_config = google_config.read(config.bert_config_file)
    place = files.Folder(config.bert_config_file).parent
  else:
    opened = hub.opened(checkpoint, weights=True)
    encoder_config, place = _described(opened)
  vocabulary, options = vocabularies.find(
    config.vocab_file or place,
    encoder_config.model_type,
    do_lower_case=config.do_lower_case,
  )
  _check_sizes(encoder_config, vocabulary, max_seq_length)
  return ModelFiles(encoder_config, vocabulary, options)


def folder_of(path):
  """Returns the `files.Folder` beside a model's `path`, or of its name."""
  folder = hub.opened(path)
  return folder if folder.is_there else folder.parent


def _described(opened):
  """Returns the configuration of a checkpoint, and where its vocabulary is."""
  if folders.is_static(opened):
    folder = folders.read(opened)
    return folder_models.load(folder).config, folder.vocabulary
  encoder_config = reading.open_checkpoint(opened).described().config
  return encoder_config, folder_of(opened)


def _check_sizes(encoder_config, vocabulary, max_seq_length):
  longest = encoder_config.longest_input
  if longest is not None and max_seq_length > longest:
    raise ValueError(
      f"max_seq_length ({max_seq_length}) must be at most {longest}, the"
      " positions of the model."
    )
  vocab_size.check(encoder_config, vocabulary.size, vocabulary.origin)
