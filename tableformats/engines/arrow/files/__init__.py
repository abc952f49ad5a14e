"""Data files opened for reading: Parquet, ORC and Avro.

:func:`opening.open_data_file` opens the file of a task. The result is a :class:`data_file.DataFile`: a tree of columns
(:mod:`column_tree`) and an iterator over batches of the selected leaf columns, one row group, stripe or block at a
time, never the whole file. :mod:`parquet`, :mod:`orc` and :mod:`avro` implement it; :mod:`avro_blocks` reads Avro's
container, :mod:`avro_types` its schemas and values. Whatever Arrow raises over damaged bytes leaves here as one of our
errors.
"""
