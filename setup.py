"""Package metadata. `pip install -e .` for use, `.[tests]` for the tests."""

import pathlib
import re

import setuptools

ROOT = pathlib.Path(__file__).parent

PACKAGES = ("keras_bert_impl*", "official_tasks*", "tfrecords*")


def long_description():
  """Returns the README without pictures, which lie in the checkout only."""
  text = (ROOT / "README.md").read_text(encoding="utf-8")
  return re.sub(r"^\|?\s*!\[.*\n", "", text, flags=re.MULTILINE)


setuptools.setup(
  name="keras-bert-impl",
  version="0.1.0",
  description="The BERT family on Keras 3 and TensorFlow: from text to serving",
  long_description=long_description(),
  long_description_content_type="text/markdown",
  author="The keras_bert_impl authors",
  license="Apache-2.0",
  python_requires=">=3.10,<3.14",
  packages=setuptools.find_packages(include=PACKAGES),
  # Then an editable install is a path, which editors and type checkers read.
  package_dir={"": "."},
  entry_points={
    "console_scripts": ["keras-bert-impl = keras_bert_impl.__main__:main"]
  },
  package_data={
    # Editors and type checkers read its annotations and imports.
    "keras_bert_impl": ["py.typed"],
    "keras_bert_impl.serving.local": ["client/*", "page/*"],
    "keras_bert_impl.visualization": ["page/*"],
  },
  install_requires=[
    "absl-py>=2.1",
    "etils[epy]>=1.9",
    # Python 3.10 cannot use later ones, and old pips search long to find out.
    "etils<1.14; python_version < '3.11'",
    # tensorflow-datasets imports it without asking for it.
    "importlib-resources>=6",
    "keras>=3.12",
    "matplotlib>=3.9.2",
    "ml-dtypes>=0.4",
    "numpy>=1.26",
    "optree>=0.13",
    "safetensors>=0.4.5",
    "scipy>=1.15",
    "sentencepiece>=0.2.2",
    "tensorboard>=2.19",
    "tensorflow>=2.20,<2.22",
    "tensorflow-datasets>=4.9.10",
    # It takes any; what fits the latest protobuf on Python 3.10 is broken.
    "tensorflow-metadata>=1.21",
    # It has no wheel elsewhere; text is tokenized in Python there.
    "tensorflow-text>=2.20,<2.22; platform_system != 'Windows'",
    "tokenizers>=0.21.4",
    "tqdm>=4.66",
  ],
  extras_require={
    # Data preparation on many machines; docs/beam.md.
    "beam": ["apache-beam>=2.77,<2.78"],
    # The site that Sphinx makes of docs/.
    "docs": ["furo>=2024.8", "ipykernel>=6", "myst-nb>=1.2", "sphinx>=8.1"],
    # BLEU and chrF of generated texts.
    "generation": ["sacrebleu>=2.4"],
    # Models by name.
    "hub": ["huggingface-hub>=0.30", "kagglehub>=0.3"],
    # What runs models in files of LiteRT; TensorFlow writes these.
    "litert": ["ai-edge-litert>=2.1"],
    # Models in files of ONNX.
    "onnx": ["onnx>=1.18", "onnxruntime>=1.20", "tf2onnx>=1.17"],
    # Approximate search of vectors.
    "search": ["faiss-cpu>=1.10"],
    # The local server; the protocol buffers of clients of TensorFlow Serving.
    "serving": [
      "starlette>=1.2",
      "tensorflow-serving-api>=2.20,<2.22",
      "uvicorn>=0.34",
    ],
    # Compiling a step for TPUs without one. What it uses of JAX is no public
    # interface: these two go together and with tpu_compiler.py.
    "tpu-check": ["jax==0.10.2", "libtpu==0.0.42.1"],
    "tests": [
      "ai-edge-litert>=2.1",
      "basedpyright==1.40.2",
      "faiss-cpu>=1.10",
      # What starlette's test client needs.
      "httpx2>=2",
      "huggingface-hub>=0.30",
      # The layers are tested on Keras' JAX backend too.
      "jax>=0.4.34",
      "kagglehub>=0.3",
      "mwparserfromhell>=0.7",
      "onnx>=1.18",
      "onnxruntime>=1.20",
      "pandas>=2.2.3",
      "psutil>=5.9.4",
      "pytest>=8",
      "pytest-xdist>=3.6",
      # The references of scores of generated texts.
      "rouge-score>=0.1.2",
      "ruff>=0.17,<0.18",
      "sacrebleu>=2.4",
      # The reference of scores.
      "scikit-learn>=1.5.2",
      # Drives the page of the local server in a browser.
      "selenium>=4.20",
      "starlette>=1.2",
      "tensorflow-serving-api>=2.20,<2.22",
      "tf2onnx>=1.17",
      "uvicorn>=0.34",
    ],
    # Dumps of Wikipedia as text; data sets of it come without.
    "wikipedia": ["mwparserfromhell>=0.7"],
  },
  classifiers=[
    "Programming Language :: Python :: 3",
  ],
)
