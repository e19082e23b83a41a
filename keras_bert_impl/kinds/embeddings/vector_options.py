"""Kinds of text vectors: what options, folder and earlier run say of them."""

import dataclasses

from keras_bert_impl import heads
from keras_bert_impl.kinds.embeddings.tasks import embedding_options
from keras_bert_impl.models.heads import multi_vector_embedding_model
from keras_bert_impl.sentences import modules
from keras_bert_impl.tokenizers.graph import late_interaction

# Heads of vectors that are not dense; their kinds have their names.
_KINDS = (heads.SPARSE, heads.LATE, heads.STATIC)
_FLOPS = ("query_flops_weight", "document_flops_weight")
_SIZE, _SKIPLIST = "embedding_size", "skiplist_words"
# {kind: the values that options of dense vectors may have}.
_ALLOWED = {
  embedding_options.SPARSE: {"loss": ("in_batch",)},
  embedding_options.LATE: {"loss": ("in_batch", "triplet")},
}


def kind(folder, known, options):
  """Returns the kind of vectors: as asked for, or as of what is to go on.

  Args:
    folder: `folders.Folder` to start from.
    known: {name: value}, task.json of the run to go on with.
    options: `embedding_options.EmbeddingOptions`.

  Raises:
    ValueError: the run or folder has others; or an option is of others.
  """
  found = [x for x in (known.get("head"), folder.head) if x in _KINDS]
  own = found[0] if found else None
  chosen = options.vectors or own or embedding_options.DENSE
  if own and chosen != own:
    raise ValueError(
      f"vectors ({chosen!r}) must be {own}, as those of the run or folder to"
      " start from: leave the option out, or give another start."
    )
  if chosen in _ALLOWED:
    only = {"pooling": (None,), "matryoshka_widths": (None,)}
    for name, values in (only | _ALLOWED[chosen]).items():
      if getattr(options, name) not in values:
        raise ValueError(
          f"{name} ({getattr(options, name)!r}) is of dense vectors: leave it"
          f" out for {chosen} ones."
        )
  for field in dataclasses.fields(embedding_options.LateOptions):
    value = getattr(options, field.name)
    if value is not None and chosen != embedding_options.LATE:
      raise ValueError(
        f"{field.name} ({value!r}) is of late interaction: leave it out for"
        f" {chosen} vectors."
      )
  return chosen


def of_task(kind, config, folder, known, options):
  """Returns the fields of the task of vectors that are not dense.

  Args:
    kind: str, as `kind` returns it.
    config: `EncoderConfig`.
    folder: as of `kind`.
    known: as of `kind`.
    options: as of `kind`.

  Raises:
    ValueError: the width is not that of the folder's projection.
  """
  if kind == embedding_options.SPARSE:
    return {name: getattr(options, name) for name in _FLOPS}
  if kind == heads.STATIC:
    return {"normalize": len(folder.modules) > 1}
  given = options.embedding_size
  found, size = {}, known.get(_SIZE)
  if folder.head == heads.LATE:
    kernel = modules.read_projection(*folder.modules, config.hidden_size)
    found["final_weights"] = {multi_vector_embedding_model.PROJECTION: kernel}
    size = kernel.shape[1]
  if None not in (given, size) and given != size:
    raise ValueError(
      f"{_SIZE} ({given}) must be {size}, as in the run or folder to start"
      " from: leave it out."
    )
  size = given or size
  return found | ({_SIZE: size} if size else {})


def of_rows(kind, folder, known, options):
  """Returns the fields of the rows: prompts and, of late interaction, more.

  Args: as `of_task`.
  """
  found = {
    f"{text}_prompt": folder.texts.prompt_of(text)
    for text in late_interaction.KINDS
  }
  if kind == embedding_options.LATE:
    found |= vars(folder.texts.late or late_interaction.LateInteraction())
  for name in found:
    given = getattr(options, name)
    found[name] = known.get(name, found[name]) if given is None else given
  if kind == embedding_options.LATE:
    words = found[_SKIPLIST]
    found[_SKIPLIST] = tuple(words.split() if isinstance(words, str) else words)
  return found
