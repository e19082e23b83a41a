"""Differences between families of models, as data.

Names of weights are pairs (ours, theirs) of beginnings of names; the first that
fits counts, `#` is any number and `+` one above 0. The rest of a name stays.
Ours are the paths of the variables.

Standard library only: `configs` reads it, and with it every script.
"""

import dataclasses
from collections.abc import Callable


def same(*fields):
  """Returns {field: key of a config.json} where they have one name."""
  return dict(zip(fields, fields, strict=True))


# {field of `EncoderConfig`: key of a config.json}, of most families.
CONFIG_KEYS = same(
  "vocab_size",
  "hidden_size",
  "num_hidden_layers",
  "num_attention_heads",
  "intermediate_size",
  "max_position_embeddings",
  "hidden_act",
  "hidden_dropout_prob",
  "attention_probs_dropout_prob",
  "type_vocab_size",
  "initializer_range",
  "layer_norm_eps",
  "tie_word_embeddings",
)
BERT_DEFAULTS = {"vocab_size": 30522}
# {field of `EncoderConfig`: key of a preset's config.json}, in KerasHub.
KERAS_HUB_KEYS = {
  "vocab_size": "vocabulary_size",
  "hidden_size": "hidden_dim",
  "num_hidden_layers": "num_layers",
  "num_attention_heads": "num_heads",
  "intermediate_size": "intermediate_dim",
  "max_position_embeddings": "max_sequence_length",
  "hidden_dropout_prob": "dropout",
  "attention_probs_dropout_prob": "dropout",
}
# Other names of activations in a config.json: the same functions.
ACTIVATIONS = {
  "gelu_python": "gelu",
  "swish": "silu",
  **dict.fromkeys(
    ("gelu_accurate", "gelu_fast", "gelu_python_tanh", "gelu_pytorch_tanh"),
    "gelu_new",
  ),
}
# Another value of these makes a model that is none of ours, in any family.
FIXED = {
  "add_cross_attention": False,
  "position_embedding_type": "absolute",
  "pruned_heads": {},
}
# Our own key of models with fewer heads than H / D.
HEAD_SIZE = "attention_head_size"
# Heads that classify sequences, and the names of a classifier that has the
# pooler in it.
CLASSIFIERS = ("classification", "multi_label", "regression")
DENSE_CLASSIFIER = dict.fromkeys(
  CLASSIFIERS,
  (
    ("bert/pooler/dense", "classifier/dense"),
    ("classifier", "classifier/out_proj"),
  ),
)
# Classes of families that have none of their own for pre-training: the next
# sentence and a discriminator's head are left out.
MASKED_WORDS_ALONE = {
  "fill_mask": "ForMaskedLM",
  "pretraining": "ForMaskedLM",
  "replaced_tokens": "Model",
}
# Heads that have the same names in all families. In `transformers` a name is a
# module and "weight" or "bias"; these are modules, with its dots as slashes.
TASKS = (("cls/squad", "qa_outputs"), ("classifier", "classifier"))
GOOGLE_CLASSIFIER = (
  ("classifier/output_weights", "output_weights"),
  ("classifier/output_bias", "output_bias"),
)


def decoder(name):
  """Returns the pair of names of an output matrix that is not the table."""
  return ("cls/predictions/output_weights", name)


@dataclasses.dataclass(frozen=True)
class Columns:
  """Columns of dense layers that stand otherwise in `transformers`.

  Side by side, those of its layers are ours in another order; of a bias the
  elements. See `checkpoints.naming.columns`.

  Attributes:
    ours: tuple of ends of our names of layers, all equally wide.
    theirs: the same of its layers, by names that `Family.names` has for them.
    order: str, of its columns: "as ours"; "head by head", all that belongs to
      a head in turn; "halves swapped"; "pairs", the elements of a head that
      turn together next to each other.
    switch: str, the field of a configuration without which they are ours, or
      None.
  """

  ours: tuple
  theirs: tuple
  order: str = "as ours"
  switch: str | None = None


