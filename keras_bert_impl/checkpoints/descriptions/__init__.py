"""Files beside weights: configurations, heads, labels, tokenizers."""
