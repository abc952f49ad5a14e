"""The ``protocol`` and ``metaData`` actions: what a table needs of its reader, and how its rows are typed.

This room decides whether a table can be read, and decodes the schema, column mapping, partition columns, generated
columns and row tracking. It promises a complete decoded :class:`~.table_metadata.TableMetadata` or an error that names
the field. Data flows from decoded actions and the strings of partition values to schemas, specs and typed partition
columns. The room reads no file; it imports ``json`` alone.
"""
