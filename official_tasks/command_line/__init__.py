"""What every script shares: flags, start, end and errors."""
