"""Pages that show what an encoder does with a text: attention and more."""

from keras_bert_impl.visualization.viewer import Viewer

__all__ = ["Viewer"]
