"""A table at a scale so small that a test can wait for it."""

from keras_bert_impl.ablation import scales
from tests.official_tasks import scripts


def write_corpus(path, num_documents=60):
  lines = []
  for number in range(num_documents):
    for place in range(6):
      lines.append(f"여기, 고양이 {number} 마리가 {place} 번 앉았다.")
    lines.append("")
  path.write_text("\n".join(lines), encoding="utf-8")


def make_small():
  """Makes the scale tiny so small that a test can wait."""
  scales.SCALES["tiny"] = scales.Scale(
    size=(2, 16, 2),
    shrink=None,
    vocab_size=100,
    max_seq_length=32,
    records={"max_predictions_per_seq": 5, "dupe_factor": 1},
    pretraining={
      "train_batch_size": 8,
      "num_train_steps": 4,
      "num_warmup_steps": 1,
    },
    fine_tuning={"train_batch_size": 8, "num_train_epochs": 1},
    features={},
    answers={"max_query_length": 8},
    num_restarts=2,
    num_points=2,
  )


def start(folder, **flags):
  """Starts a table on a few sentences, of which it needs no held-out ones."""
  folder.mkdir(exist_ok=True)
  write_corpus(folder / "corpus.txt")
  return scripts.start(
    "run_ablation",
    before=make_small,
    corpus=folder / "corpus.txt",
    model_dir=folder / "models",
    **flags,
  )


def write_pairs(path, label=None, labels=(), count=24):
  """Writes a table of GLUE: words of the corpus, with labels or without."""
  lines = [["index", "sentence1", "sentence2", label]]
  for number in range(count):
    value = labels[number % len(labels)] if labels else None
    word = ("여기", "고양이", "마리가", "번", "앉았다")[number % 5]
    lines.append([str(number), word, "고양이 .", value])
  path.parent.mkdir(parents=True, exist_ok=True)
  rows = ["\t".join(filter(None, line)) + "\n" for line in lines]
  path.write_text("".join(rows), encoding="utf-8")
