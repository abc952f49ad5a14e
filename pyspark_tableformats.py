"""Where Spark 4 looks for the data source ``tableformats``: it imports every top-level module called ``pyspark_*``."""

from tableformats.spark.datasource import TableFormatsDataSource as DefaultSource

__all__ = ["DefaultSource"]
