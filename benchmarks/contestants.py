"""Contestants of step_benchmark.py: each runs the same model its own way.

A contestant is a function `(case, jit_compile) -> run`, where `run(n)` makes n
steps or forward passes and returns when they are done. It imports what it needs
itself, for each lives in a process of its own, of its own environment; without
arguments this module needs nothing but numpy.
"""

import argparse
import dataclasses
import json
import os
import sys
import time

import numpy as np

LEARNING_RATE = 1e-4
PEAK_SIZES = (1024, 2048, 4096)
PEAK_FLOPS = 2 * max(PEAK_SIZES) ** 3
# {objective with a decoder: preset, class of transformers' configuration}.
DECODERS = {
  "bart": ("bart_base", "BartConfig"),
  "t5": ("t5_small", "T5Config"),
  "gpt": ("gpt2", "GPT2Config"),
}


@dataclasses.dataclass(frozen=True)
class Case:
  """Sizes and dtype of a computation that is measured.

  Attributes:
    mode: "step", of pre-training by masked tokens and the next sentence, with
      dropout, clipping and AdamW; one of `DECODERS`, such a step of it; or
      "forward", of the encoder.
    dtype: "float32"; "mixed_bfloat16", weights in float32; or "bfloat16", for
      the forward pass alone.
    batch_size: int, B.
    seq_length: int, L, all of it tokens.
    num_layers: int, of an encoder and of a decoder each.
    hidden_size: int, H; heads have 64 each, the inner layer 4 H.
    vocab_size: int.
  """

  mode: str = "step"
  dtype: str = "float32"
  batch_size: int = 8
  seq_length: int = 128
  num_layers: int = 12
  hidden_size: int = 768
  vocab_size: int = 30522

  @property
  def num_heads(self):
    """Returns the number of heads."""
    return self.hidden_size // 64

  @property
  def num_predictions(self):
    """Returns the number of masked tokens of a row."""
    return max(20 * self.seq_length // 128, 1)

  @property
  def text_lengths(self):
    """Returns how many tokens are read, and how many a decoder writes."""
    length = self.seq_length
    if self.mode != "t5":
      return (0 if self.mode == "gpt" else length), length
    noise = round(0.15 * (length - 2))
    spans = round(noise / 3)
    return length - 2 - noise + spans + 1, noise + spans + 1

  @property
  def flops(self):
    """Returns the floating-point operations of the matrix products.

    Forward: two per weight and row; attention adds two products of [L, L] by
    [L, H] per row. The gradient costs twice the forward pass.
    """
    h, v = self.hidden_size, self.vocab_size
    if self.mode in DECODERS:
      read, written = self.text_lengths
      layer = sum(n * (24 * h * h + 4 * n * h) for n in (read, written))
      if read:  # Cross-attention.
        layer += 4 * h * (h * (written + read) + written * read)
      return (
        3 * self.batch_size * (self.num_layers * layer + written * 2 * h * v)
      )
    per_token = 24 * h * h + 4 * self.seq_length * h
    tokens = self.batch_size * self.seq_length * self.num_layers
    if self.mode == "forward":
      return tokens * per_token
    head = self.batch_size * self.num_predictions * 2 * (h * h + h * v)
    return 3 * (tokens * per_token + head)


def make_batch(case):
  """Returns a random batch of numpy arrays under the original's names."""
  rng = np.random.default_rng(0)
  rows, length = case.batch_size, case.seq_length

  def integers(high, *shape):
    return rng.integers(0, high, (rows, *shape)).astype("int32")

  places = rng.permuted(np.tile(np.arange(length), (rows, 1)), axis=1)
  places = np.sort(places[:, : case.num_predictions], axis=1).astype("int32")
  return {
    "input_ids": integers(case.vocab_size, length),
    "input_mask": np.ones((rows, length), "int32"),
    "segment_ids": integers(2, length),
    "masked_lm_positions": places,
    "masked_lm_ids": integers(case.vocab_size, case.num_predictions),
    "masked_lm_weights": np.ones((rows, case.num_predictions), "float32"),
    "next_sentence_labels": integers(2, 1),
  }


def make_texts(case):
  """Returns random batches of `DECODERS`: what is read, and what is written.

  Returns:
    Two int32 arrays, [B, L] and [B, T]; of "gpt" the first is empty.
  """
  rng = np.random.default_rng(0)
  return [
    rng.integers(5, case.vocab_size, (case.batch_size, n)).astype("int32")
    for n in case.text_lengths
  ]


def ours(case, jit_compile):
  """Returns `run` of this library."""
  import keras
  import tensorflow as tf

  from keras_bert_impl import configs, models

  keras.config.set_dtype_policy(case.dtype)
  if case.mode in DECODERS:
    return _trained(case, *_of_decoder(case), jit_compile)
  config = configs.EncoderConfig(
    vocab_size=case.vocab_size,
    hidden_size=case.hidden_size,
    num_hidden_layers=case.num_layers,
    num_attention_heads=case.num_heads,
    intermediate_size=4 * case.hidden_size,
  )
  batch = make_batch(case)
  if case.mode == "forward":
    encoder = models.TransformerEncoder(config)
    inputs = ("input_ids", "input_mask", "segment_ids")
    return _repeat(
      tf, encoder, {name: batch[name] for name in inputs}, jit_compile
    )

  from keras_bert_impl.tasks.basics import pretraining
  from keras_bert_impl.tasks.pretraining import masked_lm

  task = masked_lm.MaskedLanguageModelTask(
    config, pretraining.PretrainingData(sentence_loss="next_sentence")
  )
  return _trained(case, task, batch, jit_compile)


def _of_decoder(case):
  """Returns the task of an objective of `DECODERS`, and its batch."""
  import tensorflow as tf

  from keras_bert_impl import configs
  from keras_bert_impl.tasks import objectives
  from keras_bert_impl.tasks.basics import pretraining

  preset, _ = DECODERS[case.mode]
  has_encoder = case.mode != "gpt"
  config = configs.EncoderConfig.preset(
    preset,
    vocab_size=case.vocab_size,
    hidden_size=case.hidden_size,
    num_hidden_layers=case.num_layers,
    num_decoder_layers=case.num_layers * has_encoder,
    num_attention_heads=case.num_heads,
    intermediate_size=4 * case.hidden_size,
  )
  read, written = map(tf.RaggedTensor.from_tensor, make_texts(case))
  data = pretraining.PretrainingData(case.seq_length)
  task = objectives.OBJECTIVES[case.mode].task(config, data)
  if not has_encoder:
    return task, task.prepare({"input_ids": written}, None)
  batch = task.prepare({"input_ids": read, "target_ids": written}, None)
  # Without padding, as the task makes its rows of clean records.
  return task, {
    name: x[:, : case.text_lengths[name.startswith(("decoder", "masked"))]]
    for name, x in batch.items()
  }


def _trained(case, task, batch, jit_compile):
  """Returns `run` of the steps of a task on a batch."""
  import tensorflow as tf

  from keras_bert_impl.optimizers import adamw
  from keras_bert_impl.training import training_config, training_loop

  loop = training_loop.TrainingLoop(
    task,
    task.build_model(),
    adamw.AdamW(LEARNING_RATE),
    tf.distribute.get_strategy(),
    training_config.TrainingConfig(
      train_batch_size=case.batch_size,
      dtype=case.dtype.removeprefix("mixed_"),
      jit_compile=jit_compile,
    ),
  )
  batches = iter(tf.data.Dataset.from_tensors(batch).cache().repeat())
  return lambda num_steps: loop.train(batches, num_steps)


def _repeat(tf, model, inputs, jit_compile, output="sequence_output"):
  """Returns `run` of the forward pass of a Keras model."""
  inputs = {name: tf.constant(value) for name, value in inputs.items()}
  ids = {name: tf.TensorSpec([None, None], tf.int32) for name in inputs}

  @tf.function(input_signature=[ids], jit_compile=jit_compile or None)
  def forward(inputs):
    return tf.reduce_sum(
      tf.cast(model(inputs, training=False)[output], "float32")
    )

  return lambda num_steps: [forward(inputs).numpy() for _ in range(num_steps)]


def model_garden(case, jit_compile):
  """Returns `run` of TF Model Garden's own encoder, task and optimizer."""
  import tensorflow as tf
  import tf_keras
  from official.nlp import optimization
  from official.nlp.configs import bert, encoders
  from official.nlp.data import pretrain_dataloader
  from official.nlp.tasks import masked_lm

  tf_keras.mixed_precision.set_global_policy(case.dtype)
  encoder = encoders.EncoderConfig(
    bert=encoders.BertEncoderConfig(
      vocab_size=case.vocab_size,
      hidden_size=case.hidden_size,
      num_layers=case.num_layers,
      num_attention_heads=case.num_heads,
      intermediate_size=4 * case.hidden_size,
    )
  )
  batch = make_batch(case)
  batch["input_word_ids"] = batch.pop("input_ids")
  batch["input_type_ids"] = batch.pop("segment_ids")
  if case.mode == "forward":
    inputs = ("input_word_ids", "input_mask", "input_type_ids")
    inputs = {name: batch[name] for name in inputs}
    return _repeat(tf, encoders.build_encoder(encoder), inputs, jit_compile)
  head = bert.ClsHeadConfig(
    inner_dim=case.hidden_size, num_classes=2, name="next_sentence"
  )
  task = masked_lm.MaskedLMTask(
    masked_lm.MaskedLMConfig(
      model=bert.PretrainerConfig(encoder=encoder, cls_heads=[head]),
      train_data=pretrain_dataloader.BertPretrainDataConfig(),
    )
  )
  model = task.build_model()
  optimizer = optimization.AdamWeightDecay(
    learning_rate=tf_keras.optimizers.schedules.PolynomialDecay(
      LEARNING_RATE, 1_000_000, 0.0
    ),
    weight_decay_rate=0.01,
    epsilon=1e-6,
    exclude_from_weight_decay=["LayerNorm", "layer_norm", "bias"],
  )
  metrics = task.build_metrics()
  batches = iter(tf.data.Dataset.from_tensors(batch).cache().repeat())

  @tf.function(jit_compile=jit_compile or None)
  def run(num_steps):
    for _ in tf.range(num_steps):
      task.train_step(next(batches), model, optimizer, metrics)

  return lambda num_steps: run(tf.constant(num_steps))


def keras_hub(case, jit_compile):
  """Returns `run` of KerasHub; its step has no next sentences."""
  import keras
  import keras_hub
  import tensorflow as tf

  keras.config.set_dtype_policy(case.dtype)
  backbone = keras_hub.models.BertBackbone(
    vocabulary_size=case.vocab_size,
    num_layers=case.num_layers,
    num_heads=case.num_heads,
    hidden_dim=case.hidden_size,
    intermediate_dim=4 * case.hidden_size,
    max_sequence_length=512,
  )
  batch = make_batch(case)
  inputs = {
    "token_ids": batch["input_ids"],
    "segment_ids": batch["segment_ids"],
    "padding_mask": batch["input_mask"],
  }
  if case.mode == "forward":
    return _repeat(tf, backbone, inputs, jit_compile)
  inputs["mask_positions"] = batch["masked_lm_positions"]
  model = keras_hub.models.BertMaskedLM(backbone, preprocessor=None)
  model.compile(
    optimizer=keras.optimizers.AdamW(
      LEARNING_RATE, weight_decay=0.01, global_clipnorm=1.0
    ),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    jit_compile=jit_compile,
  )

  def run(num_steps):
    for _ in range(num_steps):
      model.train_on_batch(inputs, batch["masked_lm_ids"])

  return run


def transformers(case, jit_compile):
  """Returns `run` of transformers on torch, autocast, with a fused AdamW."""
  import torch
  import transformers as library

  torch.set_num_threads(len(os.sched_getaffinity(0)))
  if case.mode in DECODERS:
    return _steps_of_torch(case, *_decoder_of_torch(case))
  config = library.BertConfig(
    vocab_size=case.vocab_size,
    hidden_size=case.hidden_size,
    num_hidden_layers=case.num_layers,
    num_attention_heads=case.num_heads,
    intermediate_size=4 * case.hidden_size,
  )
  batch = {
    name: torch.tensor(value, dtype=torch.long)
    for name, value in make_batch(case).items()
  }
  inputs = {
    "input_ids": batch["input_ids"],
    "attention_mask": batch["input_mask"],
    "token_type_ids": batch["segment_ids"],
  }

  if case.mode == "forward":
    model = library.BertModel(config).eval()
    if case.dtype == "bfloat16":
      model.to(torch.bfloat16)

    def forward():
      with torch.inference_mode(), _autocast(case):
        return model(**inputs).last_hidden_state.float().sum().item()

    return lambda num_steps: [forward() for _ in range(num_steps)]
  model = library.BertForPreTraining(config).train()
  labels = torch.full_like(batch["input_ids"], -100)
  labels.scatter_(1, batch["masked_lm_positions"], batch["masked_lm_ids"])
  inputs["labels"] = labels
  inputs["next_sentence_label"] = batch["next_sentence_labels"][:, 0]
  return _steps_of_torch(case, model, inputs)


def _autocast(case):
  """Returns the context in which torch computes in the dtype of a case."""
  import torch

  is_mixed = case.dtype == "mixed_bfloat16"
  return torch.autocast("cpu", torch.bfloat16, is_mixed)


def _decoder_of_torch(case):
  """Returns the model of an objective of `DECODERS`, and its inputs."""
  import torch
  import transformers as library

  _, name = DECODERS[case.mode]
  own = {"vocab_size": case.vocab_size}
  h, n, heads = case.hidden_size, case.num_layers, case.num_heads
  if case.mode == "gpt":
    own |= {"n_embd": h, "n_layer": n, "n_head": heads}
    model_class = library.GPT2LMHeadModel
  elif case.mode == "t5":
    own |= {"d_model": h, "d_ff": 4 * h, "d_kv": 64}
    own |= {"num_layers": n, "num_heads": heads, "decoder_start_token_id": 0}
    model_class = library.T5ForConditionalGeneration
  else:
    own |= {"d_model": h, "attention_dropout": 0.1}
    for part in ("encoder", "decoder"):
      own |= {f"{part}_layers": n, f"{part}_attention_heads": heads}
      own[f"{part}_ffn_dim"] = 4 * h
    model_class = library.BartForConditionalGeneration
  model = model_class(getattr(library, name)(**own)).train()
  read, written = (torch.tensor(x).long() for x in make_texts(case))
  ids = read if case.mode != "gpt" else written
  mask = torch.ones_like(ids)
  return model, {"input_ids": ids, "attention_mask": mask, "labels": written}


def _steps_of_torch(case, model, inputs):
  """Returns `run` of the steps of a model, whose inputs hold its labels."""
  import torch

  optimizer = torch.optim.AdamW(
    model.parameters(), LEARNING_RATE, weight_decay=0.01, fused=True
  )

  def step():
    optimizer.zero_grad(set_to_none=True)
    with _autocast(case):
      loss = model(**inputs).loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss.item()

  return lambda num_steps: [step() for _ in range(num_steps)]


def peak(case, jit_compile):
  """Returns a function that does n times PEAK_FLOPS in large products.

  Of a few sizes it takes the fastest: the larger is not always the faster.
  """
  import tensorflow as tf

  del jit_compile
  product = tf.function(tf.linalg.matmul)

  def run(size, num_steps):
    a = tf.ones((size, size), case.dtype.removeprefix("mixed_"))
    for _ in range(num_steps * (max(PEAK_SIZES) // size) ** 3):
      result = product(a, a)
    return result.numpy()

  def seconds(size):
    run(size, 1)
    start = time.perf_counter()
    run(size, 1)
    return time.perf_counter() - start

  fastest = min(PEAK_SIZES, key=seconds)
  return lambda num_steps: run(fastest, num_steps)


ALL = {
  "ours": ours,
  "Model Garden": model_garden,
  "KerasHub": keras_hub,
  "transformers": transformers,
  "peak": peak,
}


def main():
  """Runs as many steps as each line of stdin says.

  Answers with seconds of the clock, and those of the processor.
  """
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("contestant", choices=ALL)
  parser.add_argument("case", help="JSON")
  parser.add_argument("--jit_compile", action="store_true")
  arguments = parser.parse_args()
  case = Case(**json.loads(arguments.case))
  run = ALL[arguments.contestant](case, arguments.jit_compile)
  run(1)  # Traces.
  print("ANSWER 0", flush=True)
  for line in sys.stdin:
    start = time.perf_counter(), time.process_time()
    run(int(line))
    wall, cpu = time.perf_counter() - start[0], time.process_time() - start[1]
    print(f"ANSWER {wall} {cpu}", flush=True)


if __name__ == "__main__":
  # The folder of this file holds benchmarks, not packages.
  sys.path.pop(0)
  main()
