"""Runs the scripts as a user does, on data small enough for a test."""

import contextlib
import importlib
import io
import json
import os
import pathlib
import random
import subprocess
import sys

from absl import flags, logging

from keras_bert_impl import configs
from keras_bert_impl.tokenizers.formats import tokenizer_options, vocabularies
from tests.official_tasks import forked
from tfrecords.writing import writer, writing_config

ROOT = pathlib.Path(__file__).parents[2]
LENGTH = 32
WORDS = (
  "the a cat dog bird house tree river sees hears finds likes old new small"
  " big red blue and or under over 고양이 강아지 나무 집 본다 작은"
).split()


def command(script, **values):
  """Returns the argument list of `python official_tasks/<script>`."""
  return [
    sys.executable,
    str(ROOT / "official_tasks" / f"{script}.py"),
    *(f"--{name}={value}" for name, value in values.items()),
  ]


def fine_tuning(folder, output, **values):
  """Returns flags of a fine-tuning of the model in `folder`."""
  return {
    "bert_config_file": f"{folder}/bert_config.json",
    "output_dir": f"{folder}/{output}",
    "max_seq_length": 16,
    "train_batch_size": 8,
    "learning_rate": 1e-2,
    "recipe": "paper",
    **values,
  }


def start(script, tf_config=None, is_fresh=False, before=None, **values):
  """Starts a script.

  Args:
    script: str, its name.
    tf_config: str, TF_CONFIG of one of several workers.
    is_fresh: bool, whether it imports TensorFlow itself, as for a user; see
      `forked`.
    before: see `forked.Process`.
    **values: of its flags.

  Returns:
    `subprocess.Popen` or `forked.Process`.
  """
  environment = {} if tf_config is None else {"TF_CONFIG": tf_config}
  arguments = command(script, **values)
  if not is_fresh:
    return forked.Process(arguments[1:], before, **environment)
  return subprocess.Popen(
    arguments,
    stdout=subprocess.PIPE,
    stderr=subprocess.PIPE,
    text=True,
    env=os.environ | forked.QUIET | environment,
  )


def run(script, **values):
  """Runs a script to its end; returns (exit status, stdout, stderr)."""
  process = start(script, **values)
  out, err = process.communicate(timeout=300)
  return process.returncode, out, err


def run_all(script, commands, before=None):
  """Runs a script once for each dict of flags, in one process, to save time.

  Args:
    script: str, its name.
    commands: {name: flags of a run}.
    before: see `forked.Process`.

  Returns:
    {name: (exit status, stdout, stderr)}.
  """
  lists = {name: command(script, **x)[2:] for name, x in commands.items()}
  return run_lists(f"official_tasks.{script}", lists, before)


def run_lists(module, lists, before=None):
  """Does the same for a module, of {name: list of arguments}."""
  arguments = [__file__, module, json.dumps([*lists.values()])]
  process = forked.Process(arguments, before)
  out, err = process.communicate(timeout=300 * len(lists))
  assert process.returncode == 0, err
  outcomes = map(tuple, json.loads(out.splitlines()[-1]))
  return dict(zip(lists, outcomes, strict=True))


def run_each(script, list_of_values):
  """Returns [(exit status, stderr)] of `run_all`."""
  outcomes = run_all(script, dict(enumerate(list_of_values)))
  return [(status, err) for status, _, err in outcomes.values()]


def check_mistakes(script, cases, usual):
  """Checks that each case ends with status 1 and one line that says why.

  Args:
    script: str, its name.
    cases: list of (flags, what the line must hold).
    usual: callable, flags of a case -> all flags.
  """
  outcomes = run_each(script, [usual(**values) for values, _ in cases])
  for (values, message), (status, err) in zip(cases, outcomes, strict=True):
    assert status == 1, (values, err)
    assert message in error_line(err), values


def serve():
  """The process behind `run_all`."""
  script = importlib.import_module(sys.argv[1])
  outcomes = []
  for arguments in json.loads(sys.argv[2]):
    for name in flags.FLAGS:
      flags.FLAGS[name].unparse()
    logging.set_verbosity(logging.INFO)  # As absl's first run does.
    sys.argv = [script.__file__, *arguments]
    out, err = io.StringIO(), io.StringIO()
    logging.get_absl_handler().python_handler.stream = err
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
      try:
        script.program.run(script.main)
      except SystemExit as stop:
        outcomes.append((stop.code or 0, out.getvalue(), err.getvalue()))
  print(json.dumps(outcomes))


def error_line(err):
  """Returns the one line of stderr that tells the user what is wrong."""
  assert "Traceback" not in err
  [line] = [line for line in err.splitlines() if line.startswith("Error: ")]
  return line


def results(output_dir, name="results.json"):
  return json.loads((pathlib.Path(output_dir) / name).read_text())


def flat(values, start=""):
  """Returns {"a/b": number} of dicts in dicts, as `pytest.approx` compares."""
  if not isinstance(values, dict):
    return {start: values}
  parts = [flat(value, f"{start}/{name}") for name, value in values.items()]
  return {name: value for part in parts for name, value in part.items()}


def report(output_dir):
  """Returns report.html, which must need nothing else, not even a script."""
  page = (pathlib.Path(output_dir) / "report.html").read_text(encoding="utf-8")
  assert page.endswith("</body></html>\n")
  for loaded in ("http:", "https:", "<script", "<link", "@import", "src="):
    assert loaded not in page
  return page


def write_model_files(folder, **overrides):
  """Writes vocab.txt and bert_config.json of a tiny model."""
  tokens = [*vocabularies.SPECIAL_TOKENS, ".", *WORDS]
  folder.mkdir(parents=True, exist_ok=True)
  (folder / "vocab.txt").write_text("\n".join(tokens) + "\n", encoding="utf-8")
  tokenizer_options.save(
    folder / "vocab.txt",
    tokenizer_options.WordPieceOptions(compose_hangul=True),
  )
  config = {
    "vocab_size": len(tokens),
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 2 * LENGTH,
  }
  configs.EncoderConfig(**config | overrides).to_json_file(
    folder / "bert_config.json"
  )


def write_text(path, num_documents=40, seed=0):
  rng = random.Random(seed)
  documents = [
    "\n".join(
      " ".join(rng.choices(WORDS, k=rng.randint(3, 9))) + " ."
      for _ in range(rng.randint(4, 12))
    )
    for _ in range(num_documents)
  ]
  path.write_text("\n\n".join(documents) + "\n", encoding="utf-8")


def write_records(
  folder, length=LENGTH, masking="dynamic", num_shards=1, **options
):
  """Writes text and TFRecords; returns the path that all shards begin with."""
  write_text(folder / "text.txt")
  output = str(folder / f"records-{masking}-{length}")
  config = writing_config.PretrainingDataConfig(
    vocab_file=str(folder / "vocab.txt"),
    compose_hangul=True,
    max_seq_length=length,
    max_predictions_per_seq=5,
    dupe_factor=2,
    masking=masking,
    **options,
  )
  outputs = [f"{output}.{k}" if k else output for k in range(num_shards)]
  writer.write_shards(config, [str(folder / "text.txt")], outputs)
  return output


if __name__ == "__main__":
  serve()