# Query, key and value in one matrix; the halves of a gated layer in two.
FUSED_PROJECTIONS = Columns(
  tuple(f"attention/self/{name}" for name in ("query", "key", "value")),
  ("attention/self/in_proj",),
)
TWO_GATES = Columns(
  ("intermediate/dense",),
  ("intermediate/gate", "intermediate/up"),
  switch="gated_feed_forward",
)


@dataclasses.dataclass(frozen=True)
class Framing:
  """Framing: the special tokens and segments of a text or pair.

  [CLS] A [SEP] or [CLS] A [SEP] B [SEP], under the vocabulary's own names; or
  with [CLS] at the end; or without one of the two (A </s> B </s> of T5, <s> A
  <s> B of Llama) or both.

  Attributes:
    separators: int, how many [SEP] stand between the texts of a pair.
    segments: bool, whether the segment ids of B and the [SEP] after it are 1;
      otherwise all are 0.
    cls_at_end: bool, whether [CLS] is the last token; its segment id is then 2
      if there are segments, and padding comes first, of segment 3.
    begin: bool, whether there is a [CLS]; without `end`, before each text.
    end: bool, whether there is a [SEP].
  """

  separators: int = 1
  segments: bool = True
  cls_at_end: bool = False
  # Fingerprints of vocabularies are made of the others.
  begin: bool = dataclasses.field(default=True, repr=False)
  end: bool = dataclasses.field(default=True, repr=False)

  @property
  def roles(self):
    """Roles of its special tokens, tuple."""
    return ("cls",) * self.begin + ("sep",) * self.end

  @property
  def num_before(self):
    """Number of special tokens before the first text, int."""
    return int(self.begin and not self.cls_at_end)

  @property
  def num_after(self):
    """Number of special tokens after the last text, int."""
    return self.end + self.cls_at_end

  def cls_place(self, length):
    """Returns the place of [CLS] in a row of that many tokens; any integer.

    Without [CLS], that of the first token.
    """
    return length - 1 if self.cls_at_end else 0 * length

  def template(self, num_texts):
    """Returns the tokens around one or two texts, in order.

    Returns:
      list of (role or text, segment id): "cls", "sep", "A" or "B".
    """
    begin, end = (["cls"] * self.num_before, ["sep"] * self.end)
    tokens = [(name, 0) for name in (*begin, "A", *end)]
    if num_texts == 2:
      second = int(self.segments)
      tokens += (self.separators - 1) * [("sep", 0)]
      begin = [] if self.end else begin
      tokens += [(name, second) for name in (*begin, "B", *end)]
    return tokens + self.cls_at_end * [("cls", 2 * self.segments)]


@dataclasses.dataclass(frozen=True)
class PieceIds:
  """Token ids of SentencePiece models that differ from the model's ids.

  fairseq puts special tokens before the pieces and [MASK] after them.

  Attributes:
    before: tuple of tokens with the first ids.
    skipped: int, pieces at the beginning of the model that are left out; what
      the text has of them has the id of the token of that name.
    after: tuple of tokens with the last ids.
  """

  before: tuple
  skipped: int
  after: tuple = ("<mask>",)

  def tokens(self, pieces):
    """Returns the tokens by id, list of str.

    Args:
      pieces: list of str, those of the model. With a mask among them, it was
        not made by fairseq, and has the ids already.
    """
    if {"[MASK]", "<mask>"} & set(pieces):
      return pieces
    return [*self.before, *pieces[self.skipped :], *self.after]


