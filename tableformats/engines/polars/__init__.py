"""Plan to rows with polars: a LazyFrame whose columns and filters reach planning, see :func:`lazy_frame`.

:mod:`source` is what polars calls when the frame is collected. It plans, and lets polars read the files whose values
are the table's as they are (:mod:`plain_files`), and :mod:`tableformats.engines.arrow` the others. :mod:`predicates`
translates polars' filters for planning, and :mod:`conditions` the filter of a scan for polars.
"""

from .source import lazy_frame

__all__ = ["lazy_frame"]
