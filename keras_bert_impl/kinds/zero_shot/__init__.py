"""Classes that come with the texts, judged by a model of NLI."""
