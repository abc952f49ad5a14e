"""Metadata tables (``snapshots``, ``files``, ``entries``, ...) as Arrow tables, under Iceberg's own column names.

A metadata table is computed from the table metadata and the manifests of one snapshot, when a caller asks for it.
Planning does not use this package. It stands on ``manifests``; the snapshot calls it.
"""
