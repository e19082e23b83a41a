"""Each package imports only what stands above it in the architecture."""

import ast
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[1]

# From the top down; packages of one line do not import each other.
ORDER = (
  (
    "keras_bert_impl.file_errors",
    "keras_bert_impl.foreign_names",
    "keras_bert_impl.locks",
    "keras_bert_impl.tensorflow_log",
  ),
  ("keras_bert_impl.calls",),
  (
    "keras_bert_impl.families",
    "keras_bert_impl.files",
    "keras_bert_impl.given_arrays",
    "keras_bert_impl.options",
  ),
  (
    "keras_bert_impl.choices",
    "keras_bert_impl.features",
    "keras_bert_impl.heads",
    "keras_bert_impl.progress",
    "tfrecords.lengths",
  ),
  ("keras_bert_impl.layers.basics",),
  ("keras_bert_impl.layers.heads",),
  ("keras_bert_impl.layers.attention",),
  ("keras_bert_impl.layers.blocks",),
  ("keras_bert_impl.layers",),
  ("keras_bert_impl.configs",),
  ("keras_bert_impl.checkpoints",),
  ("keras_bert_impl.models",),
  ("keras_bert_impl.generation",),
  ("keras_bert_impl.tokenizers.formats", "keras_bert_impl.metrics"),
  ("keras_bert_impl.tokenizers.graph",),
  ("keras_bert_impl.tokenizers.learning",),
  ("keras_bert_impl.tokenizers",),
  ("keras_bert_impl.tasks.basics",),
  ("keras_bert_impl.tasks.masking",),
  ("keras_bert_impl.tasks.pretraining",),
  ("keras_bert_impl.tasks",),
  ("keras_bert_impl.optimizers",),
  ("keras_bert_impl.training",),
  ("keras_bert_impl.serving",),
  ("keras_bert_impl.sentences",),
  (
    "tfrecords.examples",
    "tfrecords.manifest",
    "tfrecords.masking_config",
  ),
  ("tfrecords.text",),
  ("tfrecords.writing", "tfrecords.reading", "tfrecords.labelled"),
  ("keras_bert_impl.command_line", "keras_bert_impl.reports"),
  ("keras_bert_impl.model_folders",),
  (
    "keras_bert_impl.runs.labelled_data",
    "keras_bert_impl.runs.vocabulary_learning",
  ),
  (
    "keras_bert_impl.runs.feature_extraction",
    "keras_bert_impl.runs.fine_tuning",
    "keras_bert_impl.runs.pretraining",
  ),
  ("keras_bert_impl.runs",),
  ("keras_bert_impl.estimators",),
  (
    "keras_bert_impl.kinds.answers",
    "keras_bert_impl.kinds.coreference",
    "keras_bert_impl.kinds.fill_mask",
    "keras_bert_impl.kinds.generation",
    "keras_bert_impl.kinds.parsing",
    "keras_bert_impl.kinds.tags",
    "keras_bert_impl.kinds.texts",
  ),
  (
    "keras_bert_impl.kinds.choices",
    "keras_bert_impl.kinds.embeddings",
    "keras_bert_impl.kinds.zero_shot",
  ),
  (
    "keras_bert_impl.kinds.few_shot",
    "keras_bert_impl.kinds.multi_task",
    "keras_bert_impl.kinds.reranking",
  ),
  ("keras_bert_impl.kinds",),
  ("keras_bert_impl.ablation", "keras_bert_impl.visualization"),
  ("official_tasks",),
  ("keras_bert_impl.__main__",),
)
RANKS = {package: rank for rank, line in enumerate(ORDER) for package in line}


def package_of(module):
  """Returns the longest entry of ORDER that `module` belongs to, or None."""
  for package in sorted(RANKS, key=len, reverse=True):
    if module == package or module.startswith(package + "."):
      return package
  return None


def source_files():
  files = []
  for top in ("keras_bert_impl", "tfrecords", "official_tasks"):
    files += sorted((ROOT / top).rglob("*.py"))
  return [
    path
    for path in files
    if path != ROOT / "keras_bert_impl/__init__.py"
    and path != ROOT / "tfrecords/__init__.py"
  ]


def module_name(path):
  parts = path.relative_to(ROOT).with_suffix("").parts
  return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_modules(path):
  """Returns full names; `from a import b` gives both a and a.b."""
  names = set()
  for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
    if isinstance(node, ast.Import):
      names.update(alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
      assert node.level == 0, f"{path}:{node.lineno} imports relatively"
      names.add(node.module)
      names.update(f"{node.module}.{alias.name}" for alias in node.names)
  return names


def top_level_names(path):
  return {name.partition(".")[0] for name in imported_modules(path)}


@pytest.mark.parametrize("path", source_files(), ids=module_name)
def test_a_module_imports_only_from_above(path):
  own = package_of(module_name(path))
  assert own is not None, f"{path} belongs to no package of the architecture"
  for name in imported_modules(path):
    other = package_of(name)
    if other is not None and other != own:
      assert RANKS[other] < RANKS[own], f"{own} imports {name}"


def test_what_every_script_imports_needs_the_standard_library_only():
  for name in (
    "choices.py",
    "families/*.py",
    "features.py",
    "heads.py",
    "options.py",
  ):
    paths = list((ROOT / "keras_bert_impl").glob(name))
    assert paths
    for path in paths:
      names = top_level_names(path)
      assert names <= {*sys.stdlib_module_names, "keras_bert_impl"}


def test_layers_and_models_are_free_of_tensorflow():
  for package in ("layers", "models"):
    for path in (ROOT / "keras_bert_impl" / package).rglob("*.py"):
      assert top_level_names(path) <= {
        *sys.stdlib_module_names,
        "keras",
        "keras_bert_impl",
        "numpy",
        "optree",
        # The one module that knows what a backend does better, imports it late.
        *(["etils", "tensorflow"] if path.name == "kernels.py" else []),
      }


def test_layers_know_no_other_package_but_calls_options_and_arrays():
  for path in (ROOT / "keras_bert_impl/layers").rglob("*.py"):
    packages = {package_of(name) for name in imported_modules(path)} - {None}
    packages -= {
      f"keras_bert_impl.{name}" for name in ("calls", "given_arrays", "options")
    }
    assert all(name.startswith("keras_bert_impl.layers") for name in packages)


def test_training_needs_no_tensorflow_text():
  for package in ("layers", "models", "tasks", "optimizers", "training"):
    for path in (ROOT / "keras_bert_impl" / package).rglob("*.py"):
      assert "tensorflow_text" not in top_level_names(path)


def test_the_local_server_knows_models_by_their_signatures_only():
  paths = list((ROOT / "keras_bert_impl/serving/local").glob("*.py"))
  assert paths
  for path in paths:
    names = imported_modules(path)
    assert "keras" not in {name.partition(".")[0] for name in names}
    for name in names:
      if name.startswith("keras_bert_impl"):
        assert name.startswith("keras_bert_impl.serving.local"), path
