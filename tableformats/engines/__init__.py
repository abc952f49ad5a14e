"""Engines: they turn the files of a plan into rows, :mod:`arrow` with pyarrow, :mod:`spark` with Spark, and
:mod:`polars` with polars, and with pyarrow what polars cannot read.

All take a :class:`~tableformats.planning.plan.FilePlan` and give the same rows. They import planning and what lies
below it, and never the table's verbs.
"""
