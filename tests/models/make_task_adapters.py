"""Makes tests/data/task_adapters with transformers, which tests lack.

    python -m tests.models.make_task_adapters

A tiny model with random weights as jinaai/jina-embeddings-v3 stores it: each
weight of a dense layer or table is a parametrization with adapters of five
tasks. expected.npz has the last hidden states of transformers 5.24, whose
weights were merged as modeling_lora.py of
jinaai/xlm-roberta-flash-implementation does: W + alpha / rank * B A.
"""

import json
import pathlib
import tempfile

import numpy as np
import torch
import transformers
from safetensors import torch as safetensors

FOLDER = pathlib.Path(__file__).parents[1] / "data/task_adapters"
TASKS = [
  "retrieval.query",
  "retrieval.passage",
  "separation",
  "classification",
  "text-matching",
]
RANK, ALPHA = 4, 1
SIZES = {
  "vocab_size": 120,
  "hidden_size": 16,
  "num_hidden_layers": 2,
  "num_attention_heads": 2,
  "intermediate_size": 24,
  "max_position_embeddings": 64,
}


def adapters(name, weight):
  """Returns a [tasks, ...] and b [tasks, ...] of a weight [out, in]."""
  out, width = weight.shape
  if name.endswith("_embeddings.weight"):
    shapes = (out, RANK), (RANK, width)
  else:
    shapes = (RANK, width), (out, RANK)
  return [0.7 * torch.randn(len(TASKS), *shape) for shape in shapes]


def merged(name, weight, a, b):
  """Returns a weight with the adapters of a task."""
  change = a @ b if name.endswith("_embeddings.weight") else b @ a
  return weight + change * (ALPHA / RANK)


def main():
  """Writes the model and what it computes for each task."""
  torch.manual_seed(0)
  config = transformers.JinaEmbeddingsV3Config(
    **SIZES, initializer_range=0.3, pad_token_id=1
  )
  model = transformers.JinaEmbeddingsV3Model(config)
  ids = torch.randint(3, 120, (3, 11))
  mask = torch.ones_like(ids)
  mask[1, 7:] = 0
  stored, arrays = {}, {"input_ids": ids, "attention_mask": mask}
  with tempfile.TemporaryDirectory() as folder:
    model.save_pretrained(folder)
    path = pathlib.Path(folder, "model.safetensors")
    plain = safetensors.load_file(path)
    changes = {
      name: adapters(name, weight)
      for name, weight in plain.items()
      if weight.ndim == 2
    }
    for task in (None, *range(len(TASKS))):
      weights = dict(plain)
      for name, (a, b) in changes.items() if task is not None else ():
        weights[name] = merged(name, plain[name], a[task], b[task])
      safetensors.save_file(weights, path, {"format": "pt"})
      found = transformers.JinaEmbeddingsV3Model.from_pretrained(folder).eval()
      states = found(ids, mask).last_hidden_state
      arrays["" if task is None else TASKS[task]] = states.detach()
  for name, weight in plain.items():
    place = f"roberta.{name.removesuffix('.weight')}.parametrizations.weight"
    if name in changes:
      a, b = changes[name]
      stored[f"{place}.original"] = weight
      stored[f"{place}.0.lora_A"], stored[f"{place}.0.lora_B"] = a, b
    else:
      stored[f"roberta.{name}"] = weight
  FOLDER.mkdir(exist_ok=True)
  path = FOLDER / "model.safetensors"
  safetensors.save_file(stored, path, {"format": "pt"})
  np.savez(FOLDER / "expected.npz", **{k: x.numpy() for k, x in arrays.items()})
  published = {
    "architectures": ["XLMRobertaLoRA"],
    "auto_map": {
      "AutoModel": "jinaai/xlm-roberta-flash-implementation--modeling_lora"
      ".XLMRobertaLoRA"
    },
    "model_type": "xlm-roberta",
    "position_embedding_type": "rotary",
    "rotary_emb_base": 20000.0,
    "hidden_act": "gelu",
    "layer_norm_eps": 1e-5,
    "type_vocab_size": 1,
    "pad_token_id": 1,
    "emb_pooler": None,
    "load_trained_adapters": True,
    "lora_adaptations": TASKS,
    "lora_alpha": ALPHA,
    "lora_dropout_p": 0.0,
    "lora_main_params_trainable": False,
    "lora_rank": RANK,
    "matryoshka_dimensions": [8, 16],
    "task_instructions": dict.fromkeys(TASKS, "")
    | {"retrieval.query": "query: "},
    "truncate_dim": None,
    "use_flash_attn": True,
  }
  text = json.dumps(SIZES | published, indent=2) + "\n"
  (FOLDER / "config.json").write_text(text)


if __name__ == "__main__":
  main()
