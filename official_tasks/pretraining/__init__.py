"""The run behind `run_pretraining.py`."""
