"""Models as LiteRT and ONNX files, for phones, browsers and ONNX Runtime."""
