"""Modules that processes of scripts find imported; see `forked`."""

import gc

import keras  # noqa: F401
import tensorflow  # noqa: F401
import tensorflow_text  # noqa: F401

from keras_bert_impl.runs.fine_tuning import job  # noqa: F401
from keras_bert_impl.runs.pretraining import pretraining_run  # noqa: F401
from keras_bert_impl.serving import export  # noqa: F401

# They live as long as the process: not worth a look of the garbage collector.
gc.freeze()
