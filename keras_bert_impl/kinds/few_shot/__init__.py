"""Questions asked after examples, of models that write texts."""