@dataclasses.dataclass(frozen=True, kw_only=True)
class GoogleLayout:
  """Files and names in Google's releases of a family.

  Attributes:
    checkpoint: str, prefix of the files of a TensorFlow checkpoint.
    config_file: str, name of the configuration.
    names: pairs of names of weights; where none fits, theirs are ours.
    marks: tuple of keys, by any of which a configuration is known to be of this
      family; empty if it has a `model_type`, or is BERT's.
    constants: {key: value}, in every configuration and of no meaning here.
    activations: {theirs: ours}, where they call an activation otherwise.
    own_fields: tuple of fields that are written besides, for our own code.
    has_state_file: bool, whether their code finds a checkpoint by the file
      `checkpoint` beside it.
    sentencepiece_file: str, name of a SentencePiece model.
    only_weights: tuple of beginnings of our names that only checkpoints of this
      family have, of releases without a configuration.
    head_size: int, of all such releases.
  """

  checkpoint: str
  config_file: str = "bert_config.json"
  names: tuple = GOOGLE_CLASSIFIER
  marks: tuple = ()
  constants: dict = dataclasses.field(default_factory=dict)
  activations: dict = dataclasses.field(default_factory=dict)
  own_fields: tuple = ()
  has_state_file: bool = False
  sentencepiece_file: str = "spiece.model"
  only_weights: tuple = ()
  head_size: int = 64


