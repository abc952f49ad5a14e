"""Plan to rows with pyarrow, exactly the live rows for which the filter is TRUE.

:func:`read_batches` reads a plan, :func:`read_tasks` tasks that were planned elsewhere, :func:`count_rows` only counts;
:mod:`counting` counts from metadata first. :mod:`reader` reads files at a time, :mod:`file_rows` the rows of one.
:mod:`files` opens data files, :mod:`projection` finds the table's columns in them and :mod:`values` converts what they
hold. :mod:`deletes` leaves out deleted rows, with :mod:`key_sets` for equality deletes; :mod:`matching` finds the rows
that equality deletes remove, for change feeds. :mod:`filters` evaluates predicates and :mod:`metadata_columns` adds
columns such as row ids.
"""

from .reader import ReadOptions, count_rows, read_batches, read_tasks

__all__ = ["ReadOptions", "count_rows", "read_batches", "read_tasks"]
