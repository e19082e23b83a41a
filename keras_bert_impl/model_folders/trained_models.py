"""Finds and loads trained models, with what is known about their use."""

import collections
import dataclasses
import inspect
import os

from etils import epy

from keras_bert_impl import files, heads
from keras_bert_impl.checkpoints import hub
from keras_bert_impl.families import family
from keras_bert_impl.model_folders import model_files

with epy.lazy_imports():
  from keras_bert_impl import tokenizers
  from keras_bert_impl.checkpoints import assignment, reading
  from keras_bert_impl.model_folders import task_file
  from keras_bert_impl.models import checkpoint_loading
  from keras_bert_impl.sentences import folder_models, folders
  from keras_bert_impl.tokenizers.graph import late_interaction
  from keras_bert_impl.training import run_results

# Flags of a run that its model is used with, and their types.
_OF_CONFIGURATION = {
  "max_answer_length": int,
  "max_seq_length": int,
  "task_name": (str, type(None)),
}


@dataclasses.dataclass(frozen=True)
class TrainedModel:
  """A trained model, with what is known about its use.

  Attributes:
    model: `EncoderModel`.
    head: one of `heads.SERVED`.
    path: str, the checkpoint.
    recorded: {name: value}, what is known of its use, such as "labels".
  """

  model: object
  head: str
  path: str
  recorded: dict


def open_with_tokenizer(config, path, kinds, head=None, max_seq_length=None):
  """Opens a trained model for use with texts.

  Args:
    config: `model_files.ModelFilesConfig`.
    path: str, as of `load`, or a name of the hub.
    kinds: as of `load`.
    head: as of `load`.
    max_seq_length: int, length that the model must support, or None.

  Returns:
    `TrainedModel`, its tokenizer, and its `EncoderConfig`; of static
    embeddings, its `StaticConfig`.

  Raises:
    FileNotFoundError: there is no checkpoint, or no vocabulary.
    ValueError: as `load`, or the files do not fit together.
  """
  trained = load(find_folder(path), kinds, head)
  found = model_files.find(config, trained.path, max_seq_length or 1)
  tokenizer = tokenizers.make(found.vocabulary, found.tokenizer_options)
  return trained, tokenizer, found.encoder_config


def open_tokenizer(config, path):
  """Returns the tokenizer of a checkpoint, trained or not.

  Args: as of `open_with_tokenizer`.
  """
  found = model_files.find(config, path, 1)
  return tokenizers.make(found.vocabulary, found.tokenizer_options)


def find_folder(path):
  """Returns the folder or checkpoint of `path`.

  Of a search, that is the folder of its best run; of a run of static
  embeddings, that of its table; of a name, see `hub`.
  """
  folder = hub.opened(path, weights=True)
  best = reading.best_run(folder) if files.is_folder(folder.path) else None
  path = best or os.fspath(folder)
  static = os.path.join(path, f"{heads.STATIC}_encoder")
  return static if files.is_folder(static) else path


def load(path, kinds, head=None):
  """Loads the `TrainedModel` at `path`.

  Args:
    path: str, the output_dir of a run, a folder of sentence-transformers, or a
      checkpoint of any known format.
    kinds: sequence of `kind.Kind`, what a run can have trained.
    head: one of `heads.SERVED`, or None for what the model was trained for.

  Raises:
    FileNotFoundError: there is no checkpoint.
    ValueError: it is damaged, or has no such head.
  """
  opened = hub.opened(path, weights=True)
  if folders.is_one(opened):
    folder = folders.read(opened)
    is_static = folder.head == heads.STATIC
    own = heads.ENCODER if is_static else folder.head
    if head in (None, own):
      return _load_sentence_encoder(folder, own)
    if is_static:
      raise ValueError(
        f"--head={head} does not fit {path}, which has static embeddings: leave"
        " it out."
      )
  checkpoint = reading.open_checkpoint(opened)
  recorded = _recorded(checkpoint.folder, kinds)
  recorded["folder"] = checkpoint.folder
  trained_head = recorded.get("head")
  use = heads.USES.get(trained_head, trained_head)
  if trained_head and head in (None, use):
    model = _load_task(kinds, trained_head, checkpoint, recorded)
    return TrainedModel(model, use, checkpoint.path, recorded)
  description = checkpoint.described()
  head = head or _use_of(description)
  _check_head(checkpoint, description, head)
  if not _is_kept(description, head):
    description = dataclasses.replace(description, head=head)
  model, _ = checkpoint_loading.load(
    checkpoint,
    description,
    remedy=f"Choose a --head other than {head}, which it was not trained for.",
  )
  recorded = stored_length(checkpoint.folder, description) | recorded
  if description.labels:
    recorded = {"labels": description.labels} | recorded
  return TrainedModel(model, head, checkpoint.path, recorded)


