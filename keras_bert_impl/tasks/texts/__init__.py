"""Classes, scores and choices of whole texts."""
