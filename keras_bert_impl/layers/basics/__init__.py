"""What all layers are made of."""
