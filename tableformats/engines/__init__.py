"""Engines: they turn the files of a plan into rows, :mod:`arrow` with pyarrow and :mod:`spark` with Spark.

Both take a :class:`~tableformats.planning.plan.FilePlan` and give the same rows. They import planning and what lies
below it, and never the table's verbs.
"""
