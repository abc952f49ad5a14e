"""Parquet files as bytes: their footers, before Arrow sees them, and their column chunks and row groups."""
