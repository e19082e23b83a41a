"""What says how texts become ids, and the files that hold it; no TensorFlow."""
