"""What the installed Spark can do, and settings that tests need."""

from __future__ import annotations

READS_SHREDDED = {"spark.sql.variant.allowReadingShredded": "true"}
"""A setting that Spark 4.0 needs for shredded variants; later versions have it so."""


def has_data_sources() -> bool:
    """Whether Spark has Python data sources, and with them our portable path: from 4.0 on."""
    from importlib.util import find_spec

    return find_spec("pyspark.sql.datasource") is not None


def serves_connect() -> bool:
    """Whether the session of :func:`spark` is a Spark Connect server too: PySpark 4 has one, clients need grpc."""
    from importlib.util import find_spec

    return find_spec("grpc") is not None and has_data_sources()


NOWHERE = "/dev/null/nowhere"
"""No directory can be made there, so that the data source takes over from the file log."""
