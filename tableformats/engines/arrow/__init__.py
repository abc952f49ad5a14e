"""Runs a plan with pyarrow: :func:`read_batches`, :func:`read_tasks` where its files were planned elsewhere, and
:func:`count_rows` where only the number of rows is wanted."""

from .reader import count_rows, read_batches, read_tasks

__all__ = ["count_rows", "read_batches", "read_tasks"]
