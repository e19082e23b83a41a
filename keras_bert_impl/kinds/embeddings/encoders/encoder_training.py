"""Training of encoders of texts, from Python."""

import dataclasses
import os
import typing
from collections.abc import Iterable, Sequence

import keras

from keras_bert_impl import options
from keras_bert_impl.estimators import trainable, typed
from keras_bert_impl.kinds.embeddings import (
  embedding_kind,
  embedding_trainer,
  mining,
  sentence_folder,
)
from keras_bert_impl.sentences import folders

if typing.TYPE_CHECKING:
  from typing_extensions import Unpack

# Settings of `fit` that cannot be chosen, and why.
_NOT_HERE = dict.fromkeys(
  ("pooling", "vectors"),
  "is the model's own: make another encoder, with"
  " kb.EmbeddingModel(encoder.model.encoder, pooling) or of the class"
  " kb.SparseEncoder or kb.MultiVectorEncoder.",
)


class EncoderSettings(typed.FitSettings, total=False):
  """Settings of `fit`."""

  attend_to_expansion_tokens: bool | None
  batch_size: int
  both_ways: bool
  callbacks: Sequence[typing.Any]
  chunk_size: int | None
  do_query_expansion: bool | None
  document_flops_weight: float
  document_prefix: str | None
  document_prompt: str | None
  embedding_size: int | None
  epochs: float
  first_mined_rank: int
  label_column: str
  last_mined_rank: int
  loss: str
  margin: float
  matryoshka_widths: Sequence[int] | None
  mine: typing.Any
  mine_every: int | None
  mining_margin: float
  mining_share: float | None
  num_negatives: int
  pooling: str | None
  query_flops_weight: float
  query_length: int | None
  query_prefix: str | None
  query_prompt: str | None
  restore_best: bool
  skiplist_words: str | None
  temperature: float | None
  text_columns: Sequence[str]
  vectors: str | None


class TrainableEncoder(
  embedding_trainer.EmbeddingExamples, trainable.Trainable
):
  """An encoder that is trained as run_embeddings.py does. Abstract.

  Attributes: besides those of `Trainable`:
    model: from ids to vectors; `fit` gives it new weights.
    tokenizer: of `tokenizers.load`.
    texts: `folders.Texts`: prompts, and how long texts may be.
    labels: None, as there are no classes.
  """

  kind = embedding_kind.KIND
  labels = None
  _not_here = _NOT_HERE

  def predict(self, inputs: typing.Any, batch_size: int = 32) -> typing.Any:
    """Returns the vectors of texts, as `encode` with the default prompt."""
    return self.encode(inputs, batch_size=batch_size)

  def fit(
    self,
    data: typed.Data,
    targets: Iterable[typing.Any] | None = None,
    validation_data: typed.HeldOut | None = None,
    output_dir: typed.Path | None = None,
    **settings: "Unpack[EncoderSettings]",
  ) -> keras.callbacks.History:
    """Trains the model, by the code of run_embeddings.py.

    Args:
      data: examples: list of tuples of texts (the anchor, its positive, any
        negatives), of two texts and a score, of dicts with the keys anchor,
        positive, negative and score, or of str, each a pair with itself
        (SimCSE); a `tf.data.Dataset` of such dicts or tuples; or a file of
        run_embeddings.py, with text_columns and label_column.
      targets: list of scores, if `data` is a list of pairs.
      validation_data: examples to score after each epoch and at the end, as
        `data` or as a tuple (data, targets); or float in (0, 1), the share of
        the examples to hold out for that.
      output_dir: str, folder of the run: a run that was killed goes on there
        when `fit` is called again. Default: a temporary folder, removed with
        the encoder.
      **settings: as of `TextClassifier.fit` (epochs, batch_size, restore_best,
        callbacks, and flags of the script such as learning_rate), and loss
        ("in_batch", "triplet"; "cosine", "cosent" or "angle" of scores),
        chunk_size (examples at once), temperature, both_ways, margin,
        matryoshka_widths, query_prompt and document_prompt; of sparse vectors
        query_flops_weight and document_flops_weight. And mine, an encoder of
        any kind, maybe this one, or the folder of one like this: it finds
        num_negatives hard negatives of each pair, of first_mined_rank to
        last_mined_rank, by mining_margin or mining_share less similar than the
        positive; with mine_every, the encoder in training finds others after so
        many epochs.

    Returns:
      `keras.callbacks.History`.

    Raises:
      ValueError: an example or a setting is wrong, names it; or
        sentence-transformers has no such model.
      KeyboardInterrupt: Ctrl-C came, or a cell was interrupted.
    """
    for name, reason in self._not_here.items():
      if settings.get(name) is not None:
        raise ValueError(f"{name} ({settings[name]!r}) {reason}")
    return super().fit(
      data, targets, validation_data, output_dir=output_dir, **settings
    )

  def _take(self, output_dir):
    """Gives the model the weights and settings of the one that was trained."""
    path = os.path.join(output_dir, sentence_folder.NAMES[self.head])
    trained = self.from_checkpoint(path)
    ours, new = _weights(self.model), _weights(trained.model)
    for name in ours.keys() & new.keys():
      ours[name].assign(new[name])
    found = self.texts.prompts | trained.texts.prompts
    self.texts = dataclasses.replace(trained.texts, prompts=found)
    self.checkpoint = trained.checkpoint

  def _holds_checkpoint(self):
    if self.checkpoint is None:
      return False
    folder = folders.read(self.checkpoint)
    # Of another checkpoint it makes the vectors only as they are chosen here.
    if not folder.modules or folder.head != self.head:
      return False
    stored = self.from_checkpoint(self.checkpoint)
    has_more = len(self.model.weights) != len(stored.model.weights)  # Adapters.
    return stored.texts == self.texts and not has_more and self._is_as(stored)

  def _has_weights_of(self, path):
    return self._is_as(self.from_checkpoint(path))

  def _is_as(self, other):
    """Returns whether another encoder has the same weights."""
    ours, theirs = _weights(self.model), _weights(other.model)
    return trainable.same_weights(ours, theirs)

  def _length(self):
    return self.texts.max_seq_length or options.LONGEST

  def _pop_columns(self, settings):
    """Takes what is not for the run out of settings: columns, the encoder."""
    self._mine = self._miner(settings.pop("mine", None))
    return super()._pop_columns(settings)

  def _miner(self, given):
    """Returns the encoder that finds negatives, or None."""
    if isinstance(given, str | os.PathLike):
      return self.from_checkpoint(given)
    if not isinstance(given, TrainableEncoder | None):
      raise ValueError(
        f"mine ({type(given).__name__}) must be an encoder, such as a"
        " kb.SentenceEncoder, or the folder of one."
      )
    return given

  def _parts(self, run, splits, task_options):
    pairs = mining.add_negatives(splits, self._mine, task_options)
    parts = embedding_kind.make_parts(run, splits, task_options)
    return mining.renewed(parts, type(self), pairs, task_options)


def _weights(model):
  """Returns {name: variable}, whatever the final layers are called."""
  weights = {weight.path: weight for weight in model.weights}
  for number, layer in enumerate(getattr(model, "final_layers", ())):
    for weight in layer.weights:
      del weights[weight.path]
      weights[number, weight.name] = weight
  return weights
