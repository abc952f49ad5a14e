"""Avro container files, decoded into columns.

The input is the bytes of a file and the fields that the caller wants. The output is one column for each wanted field,
with one row a record. Every length, count and size in the file is checked before it is used. This package knows the
Avro format and Iceberg's field ids, and nothing of manifests. It stands on ``files``.
"""
