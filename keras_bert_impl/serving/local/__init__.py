"""A local server with TensorFlow Serving's REST API, for development.

It knows only SavedModels and their signatures, and nothing of the library.
"""
