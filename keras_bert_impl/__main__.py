"""Runs one of the scripts of official_tasks, wherever they are installed.

python -m keras_bert_impl run_pretraining --help
"""

import importlib.metadata
import pkgutil
import runpy
import sys

import official_tasks

SCRIPTS = tuple(
  sorted(m.name for m in pkgutil.iter_modules(official_tasks.__path__))
)


def main():
  """Runs the script that the first argument names with those after it."""
  name = sys.argv[1] if len(sys.argv) > 1 else "--help"
  if name == "--version":
    print(f"keras-bert-impl {importlib.metadata.version('keras-bert-impl')}")
    return
  if name not in SCRIPTS:
    is_help = name in ("-h", "--help")
    (sys.stdout if is_help else sys.stderr).write(
      f"{'' if is_help else f'Error: there is no script {name!r}. '}Usage:"
      " keras-bert-impl SCRIPT [flags], keras-bert-impl --version; scripts:"
      f" {', '.join(SCRIPTS)}.\n"
    )
    sys.exit(0 if is_help else 2)
  del sys.argv[0]
  runpy.run_module(
    f"official_tasks.{name}", run_name="__main__", alter_sys=True
  )


if __name__ == "__main__":
  main()
