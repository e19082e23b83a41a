"""Vectors of texts: dense, sparse, of each token, static."""