def stored_length(folder, description):
  """Returns {"max_seq_length": int} of a classifier of texts, {} of others.

  It is what `transformers` and CrossEncoder cut texts and pairs to.

  Args:
    folder: `files.Folder`.
    description: `description.Description` of its checkpoint.
  """
  if description.head not in family.CLASSIFIERS:
    return {}
  length = folders.longest_text(folder)
  longest = description.config.max_sequence_length
  return {"max_seq_length": min(length, longest)} if length else {}


def _load_sentence_encoder(folder, head):
  """Loads the model of a folder of sentence-transformers."""
  model = folder_models.load(folder)
  texts = folder.texts.limited_to(model.config)
  recorded = {
    "max_seq_length": texts.max_seq_length,
    "prompt": texts.prompt(),
    "do_lower_case": texts.do_lower_case,
  }
  if texts.late is not None:
    recorded |= vars(texts.late) | {
      f"{kind}_prompt": texts.prompt_of(kind) for kind in late_interaction.KINDS
    }
  return TrainedModel(model, head, folder.transformer, recorded)


def _recorded(folder, kinds):
  """Returns the notes of a folder's run about the use of its model."""
  results = run_results.read_results(folder)
  configuration = results.get("configuration", {})
  files.check_fields(
    configuration,
    _OF_CONFIGURATION,
    f"configuration in {folder}/{run_results.RESULTS_NAME}",
  )
  task = task_file.read(folder, kinds)
  recorded = {
    name: configuration[name]
    for name in _OF_CONFIGURATION
    if name in configuration
  } | task
  tasks = _tasks(kinds)
  if task.get("head") in tasks:
    scores = run_results.scores_of(results, "dev")
    found = tasks[task["head"]].found_options(configuration, scores, task)
    recorded |= found
  return recorded


def make_task(kinds, head, config, recorded):
  """Returns the task of a head.

  Args:
    kinds: as of `load`.
    head: str, one of them.
    config: `configs.EncoderConfig`.
    recorded: {name: value}, arguments of the task among others, as a run's
      task.json has them.
  """
  task_class = _tasks(kinds)[head]
  names = inspect.signature(task_class).parameters.keys() & recorded.keys()
  return task_class(config, **{name: recorded[name] for name in names})


def _tasks(kinds):
  """Returns {head: class of its `Task`}."""
  return collections.ChainMap(*(dict(kind.tasks) for kind in kinds))


def _load_task(kinds, head, checkpoint, recorded):
  """Returns the model that a run trained for a head, with its weights."""
  known = _tasks(kinds)
  if head not in known:
    raise ValueError(
      f"head ({head!r}) in {checkpoint.folder}/{task_file.NAME} must be one of "
      f"{', '.join(sorted(known))}."
    )
  config = checkpoint.described().config
  model = make_task(kinds, head, config, recorded).build_model()
  assignment.assign(
    {weight.path: weight for weight in model.weights},
    checkpoint.tensors,
    checkpoint.path,
    remedy=f"Is the {task_file.NAME} beside it another run's?",
  )
  return model


def _is_kept(description, head):
  """Returns whether a model used as `head` has the head that is stored."""
  stored = description.head
  if head == heads.GENERATION:
    return True
  return stored in heads.KEPT and heads.USES[stored] == head


def _use_of(description):
  """Returns the use of a model that was trained as a checkpoint says."""
  if description.head in (heads.FILL_MASK, heads.PRETRAINING):
    # Read in one direction, there is nothing to be seen behind a mask.
    uses = {None: heads.FILL_MASK, "left_to_right": heads.GENERATION}
    return uses.get(description.config.reading_direction, heads.ENCODER)
  return heads.USES.get(description.head, description.head)


def _check_head(checkpoint, description, head):
  """Raises ValueError if a checkpoint has no weights for a head."""
  stored = description.head
  has = {heads.USES.get(stored, stored), heads.ENCODER}
  if heads.FILL_MASK in has:
    is_causal = description.config.reading_direction == "left_to_right"
    has.add(heads.GENERATION if is_causal else heads.SPARSE)
  # All classifiers have the same weights.
  if stored in heads.CLASSIFIERS:
    has.update(heads.CLASSIFIERS)
  if head not in has:
    raise ValueError(
      f"--head={head} does not fit {checkpoint.path}, which was not trained for"
      f" it: train it first, or give one of {', '.join(sorted(has))}."
    )
