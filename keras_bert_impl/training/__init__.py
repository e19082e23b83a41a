"""The training loop, distribution, resume, log and report."""
