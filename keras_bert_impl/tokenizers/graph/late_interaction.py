"""Inputs of late interaction (ColBERT): queries and documents, in graph ops.

  query     [CLS] [Q] tokens [SEP] [MASK] [MASK] ...  of one length; all vectors
            are compared, those of the masks too ("query augmentation")
  document  [CLS] [D] tokens [SEP]                    all but punctuation

Source: Khattab and Zaharia 2020, "ColBERT", section 3.2; the markers and
whether the masks are attended to, as in stanford-futuredata/ColBERT.
"""

import dataclasses
import string

from etils import epy

from keras_bert_impl import calls, features, options

with epy.lazy_imports():
  import tensorflow as tf

  from keras_bert_impl.tokenizers.graph import prompts

QUERY, DOCUMENT = KINDS = ("query", "document")


@calls.checked_init
@dataclasses.dataclass(frozen=True, kw_only=True)
class LateInteraction:
  """How texts are made ready, by the names of PyLate's settings.

  Attributes:
    query_prefix: str, the token after [CLS] of a query; "" for none.
    document_prefix: str, the same of a document.
    query_length: int, tokens of a query, to which it is filled up or cut.
    do_query_expansion: bool, whether [MASK] fills queries up and is compared.
    attend_to_expansion_tokens: bool, whether the tokens of a query see it.
    skiplist_words: tuple of str, tokens of documents that are not compared.

  Raises:
    ValueError: query_length is out of range, or a word is no text.
  """

  query_prefix: str = "[unused0]"
  document_prefix: str = "[unused1]"
  query_length: int = 32
  do_query_expansion: bool = True
  attend_to_expansion_tokens: bool = False
  skiplist_words: tuple[str, ...] = tuple(string.punctuation)

  def __post_init__(self):
    options.check_integers("[4, 100000]", query_length=self.query_length)
    odd = [x for x in self.skiplist_words if not isinstance(x, str)]
    if odd:
      raise ValueError(
        f"skiplist_words ({odd[0]!r} among them) must be texts: tokens."
      )
    # Of a list, no graph would have a name.
    object.__setattr__(self, "skiplist_words", tuple(self.skiplist_words))

  def marker(self, vocabulary, kind):
    """Returns the ids of the marker, list of one int or none.

    Args:
      vocabulary: `Vocabulary`.
      kind: one of `KINDS`.

    Raises:
      ValueError: it is no token of the vocabulary.
    """
    prefix = getattr(self, f"{kind}_prefix")
    if prefix and prefix not in vocabulary.ids:
      raise ValueError(
        f"{kind}_prefix ({prefix!r}) is no token of {vocabulary.origin}: give"
        " one that is, or '' for no marker."
      )
    return [vocabulary.ids[prefix]] if prefix else []

  def check_length(self, longest):
    """Raises ValueError if a query is longer than `longest`, int or None."""
    if longest is not None and self.query_length > longest:
      raise ValueError(
        f"query_length ({self.query_length}) must be at most {longest}, the"
        " most that documents or the model may have."
      )

  def encode(self, tokenizer, texts, kind, prompt, max_seq_length, lower=False):
    """Tokenizes texts.

    Args:
      tokenizer: `Tokenizer`.
      texts: string [B], or list of str.
      kind: one of `KINDS`.
      prompt: str, to put before each text.
      max_seq_length: int, most tokens of a document.
      lower: bool, whether to lower-case texts before the tokenizer.

    Returns:
      {name: int32 [B, L]}, the inputs of `MultiVectorEmbeddingModel`:
      pooling_mask is 1 for the tokens that are compared, and input_mask for
      those that are attended to; and bool [B], whether tokens were left out.

    Raises:
      ValueError: as `marker`; or the vocabulary has no mask.
    """
    pieces = prompts.tokenize(tokenizer, texts, prompt, lower)
    marker = self.marker(tokenizer.vocabulary, kind)
    if marker:
      # [B, 1], and so many rows of no tokens too.
      first = tf.fill([pieces.nrows(out_type=tf.int32), 1], marker[0])
      pieces = tf.concat([first, pieces], axis=1)
    length = self.query_length if kind == QUERY else max_seq_length
    expands = kind == QUERY and self.do_query_expansion
    inputs = tokenizer.assemble(
      pieces,
      max_seq_length=length,
      padding="max_length" if expands else "longest",
    )
    is_cut = pieces.row_lengths() > length - tokenizer.num_special_tokens(1)
    ids, mask = inputs[features.INPUT_IDS], inputs[features.INPUT_MASK]
    compared = mask
    if expands:
      compared = tf.ones_like(mask)
      mask_id = tokenizer.vocabulary.mask_id
      inputs[features.INPUT_IDS] = tf.where(mask > 0, ids, mask_id)
      if self.attend_to_expansion_tokens:
        inputs[features.INPUT_MASK] = compared
    elif kind == DOCUMENT:
      known = tokenizer.vocabulary.ids
      skipped = [known[word] for word in self.skiplist_words if word in known]
      is_skipped = ids[..., tf.newaxis] == tf.constant(skipped, tf.int32)
      compared = mask * tf.cast(~tf.reduce_any(is_skipped, axis=-1), tf.int32)
    return inputs | {features.POOLING_MASK: compared}, is_cut

  def spans(self, tokenizer, texts, kind, prompt, length, lower=False):
    """Returns the characters of the tokens of texts, as rows have them.

    Args:
      tokenizer: as of `encode`.
      texts: as of `encode`.
      kind: as of `encode`.
      prompt: as of `encode`.
      length: int32 [], L of the rows.
      lower: as of `encode`.

    Returns:
      starts and ends, int32 [B, L], -1 of what is not in the text.
    """
    folded = prompts.fold(prompt + tf.convert_to_tensor(texts), lower)
    _, starts, ends = tokenizer.tokenize_with_offsets(folded)
    framing, marker = tokenizer.framing, self.marker(tokenizer.vocabulary, kind)
    before = framing.num_before + len(marker)
    room = length - before - framing.num_after

    def placed(offsets):
      found = offsets[:, :room].to_tensor(-1) - len(prompt)
      after = length - before - tf.shape(found)[1]
      return tf.pad(found, [[0, 0], [before, after]], constant_values=-1)

    starts, ends = placed(starts), placed(ends)
    is_text = starts >= 0  # Neither padding nor of the prompt.
    return tf.where(is_text, starts, -1), tf.where(is_text, ends, -1)
