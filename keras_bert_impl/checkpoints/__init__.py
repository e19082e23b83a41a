"""Reads and writes checkpoints in the released formats.

From a path to an open checkpoint, in this order:

  hub                 the files of a model that is given by name
  config_json,        what the files beside it declare
  google_config
  safetensors_format, the weights under our names (`names`)
  torch_format,
  h5_format,
  tf_format,
  model_garden,
  keras_format
  description         configuration, head and labels, completed by the weights
  reading             finds the file, and does all of this: `open_checkpoint`
  assignment          the weights into a model

`writing` goes the other way.
"""
