"""Parse filters: :func:`parse_filter` makes a predicate tree from any form in which users write a filter.

``sql.py`` reads Spark SQL, ``tuples.py`` lists of tuples, ``pyiceberg.py`` PyIceberg's expressions, and ``arrow.py``
pyarrow's. Of SQL,
``lexing.py`` makes tokens, and ``cursor.py`` walks over them; ``constants.py``, ``functions.py`` and ``predicates.py``
build constants, calls and conditions, and ``spark_functions.py`` lists what no filter calls. The trees name columns;
they are bound to a schema later.
"""

from __future__ import annotations

from typing import Any

from ...errors import InvalidPredicateError
from ..columns import Column
from ..tree import Expression

__all__ = ["parse_filter"]

_FORMS = "Give a SQL string, tf.col('a') > 1, tuples such as [('a', '>', 1)], or an expression of PyIceberg or pyarrow."


def parse_filter(filter: Any, ansi: bool = True) -> Expression | None:
    """The unbound predicate of a filter. None for None and for an empty list, which filter nothing.

    Parameters
    ----------
    filter : object
        A SQL string in Spark's dialect, an :class:`Expression`, tuples in disjunctive normal form, an
        expression of PyIceberg or pyarrow, or None.
    ansi : bool
        Whether a cast of a SQL string that cannot be done is an error, as in Spark with ``spark.sql.ansi.enabled``.
        False: it is NULL.

    Raises
    ------
    InvalidPredicateError
        The filter cannot be parsed, or is no filter.
    UnsupportedFeatureError
        The form of the filter, or an operation in it, is not supported. ``field`` names it.
    """
    if filter is None or isinstance(filter, Expression):
        return filter
    if isinstance(filter, str):
        from .sql import parse_sql

        return parse_sql(filter, ansi)
    if isinstance(filter, (list, tuple)):
        from .tuples import parse_tuples

        return parse_tuples(filter)
    if isinstance(filter, Column):
        raise InvalidPredicateError(
            f"{filter!r} is a column, not a predicate", hint="Compare it, as in tf.col('a') == True."
        )
    library = type(filter).__module__.partition(".")[0]
    if library == "pyiceberg":
        from .pyiceberg import parse_pyiceberg

        return parse_pyiceberg(filter)
    if library == "pyarrow":
        from .arrow import parse_pyarrow

        return parse_pyarrow(filter)
    raise InvalidPredicateError(f"{filter!r} of type {type(filter).__name__} is no filter", hint=_FORMS)
