"""Parts that all layers are made of."""
