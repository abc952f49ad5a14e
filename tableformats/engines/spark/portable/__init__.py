"""The portable path: any session of Spark 4, also one whose JVM Python cannot reach.

:func:`portable_scan.to_spark` is its entry. :mod:`file_log` has Spark's own readers read the planned files, which
needs a directory for a file log. Otherwise the Python data source ``tableformats`` reads them
(:mod:`tableformats.spark.datasource`), with :mod:`worker_batches` to convert rows to Spark's Arrow types.
"""
