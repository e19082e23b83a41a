"""Command line of all scripts: flags, start, end and errors."""
