"""A tiny model of every head, requests to it, and what it has to answer.

What is expected comes from the eager model and from pieces split by hand; only
of question answering, token classification and generation, whose answers have
tests of their own, from the servable, op by op.
"""

from typing import NamedTuple

import keras
import numpy as np
import tensorflow as tf

from keras_bert_impl import models, tokenizers
from keras_bert_impl.kinds.answers import answer_servable
from keras_bert_impl.kinds.choices import choice_servable
from keras_bert_impl.kinds.embeddings.servables import text_vectors
from keras_bert_impl.kinds.fill_mask import (
  fill_mask_servable,
  replaced_tokens_servable,
)
from keras_bert_impl.kinds.generation import generation_servable
from keras_bert_impl.kinds.tags import tag_servable
from keras_bert_impl.kinds.texts import text_servables
from keras_bert_impl.serving import servables
from tests import slow
from tests.serving import toy

NAMES = (
  "classification_of_pairs",
  "multi_label",
  "regression",
  "multiple_choice",
  "question_answering",
  "token_classification",
  "fill_mask",
  "encoder",
  "replaced_tokens",
)
# Generation, by each search.
SEARCHES = ("generation", "generation_by_beams", "generation_drawn")
# The heads that say where something stands, or that write, with the other kinds
# of tokenizers: these have graphs of their own for that.
OTHER_TOKENIZERS = {
  f"{name}_of_{kind}": (name, kind)
  for name in ("question_answering", "token_classification", "generation")
  for kind in ("byte_bpe", "sentencepiece", "kobart", "t5")
}
ALL = (*NAMES, *SEARCHES, *OTHER_TOKENIZERS)
# Heads that every run exports; `test_heads.py` asks all of them op by op.
QUICK = ("classification_of_pairs", "regression")
EXPORTED = slow.all_but(QUICK, ALL)
LABELS = ("no", "예", "maybe")
TAGS = ("O", "B-CAT", "I-CAT", "B-MAT", "I-MAT")
TOP_K = 3

# Text and its pieces, by hand: mixed lengths, an empty string, what looks like
# a special token, bytes that are no UTF-8; the last of these, and of the others
# below, has more than there is room for.
TEXTS = {
  "The CATS sat.": "the cat ##s sat .",
  "": "",
  "고양이가 앉았다": "고양이 ##가 앉 ##았다",
  "the [SEP] mat": "the [ [UNK] ] mat",
  "the [MASK]": "the [ mask ]",
  b"the \xffcat\xe4\xb8": "the cat",
  "cat " * 40: "cat " * (toy.MAX_SEQ_LENGTH - 2),
}
PAIRS = {
  ("the cat", "sat on the mat."): ("the cat", "sat on the mat ."),
  ("", ""): ("", ""),
  ("cat", "[SEP]"): ("cat", "[ [UNK] ]"),
  # Room for 13 pieces, just enough or off the end of the longer one.
  ("cat " * 11, "the mat"): ("cat " * 11, "the mat"),
  ("cat " * 20, "the mat"): ("cat " * 11, "the mat"),
}
CHOICES = {
  ("the cat", ("sat", "mat sat on.", "")): ("sat", "mat sat on .", None),
  ("", ("", "", "cats")): (None, None, "cat ##s"),
  ("the cat", ("", "", "")): (None, None, None),
  ("the cat", ("sat", "mat " * 20, "")): ("sat", "mat " * 11, None),
}
MASKED_TEXTS = {
  "The [MASK] sat on [MASK].": "the [MASK] sat on [MASK] .",
  "the cat": "the cat",
  "cat[MASK]s[MASK][MASK]": "cat [MASK] s [MASK] [MASK]",
  "고양이가 [MASK]": "고양이 ##가 [MASK]",
  "": "",
  # Room for 14 pieces: the second mask is cut off.
  "cat " * 13 + "[MASK] [MASK]": "cat " * 13 + "[MASK]",
}
# Places of the pieces of TEXTS.
OFFSETS = (
  ((0, 3), (4, 7), (7, 8), (9, 12), (12, 13)),
  (),
  ((0, 3), (3, 4), (5, 6), (6, 8)),
  ((0, 3), (4, 5), (5, 8), (8, 9), (10, 13)),
  ((0, 3), (4, 5), (5, 9), (9, 10)),
  ((0, 3), (4, 7)),
  tuple((4 * i, 4 * i + 3) for i in range(toy.MAX_SEQ_LENGTH - 2)),
)
# A pair and a padded one, as a client sends them that tokenizes itself.
TOKEN_IDS = {
  "input_ids": np.array(
    [[2, 5, 6, 3, 5, 11, 3], [2, 6, 3, 6, 3, 0, 0]], np.int32
  ),
  "input_mask": np.array([[1] * 7, [1, 1, 1, 1, 1, 0, 0]], np.int32),
  "segment_ids": np.array(
    [[0, 0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 0, 0]], np.int32
  ),
}


