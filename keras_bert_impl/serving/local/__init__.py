"""A local server that answers as TensorFlow Serving's REST API does.

For development and for trying a model out. It knows SavedModels and nothing of
the library: what it answers follows from their signatures.
"""
