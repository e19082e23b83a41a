"""The encoder's parts: embeddings, blocks, and what stands beside them."""
