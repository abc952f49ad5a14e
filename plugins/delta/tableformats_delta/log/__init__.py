"""The transaction log: which files it has, and what its JSON files say.

This room lists ``_delta_log``, chooses the files that make a version, and decodes commits, compactions, checksum files
and the checkpoint hint. It promises that a damaged or missing file is an error with its path and offset, and that file
actions leave as Arrow rows of one schema. Data flows from the storage to listings, actions and rows. The room does not
open Parquet checkpoints and does not interpret schemas; it imports ``json`` and ``deletes``.
"""
