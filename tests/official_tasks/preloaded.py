"""What processes of scripts find imported; see `forked`."""

import gc

import keras  # noqa: F401
import tensorflow  # noqa: F401

# They live as long as the process: not worth a look of the garbage collector.
gc.freeze()
