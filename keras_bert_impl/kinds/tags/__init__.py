"""Tags of tokens: named entities, other spans, parts of speech."""
