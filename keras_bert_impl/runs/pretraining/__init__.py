"""Pre-training runs: the library behind `run_pretraining.py`."""
