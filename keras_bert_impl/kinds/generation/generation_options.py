"""Options of the servable that generates text."""

from keras_bert_impl.generation import settings

# Those of all servables of the kind.
SERVING = (settings.SearchSettings,)
