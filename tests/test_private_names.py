"""Names of Keras, TensorFlow and JAX that are not public: few, and known.

A new version may take any of them away. Each stands in one file, with the
reason beside it; the tests below say which one is gone.
"""

import ast
import importlib

import keras
import pytest
import tensorflow as tf

from tests import code_size

LIBRARIES = ("jax", "jaxlib", "keras", "tensorflow")
PUBLIC = ("jax.experimental", "jax.extend", "jax.interpreters")
# Of named tuples, sys and os.
OF_PYTHON = {"_asdict", "_exit", "_getframe", "_replace"}
LAYER, TPU = "layers/basics/layer.py", "runs/pretraining/tpu_compiler.py"
REPLICA = "training/replica_program.py"

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def dense():
  layer = keras.layers.Dense(2)
  layer.build((None, 3))
  return layer


def resource():
  return tf.saved_model.experimental.TrackableResource


def strategy():
  return tf.distribute.get_strategy().extended


# {name: (file, what has it)}.
ALLOWED = {
  "_flatten_layers": (LAYER, dense),
  "_kernel": (LAYER, dense),
  "_tracker": (LAYER, dense),
  "_untrack_variable": (LAYER, dense),
  "_get_variable_index": ("optimizers/moments.py", keras.optimizers.Adam),
  "_create_resource": (
    "serving/stored_weights.py tokenizers/graph/piece_op.py",
    resource,
  ),
  "_num_replicas_in_sync": (REPLICA, strategy),
  "_get_local_replica_id": (REPLICA, strategy),
  "_use_merge_call": (REPLICA, strategy),
  "tensorflow.compiler.tf2xla.ops.gen_xla_ops": (REPLICA, None),
  "tensorflow.core.protobuf.saved_model_pb2": (
    "serving/local/saved_models.py",
    None,
  ),
  "tensorflow.lite.python.convert_phase": ("serving/small/litert.py", None),
  "tensorflow.python.framework.ops": ("training/graph_gradients.py", None),
  "jaxlib._jax": (TPU, None),
}


def is_private(name):
  return name.startswith("_") and not name.startswith("__") and name != "_"


def imported(node):
  """Returns the modules that an import names, where they are not public."""
  if isinstance(node, ast.ImportFrom):
    names = [f"{node.module}.{alias.name}" for alias in node.names]
  else:
    names = [alias.name for alias in node.names]
  return [
    name
    for name in names
    if name.partition(".")[0] in LIBRARIES
    and (
      any(map(is_private, name.split(".")))
      or (name.count(".") > 1 and not name.startswith(PUBLIC))
    )
  ]


def names_of(tree):
  """Returns what a file imports, reads, makes and has as methods, four sets.

  All are private names, of others or its own.
  """
  imports, read, made, methods = set(), set(), set(), set()
  for node in ast.walk(tree):
    if isinstance(node, ast.Import | ast.ImportFrom):
      imports.update(imported(node))
      made.update(alias.name for alias in node.names)
    elif isinstance(node, ast.Attribute | ast.Name):
      name = node.attr if isinstance(node, ast.Attribute) else node.id
      (read if isinstance(node.ctx, ast.Load) else made).add(name)
    elif isinstance(node, _DEFINITIONS):
      made.add(node.name)
      bases = map(ast.unparse, getattr(node, "bases", ()))
      if any(base.startswith("tf.") for base in bases):
        methods |= {x.name for x in node.body if isinstance(x, _DEFINITIONS)}
  private = [set(filter(is_private, x)) for x in (read, made, methods)]
  return imports, *private


def uses():
  """Returns {name that is not public: files, in one str} of the package."""
  files = {
    "/".join(path.relative_to(code_size.ROOT).parts[1:]): names_of(
      code_size.parsed(path)
    )
    for path in code_size.source_files()
  }
  _, read, made, _ = (
    set().union(*x) for x in zip(*files.values(), strict=True)
  )
  found = {}
  for file, (imports, own, _, methods) in files.items():
    # What nothing here makes; and methods that nothing here calls.
    for name in imports | (own - made - OF_PYTHON) | (methods - read):
      found[name] = f"{found[name]} {file}" if name in found else file
  return found


def test_no_other_private_names_are_used():
  assert uses() == {name: file for name, (file, _) in ALLOWED.items()}


@pytest.mark.parametrize("name", ALLOWED)
def test_it_is_there(name):
  _, owner = ALLOWED[name]
  if owner:
    assert hasattr(owner(), name)
    return
  module, _, last = name.rpartition(".")
  if module.startswith("jax"):
    pytest.importorskip("jaxlib")
  assert hasattr(importlib.import_module(module), last) or (
    importlib.import_module(name)
  )
