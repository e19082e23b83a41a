"""Makes tests/data/peft_folders with transformers and peft, which tests lack.

    python -m tests.models.make_peft_folders

A tiny model with random weights in the form of jinaai/jina-embeddings-v3-hf:
the weights of transformers 5.24, and beside them a folder of peft 0.21 for each
task. expected.npz has the last hidden states of peft's model with each of them.
"""

import pathlib
import shutil

import numpy as np
import peft
import torch
import transformers

from tests.models import make_task_adapters

FOLDER = pathlib.Path(__file__).parents[1] / "data/peft_folders"
LAYERS = ["q_proj", "k_proj", "v_proj", "o_proj", "fc1", "fc2"]
ADAPTERS = {
  "retrieval_query": {
    "target_modules": [*LAYERS, "word_embeddings", "token_type_embeddings"]
  },
  "text_matching": {
    "target_modules": ["q_proj", "fc2"],
    "lora_alpha": 3,
    "use_rslora": True,
  },
}


def main():
  """Writes the model, its adapters and what it computes with each."""
  torch.manual_seed(0)
  config = transformers.JinaEmbeddingsV3Config(
    **make_task_adapters.SIZES, initializer_range=0.3, pad_token_id=1
  )
  ids = torch.randint(3, 120, (3, 11))
  mask = torch.ones_like(ids)
  mask[1, 7:] = 0
  arrays = {"input_ids": ids, "attention_mask": mask}
  shutil.rmtree(FOLDER, ignore_errors=True)
  plain = transformers.JinaEmbeddingsV3Model(config).eval()
  plain.save_pretrained(FOLDER)
  arrays[""] = plain(ids, mask).last_hidden_state.detach()
  for name, options in ADAPTERS.items():
    model = transformers.JinaEmbeddingsV3Model.from_pretrained(FOLDER)
    options = {"r": 4, "lora_alpha": 1, **options}
    adapted = peft.get_peft_model(model, peft.LoraConfig(**options)).eval()
    for path, weight in adapted.named_parameters():
      if "lora_" in path:
        torch.nn.init.normal_(weight, std=0.7)
    arrays[name] = adapted(ids, mask).last_hidden_state.detach()
    [settings] = adapted.peft_config.values()
    settings.base_model_name_or_path = "jinaai/jina-embeddings-v3-hf"
    adapted.save_pretrained(FOLDER / name)
    (FOLDER / name / "README.md").unlink()
  np.savez(FOLDER / "expected.npz", **{k: x.numpy() for k, x in arrays.items()})


if __name__ == "__main__":
  main()