class Head(NamedTuple):
  """A servable and what it has to answer.

  Attributes:
    servable: `servables.Servable`.
    model: the eager model.
    requests: {signature: {input: array}}.
    expected: {signature: {output: array}}.
  """

  servable: servables.Servable
  model: keras.Model
  requests: dict
  expected: dict


def make(name, folder):
  """Returns the `Head` of one of `ALL`.

  Args:
    name: str.
    folder: `pathlib.Path`, where the vocabulary is or is written; it is needed
      until the servable is saved.
  """
  head, kind = OTHER_TOKENIZERS.get(name, (name, None))
  keras.utils.set_random_seed(0)
  return _MAKERS[head](_other_tokenizer(kind, folder) if kind else _toy(folder))


def _toy(folder):
  vocab_file = folder / "vocab.txt"
  if not vocab_file.exists():
    toy.write_vocabulary(vocab_file)
  return toy.tokenizer(vocab_file)


def _other_tokenizer(kind, folder):
  write, settings = toy.KINDS[kind]
  (folder / kind).mkdir(exist_ok=True)
  return tokenizers.load(write(folder / kind), **settings)


def serialized(texts):
  """Returns the tf.Examples of {input: string [B, ...]}, bytes [B]."""
  examples = []
  for row in zip(*texts.values(), strict=True):
    example = tf.train.Example()
    for name, value in zip(texts, row, strict=True):
      strings = value if isinstance(value, np.ndarray) else [value]
      example.features.feature[name].bytes_list.value.extend(strings)
    examples.append(example.SerializeToString())
  return np.array(examples, object)


def softmax(logits):
  exponents = np.exp(logits - np.max(logits, axis=-1, keepdims=True))
  return exponents / exponents.sum(axis=-1, keepdims=True)


def _classification_of_pairs(tokenizer):
  model = models.SequenceClassifier(toy.config(tokenizer), len(LABELS))
  servable = text_servables.ClassificationServable(
    model, tokenizer, toy.MAX_SEQ_LENGTH, LABELS, text_pairs=True
  )
  texts, text_pairs = zip(*PAIRS, strict=True)
  request = {"text": _strings(texts), "text_pair": _strings(text_pairs)}
  batch = toy.batch_of(*zip(*PAIRS.values(), strict=True))
  probabilities = softmax(_outputs(model, batch)["logits"])
  labels = _strings(LABELS)
  answer = {
    "label": labels[probabilities.argmax(axis=1)],
    "score": probabilities.max(axis=1),
    "labels": np.tile(labels, (len(probabilities), 1)),
    "probabilities": probabilities,
    "is_cut": is_last(probabilities),
  }
  return _head(servable, model, request, answer)


def _multi_label(tokenizer):
  model = models.SequenceClassifier(toy.config(tokenizer), len(LABELS))
  servable = text_servables.MultiLabelServable(
    model, tokenizer, toy.MAX_SEQ_LENGTH, LABELS
  )
  logits = _outputs(model, toy.batch_of(TEXTS.values()))["logits"]
  found = ["|".join(np.array(LABELS)[row > 0]) for row in logits]
  assert {"", "예"} & {*found} and len({*found}) > 2
  answer = {
    "label": _strings(found),
    "labels": np.tile(_strings(LABELS), (len(TEXTS), 1)),
    "probabilities": 1 / (1 + np.exp(-logits)),
    "is_cut": is_last(TEXTS),
  }
  return _head(servable, model, {"text": _strings(TEXTS)}, answer)


def is_last(rows):
  """Returns boolean [B], whether a row is the last one."""
  return np.arange(len(rows)) == len(rows) - 1


def _regression(tokenizer):
  model = models.SequenceClassifier(toy.config(tokenizer), 1)
  servable = text_servables.RegressionServable(
    model, tokenizer, toy.MAX_SEQ_LENGTH
  )
  logits = _outputs(model, toy.batch_of(TEXTS.values()))["logits"]
  request = {"text": _strings(TEXTS)}
  answer = {"scores": logits[:, 0], "is_cut": is_last(TEXTS)}
  return _head(servable, model, request, answer)


