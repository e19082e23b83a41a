"""Export of models as SavedModels that take raw strings."""
