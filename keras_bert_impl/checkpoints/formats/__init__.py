"""Formats of weights: TensorFlow, safetensors, PyTorch, Keras, HDF5."""
