"""Writes distillation.json: losses of the published codes, computed by torch.

    python -m tests.tasks.pretraining.make_distillation

needs torch and transformers. The teacher is the parity model bert_pretraining,
the student its first and last layer. The losses of DistilBERT are copied from
transformers (examples/research_projects/distillation/distiller.py, `step`);
those of hidden states and attention follow Jiao et al. 2020, section 3, the
relations Wang et al. 2021, section 3.
"""

import json
import math
import pathlib

import torch
import transformers
from torch import nn

TEACHER = pathlib.Path(__file__).parents[2] / "data/parity/bert_pretraining"
TEMPERATURE = 2.0


def make_batch(vocab_size):
  generator = torch.Generator().manual_seed(0)
  ids = torch.randint(5, vocab_size, (2, 8), generator=generator)
  mask = torch.ones_like(ids)
  mask[1, 6:] = 0
  labels = torch.full_like(ids, -100)
  for row, place in ((0, 1), (0, 4), (1, 2)):
    labels[row, place] = ids[row, place]
    ids[row, place] = 4
  return ids * mask, mask, labels


def distilbert(student, teacher, mask, labels):
  """The losses of `Distiller.step`, before their weights."""
  losses = {}
  kl = nn.KLDivLoss(reduction="batchmean")
  chosen = {"all": mask.bool(), "masked": labels > -1}
  for name, tokens in chosen.items():
    select = tokens.unsqueeze(-1).expand_as(student.logits)
    sides = [
      torch.masked_select(x.logits, select).view(-1, x.logits.size(-1))
      for x in (student, teacher)
    ]
    losses[f"soft_target_{name}"] = (
      kl(
        nn.functional.log_softmax(sides[0] / TEMPERATURE, dim=-1),
        nn.functional.softmax(sides[1] / TEMPERATURE, dim=-1),
      )
      * TEMPERATURE**2
    )
  logits = student.logits
  losses["masked_lm"] = nn.CrossEntropyLoss(ignore_index=-100)(
    logits.view(-1, logits.size(-1)), labels.view(-1)
  )
  hidden = [x.hidden_states[-1] for x in (student, teacher)]
  select = mask.bool().unsqueeze(-1).expand_as(hidden[0])
  sides = [torch.masked_select(x, select).view(-1, x.size(-1)) for x in hidden]
  losses["cosine"] = nn.CosineEmbeddingLoss(reduction="mean")(
    *sides, sides[0].new_ones(len(sides[0]))
  )
  return losses


def projections(model, states, layer):
  """Queries, keys and values of a layer, [B, N, L, D]."""
  own = model.bert.encoder.layer[layer].attention.self
  return [
    part(states[layer])
    .view(*states[layer].shape[:2], own.num_attention_heads, -1)
    .transpose(1, 2)
    for part in (own.query, own.key, own.value)
  ]


def scores(a, b):
  return a @ b.transpose(-1, -2) / math.sqrt(a.size(-1))


def tinybert(models, outputs, mask):
  """Mean squared errors over tokens; heads, keys and widths are means, too."""
  real = mask.float()
  hidden = attention = 0.0
  for ours, theirs in ((0, 0), (1, 2), (2, 3)):  # Of 2 layers and of 3.
    errors = (
      outputs[0].hidden_states[ours] - outputs[1].hidden_states[theirs]
    ) ** 2
    hidden += (errors.mean(-1) * real).sum() / real.sum()
    if ours:
      a, b = (
        scores(*projections(model, x.hidden_states, layer - 1)[:2])
        for model, x, layer in zip(models, outputs, (ours, theirs))
      )
      errors = ((a - b) ** 2).mean(1) * real[:, None]
      by_token = errors.sum(-1) / real.sum(-1, keepdim=True)
      attention += (by_token * real).sum() / real.sum()
  return {"hidden": hidden, "attention": attention}


def minilm(models, outputs, mask, heads):
  """KL of relations of the last layers, mean over heads and tokens."""
  real, total = mask.float(), 0.0
  parts = [
    projections(model, x.hidden_states, -1 + len(x.hidden_states) - 1)
    for model, x in zip(models, outputs)
  ]
  for ours, theirs in zip(*parts):
    logs = []
    for x in (ours, theirs):
      batch, _, length, _ = x.shape
      x = x.transpose(1, 2).reshape(batch, length, heads, -1).transpose(1, 2)
      seen = scores(x, x).masked_fill(mask[:, None, None] == 0, -1e9)
      logs.append(seen.log_softmax(-1))
    kl = (logs[1].exp() * (logs[1] - logs[0])).sum(-1).mean(1)
    total += (kl * real).sum() / real.sum()
  return {f"relation_{heads}": total}


def main():
  teacher = transformers.BertForMaskedLM.from_pretrained(TEACHER).eval()
  student = transformers.BertForMaskedLM.from_pretrained(TEACHER).eval()
  del student.bert.encoder.layer[1]
  ids, mask, labels = make_batch(teacher.config.vocab_size)
  models = (student, teacher)
  with torch.no_grad():
    outputs = [
      model(ids, attention_mask=mask, output_hidden_states=True)
      for model in models
    ]
    losses = {
      **distilbert(*outputs, mask, labels),
      **tinybert(models, outputs, mask),
      **minilm(models, outputs, mask, teacher.config.num_attention_heads),
      **minilm(models, outputs, mask, 1),
    }
  content = {
    "input_ids": ids.tolist(),
    "input_mask": mask.tolist(),
    "labels": labels.tolist(),
    "losses": {name: float(loss) for name, loss in losses.items()},
  }
  path = pathlib.Path(__file__).parent / "distillation.json"
  path.write_text(json.dumps(content) + "\n")


if __name__ == "__main__":
  main()
