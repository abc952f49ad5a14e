"""Deletes: which delete files apply to which data files, and which rows they delete.

``delete_manifests`` reads delete manifests into the tables of ``delete_table``. ``delete_index`` matches these with
data files. ``delete_pruning`` leaves out what cannot apply. ``delete_files`` and ``puffin`` read the contents of delete
files, for the files that a scan reads. This package stands on ``manifests``.
"""
