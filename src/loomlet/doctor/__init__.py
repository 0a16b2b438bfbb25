"""What loomlet.patch does not reach: `python -m loomlet doctor`."""