@dataclasses.dataclass(frozen=True, kw_only=True)
class KerasHubLayout:
  """Configuration and names in presets of KerasHub.

  Attributes:
    backbone: str, the class.
    config_keys: {field of `EncoderConfig`: key of the backbone's config}.
    implied: {field: value} that no key says.
    fixed: {key: value}, the only value that we know.
    names: pairs of names of layers, before those of all families.
  """

  backbone: str
  config_keys: dict = dataclasses.field(default_factory=lambda: KERAS_HUB_KEYS)
  implied: dict = dataclasses.field(default_factory=dict)
  fixed: dict = dataclasses.field(default_factory=dict)
  names: tuple = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Family:
  """A family of models: everything specific to it.

  Attributes:
    name: str, the `model_type` in a config.json.
    old_names: tuple of str, others that it has in files to read.
    marks: {key: value} of a config.json that has the name of another family, by
      all of which it is known to be of this one; empty without such files.
    tasks_key: str, the key of a config.json that lists the tasks for which the
      weights hold adapters, or None.
    class_stem: str, what the classes in `transformers` begin with, such as
      "Bert" in "BertModel" and "BertTokenizer".
    presets: {name: {field of `EncoderConfig`: value}}, its released sizes.

    config_keys: {field of `EncoderConfig`: key of a config.json}.
    implied: {field: value} that no key says.
    constants: {key: value} of a config.json that is not made from another.
    fixed: {key: value} of a config.json, the only value that we know.
    defaults: {field: value}, where a config.json leaves a key out and the
      family's value in `transformers` is not `EncoderConfig`'s.
    values: {key: {theirs: ours}}, all values of keys that have others there.
    head_size_key: str, what a config.json calls the size of a head; where it
      has another name than ours, it is always written.
    read: function (values of a config.json, where they are from) that returns
      them with the keys of `config_keys`, and raises ValueError where keys
      contradict each other; None where there is nothing to do.
    write: function (values with these keys, `configs.EncoderConfig`) that
      returns them as they are written; None where they are.
    columns: tuple of `Columns`, of layers whose matrices `transformers` has in
      another form.
    copies: {name in `transformers`: tuple of names of the same parameter in
      models whose output matrix is not the table}.
    as_rows: tuple of our names of vectors that are stored as matrices of a row.
    bare_heads: tuple of str, heads of models whose names have no prefix.
    transposes_kernels: bool, whether the matrices of dense layers are stored as
      [out, in].
    sentence_logits: str, name in `transformers` of the logits of a pair in
      pre-training.
    spare: tuple of our names of weights that a checkpoint may have beside the
      encoder, for something else.

    names: pairs of names of weights in `transformers`.
    head_names: {head: the same, before them, in models with that head}.
    every_head: tuple of beginnings of our names, of weights that models with
      any head have.
    parameters: pairs of whole names of parameters whose names there do not end
      with "weight" or "bias".
    prefix: str, what names of the encoder begin with in models with a head.
    old_prefixes: tuple of others in files to read.
    encoder_parts: tuple of what they begin with in a bare encoder.
    has_pooler: bool, whether the bare encoder has a pooler.
    causal_class: str, the class of a left-to-right model, after `class_stem`.
    architectures: {head: str}, classes that have other names than in most
      families, after `class_stem`.
    google: `GoogleLayout`, None if Google's code has no such model.
    keras_hub: `KerasHubLayout`, None if its presets are not read.

    framing: `Framing` of texts.
    special_tokens: {role: token}, where released vocabularies hold other usual
      names too.
    sentencepiece_file: str, name of a SentencePiece model in `transformers`.
    sentencepiece_options: {option: value}, how text is prepared for it where a
      tokenizer_config.json of `transformers` leaves it out; None if the family
      has no such models.
    piece_ids: `PieceIds`, None where the ids are those of the model.
  """

  name: str
  class_stem: str
  old_names: tuple = ()
  marks: dict = dataclasses.field(default_factory=dict)
  tasks_key: str | None = None
  presets: dict = dataclasses.field(default_factory=dict)

  config_keys: dict = dataclasses.field(default_factory=lambda: CONFIG_KEYS)
  implied: dict = dataclasses.field(default_factory=dict)
  constants: dict = dataclasses.field(default_factory=dict)
  fixed: dict = dataclasses.field(default_factory=lambda: FIXED)
  defaults: dict = dataclasses.field(default_factory=lambda: BERT_DEFAULTS)
  values: dict = dataclasses.field(default_factory=dict)
  head_size_key: str = HEAD_SIZE
  read: Callable | None = None
  write: Callable | None = None
  columns: tuple = ()
  copies: dict = dataclasses.field(default_factory=dict)
  as_rows: tuple = ()
  bare_heads: tuple = ("encoder",)
  transposes_kernels: bool = True
  sentence_logits: str = "seq_relationship_logits"
  spare: tuple = ()

  names: tuple
  head_names: dict = dataclasses.field(default_factory=dict)
  every_head: tuple = ()
  parameters: tuple = ()
  prefix: str
  old_prefixes: tuple = ()
  encoder_parts: tuple = ("embeddings", "encoder", "pooler")
  has_pooler: bool = True
  causal_class: str = "ForCausalLM"
  architectures: dict = dataclasses.field(default_factory=dict)
  google: GoogleLayout | None = None
  keras_hub: KerasHubLayout | None = None

  framing: Framing = Framing()
  special_tokens: dict = dataclasses.field(default_factory=dict)
  sentencepiece_file: str = "spiece.model"
  sentencepiece_options: dict | None = None
  piece_ids: PieceIds | None = None

  @property
  def start_role(self):
    """Role of the token with which a decoder begins each text, str."""
    ids = self.constants
    start = ids.get("decoder_start_token_id", ids.get("eos_token_id"))
    return "sep" if start == ids.get("eos_token_id") else "pad"

  def piece_tokens(self, pieces):
    """Returns the tokens by id of a SentencePiece model with `pieces`, list."""
    return self.piece_ids.tokens(pieces) if self.piece_ids else pieces


def check_fixed(values, fixed, origin):
  """Checks that a configuration asks for nothing that we do not know.

  Args:
    values: dict, of a configuration file.
    fixed: {key: the only value that we know}; null counts as left out.
    origin: str, the file, for messages.

  Raises:
    ValueError: it has another value.
  """
  for key, only in fixed.items():
    if values.get(key, only) not in (only, None):
      raise ValueError(
        f"{key} ({values[key]!r}) in {origin} is not supported; only {only!r} "
        "is."
      )


def size(num_hidden_layers, hidden_size, **others):
  """Returns the fields of a preset: heads of size 64, I = 4 H.

  Args:
    num_hidden_layers: int.
    hidden_size: int, H.
    **others: further fields, or these otherwise.
  """
  return {
    "hidden_size": hidden_size,
    "num_hidden_layers": num_hidden_layers,
    "num_attention_heads": hidden_size // 64,
    "intermediate_size": 4 * hidden_size,
    **others,
  }
