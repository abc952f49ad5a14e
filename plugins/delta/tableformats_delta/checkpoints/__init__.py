"""Checkpoints: the files that one consists of, and the add actions in their row groups.

This room opens classic, multi-part and V2 checkpoints with their sidecars, skips row groups by their footers, and reads
the others in batches of bounded size. It promises that damaged Parquet is an error with the file's path and never ends
the process. Data flows from a :class:`~tableformats_delta.log.listing.Checkpoint` to batches of rows, each with
a source of its statistics. The room imports ``log``, ``statistics``, ``schema`` and ``deletes``.
"""
