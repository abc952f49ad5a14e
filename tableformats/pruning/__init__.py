"""Pruning: a predicate and columns of bounds give a verdict for each file."""