def _multiple_choice(tokenizer):
  model = models.MultipleChoice(toy.config(tokenizer))
  servable = choice_servable.MultipleChoiceServable(
    model, tokenizer, toy.MAX_SEQ_LENGTH
  )
  probabilities = np.zeros((len(CHOICES), 3), np.float32)
  for row, ((text, _), choices) in zip(probabilities, CHOICES.items()):
    if real := [choice for choice in choices if choice is not None]:
      batch = toy.batch_of([text] * len(real), real)
      batch = {key: ids[np.newaxis] for key, ids in batch.items()}
      logits = _outputs(model, batch)["logits"][0]
      row[[choice is not None for choice in choices]] = softmax(logits)
  has_choice = probabilities.any(axis=1)
  best = np.where(has_choice, probabilities.argmax(axis=1), -1)
  request = {
    "text": _strings(text for text, _ in CHOICES),
    "choices": np.stack([_strings(choices) for _, choices in CHOICES]),
  }
  answer = {
    "choice": best.astype(np.int32),
    "probabilities": probabilities,
    "is_cut": is_last(CHOICES),
  }
  ids = {key: ids[:, np.newaxis] for key, ids in TOKEN_IDS.items()}
  return _head(servable, model, request, answer, ids)


def _question_answering(tokenizer):
  model = models.QuestionAnswering(toy.config(tokenizer))
  servable = answer_servable.QuestionAnsweringServable(
    model,
    tokenizer,
    toy.MAX_SEQ_LENGTH,
    doc_stride=3,
    max_query_length=4,
    max_answer_length=5,
    null_score_diff_threshold=0.0,
    max_windows=3,
  )
  contexts = _strings(TEXTS)
  request = {
    "text": _strings(["the cat?"] * len(contexts)),
    "text_pair": contexts,
  }
  return _head(servable, model, request, _eager(servable.answer, request))


def _token_classification(tokenizer):
  model = models.TokenClassifier(toy.config(tokenizer), len(TAGS))
  servable = tag_servable.TokenClassificationServable(
    model, tokenizer, toy.MAX_SEQ_LENGTH, TAGS, max_windows=3
  )
  request = {"text": _strings(TEXTS)}
  return _head(servable, model, request, _eager(servable.answer, request))


def _fill_mask(tokenizer):
  model = models.PretrainingModel(toy.config(tokenizer))
  servable = fill_mask_servable.FillMaskServable(
    model, tokenizer, toy.MAX_SEQ_LENGTH, TOP_K
  )
  return _head(
    servable,
    model,
    {"text": _strings(MASKED_TEXTS)},
    fillings(model, TOP_K),
    raw=lambda ids: {"token_logits": _logits_everywhere(model, ids)},
  )


def fillings(model, top_k):
  """Returns what a `PretrainingModel` puts into MASKED_TEXTS."""
  logits = _logits_everywhere(model, toy.batch_of(MASKED_TEXTS.values()))
  probabilities = softmax(logits)  # [B, L, V]
  places = [
    [i for i, piece in enumerate(pieces.split(), 1) if piece == "[MASK]"]
    for pieces in MASKED_TEXTS.values()
  ]
  num_masks = [len(row) for row in places]
  shape = (len(places), max(num_masks), top_k)
  scores, filled = np.zeros(shape, np.float32), np.full(shape, b"", object)
  for row, columns in enumerate(places):
    for mask, column in enumerate(columns):
      best = np.argsort(-probabilities[row, column])[:top_k]
      filled[row, mask] = _strings(toy.TOKENS)[best]
      scores[row, mask] = probabilities[row, column, best]
  return {
    "num_masks": np.array(num_masks, np.int32),
    "tokens": filled,
    "scores": scores,
    "is_cut": is_last(MASKED_TEXTS),
  }


def _logits_everywhere(model, batch):
  length = batch["input_ids"].shape[1]
  places = np.tile(
    np.arange(length, dtype=np.int32), (len(batch["input_ids"]), 1)
  )
  batch = batch | {"masked_lm_positions": places}
  return _outputs(model, batch)["token_logits"]


def _encoder(tokenizer):
  model = models.TransformerEncoder(toy.config(tokenizer))
  servable = text_vectors.EncoderServable(
    model, tokenizer, toy.MAX_SEQ_LENGTH, pooling="mean", normalize=True
  )
  batch = toy.batch_of(TEXTS.values())
  hidden = _outputs(model, batch)["sequence_output"]
  described, is_token = _tokens()
  head = _head(
    servable,
    model,
    {"text": _strings(TEXTS)},
    {
      "embeddings": mean(hidden, batch["input_mask"]),
      "is_cut": is_last(TEXTS),
    },
    raw=lambda ids: _encoded(model, ids),
  )
  head.requests["token_embeddings"] = head.requests["serving_default"]
  head.expected["token_embeddings"] = described | {
    "embeddings": hidden[:, 1:-1] * is_token[..., np.newaxis]
  }
  return head


def _encoded(model, ids):
  outputs = _outputs(model, ids)
  pooled = mean(outputs["sequence_output"], ids["input_mask"])
  return outputs | {"embeddings": pooled}


