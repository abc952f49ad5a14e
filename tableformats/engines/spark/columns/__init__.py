"""Columns: from the table's fields to the names and types that Spark reads.

:mod:`spark_types` writes types as Spark's JSON; :mod:`checks` refuses those that Spark cannot read. A
:class:`naming.Naming` says under which names, or field ids, a group of files is read; :mod:`file_naming` finds the
namings of a plan's files, and opens a file where the table's metadata does not suffice. :mod:`orc_checks` refuses ORC
columns that Spark would read wrongly. :mod:`metadata_columns` builds the metadata columns of the result.
"""
