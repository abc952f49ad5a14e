"""Columns: NumPy and Arrow arrays, compute functions, packed columns."""
