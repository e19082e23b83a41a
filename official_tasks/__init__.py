"""Scripts of the main steps: `python official_tasks/<script>.py --help`."""
