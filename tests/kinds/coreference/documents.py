"""Documents whose clusters can be learned, and small files of them."""

import json
import random

from keras_bert_impl import configs
from keras_bert_impl.kinds.coreference import coreference_files
from keras_bert_impl.metrics import conll_documents
from keras_bert_impl.tokenizers.formats import vocabularies

WOMEN, MEN, PLACES = ("ada", "mary"), ("tom", "bob"), ("park", "mill", "sea")
WORDS = (
  *(*WOMEN, *MEN, *PLACES, "she", "he", "her", "him", "saw", "met", "near"),
  *("the", "old", ".", "수진이", "그녀는", "책을", "##a"),
)


def make(number, seed=0, num_sentences=6):
  """Returns documents of a woman, a man and places, which stand alone."""
  rng = random.Random(seed)
  return [_document(rng, k, num_sentences) for k in range(number)]


def _document(rng, number, num_sentences):
  people = (
    (rng.choice(WOMEN), "she", "her"),
    (rng.choice(MEN), "he", "him"),
  )
  sentences, clusters, place = [], {0: [], 1: []}, 0
  for k in range(num_sentences):
    first = rng.randrange(2)
    words = []
    for role, person in ((1, first), (2, 1 - first)):
      is_name = k == 0 or rng.random() < 0.3
      clusters[person].append((place + len(words), place + len(words) + 1))
      words.append(people[person][0 if is_name else role])
      words += [rng.choice(("saw", "met"))] * (role == 1)
    if rng.random() < 0.3:
      start = place + len(words) + 1
      words += ["near", "the", rng.choice(PLACES)]
      clusters[len(clusters)] = [(start, start + 2)]
    sentences.append((*words, "."))
    place += len(words) + 1
  return coreference_files.CoreferenceDocument(
    tuple(sentences),
    tuple(map(tuple, clusters.values())),
    name=f"doc{number}",
    origin=f"doc{number}",
  )


def write(path, documents):
  """Writes documents as CoNLL-2012, or as jsonlines by the name of the path."""
  if path.suffix == ".jsonl":
    lines = [json.dumps(record) for record in records(documents)]
  else:
    lines = [
      line
      for each in documents
      for line in conll_documents.lines_of(
        each.name, each.sentences, each.clusters
      )
    ]
  path.write_text("\n".join(lines) + "\n", encoding="utf-8")
  return str(path)


def records(documents):
  """Returns documents as the class for Python takes them."""
  return [
    {
      "doc_key": each.name,
      "sentences": each.sentences,
      "clusters": [[[a, b - 1] for a, b in x] for x in each.clusters],
    }
    for each in documents
  ]


def write_model_files(folder):
  """Writes vocab.txt and bert_config.json of a tiny model."""
  tokens = [*vocabularies.SPECIAL_TOKENS, *WORDS]
  (folder / "vocab.txt").write_text("\n".join(tokens) + "\n", encoding="utf-8")
  configs.EncoderConfig(
    vocab_size=len(tokens),
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=64,
    max_position_embeddings=64,
    initializer_range=0.2,
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
  ).to_json_file(folder / "bert_config.json")
  return folder
