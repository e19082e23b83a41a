"""Ranks the next sentence among others, by whatever head a model has.

  python benchmarks/next_sentence_benchmark.py --text='held_out/*.txt' \
    bert_run next_sentence_ranking_run gpt_run

Each of 1,000 sentences is put beside the one after it and 19 others of the same
text, drawn by a seed. Printed is the mean reciprocal rank of the one after it,
with its 95 % interval (bootstrap), and how often that is the first:

  NSP head       the logit of "is next" less that of "is not"
  vectors        the cosine
  language model the logarithm of the probability after the sentence: of all
                 tokens; for each byte; less that without the sentence before
"""

import argparse
import random

import numpy as np

import keras_bert_impl as kb
from keras_bert_impl import heads
from keras_bert_impl.checkpoints import reading
from keras_bert_impl.metrics import intervals, ranking
from tfrecords.text import sources

NUM_CANDIDATES = 20
BATCH = 200


def questions(files, number, seed):
  """Returns (sentence, candidates, place of the next) of held-out text."""
  rng = random.Random(seed)
  documents = [*sources.iter_documents(files)]
  pairs = [pair for each in documents for pair in zip(each, each[1:])]
  pairs = [(one, after) for one, after in pairs if one != after]
  everything = [sentence for each in documents for sentence in each]
  found = []
  for one, after in rng.sample(pairs, min(number, len(pairs))):
    candidates = {after: None}
    while len(candidates) < NUM_CANDIDATES:
      candidates[rng.choice(everything)] = None
    candidates = rng.sample([*candidates], NUM_CANDIDATES)
    found.append((one, candidates, candidates.index(after)))
  return found


def of_head(folder, asked):
  """Returns {"NSP head": float [N, 20]}."""
  model = kb.from_checkpoint(folder, heads=True)
  # Without the logits of tokens, which take most of the time.
  model = kb.Model(model.input, model.output["sentence_logits"])
  tokenizer = kb.load_tokenizer(folder)
  length = reading.open_checkpoint(folder).described().config.longest_input
  pairs = [(one, each) for one, others, _ in asked for each in others]
  found = []
  for start in range(0, len(pairs), BATCH):
    texts = zip(*pairs[start : start + BATCH], strict=True)
    rows = tokenizer(*map(list, texts), max_seq_length=length)
    found.append(np.array(model({name: rows[name] for name in model.input})))
  logits = np.concatenate(found).reshape(len(asked), -1, 2)
  return {"NSP head": logits[..., 0] - logits[..., 1]}


def of_vectors(folder, asked):
  """Returns {"vectors": float [N, 20]}."""
  encoder = kb.SentenceEncoder.from_checkpoint(folder)
  sides = [one for one, _, _ in asked], [x for _, xs, _ in asked for x in xs]
  ones, others = (
    vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    for vectors in map(encoder.encode, sides)
  )
  others = others.reshape(len(asked), NUM_CANDIDATES, -1)
  return {"vectors": np.einsum("nd,ncd->nc", ones, others)}


def of_language_model(folder, asked):
  """Returns {how: float [N, 20]} of three ways to compare texts."""
  generator = kb.TextGenerator.from_checkpoint(folder)
  sums, alone = (
    np.array([answer.scores for answer in generator.few_shot(data)["answers"]])
    for data in (
      [{"text": one, "choices": others} for one, others, _ in asked],
      [{"text": "", "choices": others} for _, others, _ in asked],
    )
  )
  sizes = [[len(x.encode()) for x in others] for _, others, _ in asked]
  return {
    "language model, sum": sums,
    "language model, per byte": sums / sizes,
    "language model, less that alone": sums - alone,
  }


def grades(scores, places):
  """Returns the grades of the candidates in their order, float [N, 20]."""
  order = np.argsort(-scores, axis=1, kind="stable")
  return (order == np.array(places)[:, np.newaxis]).astype(float)


def main():
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("folders", nargs="+")
  parser.add_argument("--text", required=True, help="held-out files")
  parser.add_argument("--number", type=int, default=1000)
  parser.add_argument("--seed", type=int, default=0)
  given = parser.parse_args()
  asked = questions(given.text.split(","), given.number, given.seed)
  places = [place for _, _, place in asked]
  by_head = {heads.PRETRAINING: of_head, heads.ENCODER: of_vectors}
  print(f"{len(asked)} sentences, {NUM_CANDIDATES} candidates each")
  for folder in given.folders:
    head = reading.open_checkpoint(folder).described().head
    find = by_head.get(head, of_language_model)
    for name, scores in find(folder, asked).items():
      ranked = grades(scores, places)
      ranks = ranking.of_queries(f"mrr@{NUM_CANDIDATES}", ranked, None)
      table = np.stack([ranks, ranked[:, 0]], axis=1)
      [interval] = intervals.bootstrap(
        lambda rows, weights: {"mrr": weights @ rows[:, 0] / weights.sum(-1)},
        table,
      ).values()
      print(
        f"{folder}  {name}: MRR {ranks.mean():.3f} ({interval.low:.3f} to"
        f" {interval.high:.3f}), first {100 * ranked[:, 0].mean():.1f} %",
        flush=True,
      )


if __name__ == "__main__":
  main()
