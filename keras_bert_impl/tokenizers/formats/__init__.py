"""Rules by which texts become ids, and the files of these; no TensorFlow."""
