"""Which tokens are predicted, and what stands in their place."""