def mean(hidden, mask):
  """Returns the mean of [B, L, H] where mask is 1, at length 1."""
  means = [row[is_token == 1].mean(0) for row, is_token in zip(hidden, mask)]
  return np.stack([vector / np.linalg.norm(vector) for vector in means])


def _generation(tokenizer, **values):
  config = toy.config(tokenizer, use_causal_mask=True)
  return _writer(models.MaskedLanguageModel(config), tokenizer, values)


def _generation_drawn(tokenizer):
  return _generation(tokenizer, do_sample=True, top_k=9, top_p=0.9)


def _generation_by_beams(tokenizer):
  config = toy.config(tokenizer, num_decoder_layers=1)
  values = {"num_beams": 3, "num_return_sequences": 2, "min_new_tokens": 2}
  values |= {"no_repeat_ngram_size": 2, "repetition_penalty": 1.2}
  return _writer(models.EncoderDecoder(config), tokenizer, values)


def _writer(model, tokenizer, values):
  servable = generation_servable.GenerationServable(
    model, tokenizer, toy.MAX_SEQ_LENGTH, start=2, max_new_tokens=6, **values
  )
  texts = {"text": _strings(TEXTS)}
  pairs = texts | {"candidate": _strings([*TEXTS][::-1])}
  ids = {name: TOKEN_IDS[name] for name in servable.id_names}
  head = _head(
    servable,
    model,
    texts,
    _eager(servable.answer, texts),
    ids,
    lambda ids: _eager(servable.answer_ids, ids),
  )
  head.requests.update({"generate": texts, "score": pairs})
  head.expected["generate"] = head.expected["serving_default"]
  head.expected["score"] = _eager(servable.score, pairs)
  return head


def _replaced_tokens(tokenizer):
  model = models.ReplacedTokenDetector(toy.config(tokenizer))
  servable = replaced_tokens_servable.ReplacedTokensServable(
    model, tokenizer, toy.MAX_SEQ_LENGTH
  )
  logits = _outputs(model, toy.batch_of(TEXTS.values()))["logits"]
  described, is_token = _tokens()
  answer = described | {
    "probabilities": is_token / (1 + np.exp(-logits[:, 1:-1]))
  }
  return _head(servable, model, {"text": _strings(TEXTS)}, answer)


def _tokens():
  """Returns what is said of the tokens of TEXTS, and float32 [B, T], 1 or 0."""
  pieces = [_strings(row.split()) for row in TEXTS.values()]
  shape = (len(pieces), max(map(len, pieces)))
  tokens = np.full(shape, b"", object)
  starts, ends, is_token = np.zeros((3, *shape), np.int32)
  for index, (row, places) in enumerate(zip(pieces, OFFSETS, strict=True)):
    tokens[index, : len(row)] = row
    is_token[index, : len(row)] = 1
    for column, (start, end) in enumerate(places):
      starts[index, column], ends[index, column] = start, end
  described = {
    "num_tokens": is_token.sum(axis=1, dtype=np.int32),
    "tokens": tokens,
    "starts": starts,
    "ends": ends,
    "is_cut": is_last(pieces),
  }
  return described, is_token.astype(np.float32)


def _head(servable, model, request, answer, ids=None, raw=None):
  """Returns the `Head` with the signatures that are common.

  Args:
    servable: `servables.Servable`.
    model: the eager model.
    request: {input: string [B, ...]}.
    answer: {output: array}, to `request`.
    ids: {input: int32}, other token ids than `TOKEN_IDS`.
    raw: ids -> {output: array}, if not what the model says of them.
  """
  ids = ids or TOKEN_IDS
  requests = {
    "serving_default": request,
    "token_ids": ids,
    "tf_example": {"examples": serialized(request)},
  }
  expected = {
    "serving_default": answer,
    "token_ids": raw(ids) if raw else _outputs(model, ids),
    "tf_example": answer,
  }
  if "label" in answer:
    requests["classify"] = {"inputs": serialized(request)}
    expected["classify"] = {
      "classes": answer["labels"],
      "scores": answer["probabilities"],
    }
  if "scores" in answer and servable.head == "regression":
    requests["regress"] = {"inputs": serialized(request)}
    expected["regress"] = {"outputs": answer["scores"][:, np.newaxis]}
  return Head(servable, model, requests, expected)


def _eager(function, request):
  tensors = {name: tf.constant(values) for name, values in request.items()}
  answer = function(**tensors)
  return {name: value.numpy() for name, value in answer.items()}


def _outputs(model, batch):
  return {k: v.numpy() for k, v in model(batch, training=False).items()}


def _strings(texts):
  return np.array(
    [text if isinstance(text, bytes) else text.encode() for text in texts],
    object,
  )


_MAKERS = {name: globals()[f"_{name}"] for name in (*NAMES, *SEARCHES)}
