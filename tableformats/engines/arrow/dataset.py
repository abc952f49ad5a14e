"""A scan as a pyarrow Dataset, for DuckDB, polars and others: their filters and columns prune files and row groups."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pyarrow.dataset as ds
from pyarrow import fs

from ...errors import InvalidPredicateError, UnsupportedFeatureError
from ...expressions import conjunction
from ...expressions.parse import parse_filter
from ...expressions.tree import TRUE, Comparison, Expression, In, Literal, Reference, columns_of, walk
from ...planning.planner import plan_scan
from ...planning.request import ScanRequest
from ...schema import is_floating
from .counting import count
from .reader import read_batches

__all__ = ["ScanDataset"]

_EXACT = 2**24
"""Integers up to this one are values of float and of double."""
_ELSE = "ask its scanner(), to_table() or to_batches()"


class ScanDataset(ds.UnionDataset):  # type: ignore[misc]
    """The rows of a scan. Each call reads them anew, of the version that the scan has.

    What goes past :meth:`scanner`, to the files below it, gets an error: there are deletes, partition values and
    filters that the files do not have.

    Parameters
    ----------
    scan : ScanRequest
        Without a limit.

    Raises
    ------
    UnsupportedFeatureError
        The scan has a limit, which filters of a consumer would have to come after.
    """

    def __init__(self, scan: ScanRequest) -> None:
        if scan.limit is not None:
            raise UnsupportedFeatureError(
                "a dataset has no limit", field="limit", hint="Leave out limit=, or read the rows with to_arrow()"
            )
        schema = scan.schema.to_arrow()
        nowhere = ds.ParquetFileFormat().make_fragment(f"no file: {_ELSE}", fs.LocalFileSystem())
        super().__init__(schema, [ds.FileSystemDataset([nowhere], schema, nowhere.format, fs.LocalFileSystem())])
        self._scan = scan

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._scan,)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._scan!r})"

    def scanner(self, columns: Any = None, filter: Any = None, **options: Any) -> ds.Scanner:
        """Read the rows for which ``filter`` is true.

        Files, row groups and columns that the call does not need are not read. ``filter`` has Arrow's meaning; what of
        it cannot be translated is evaluated by Arrow, and prunes nothing.

        Parameters
        ----------
        columns : list of str, or dict of str to pyarrow.compute.Expression, optional
        filter : pyarrow.compute.Expression, optional
        **options
            As of :meth:`pyarrow.dataset.Dataset.scanner`; ``batch_size`` is used.
        """
        narrowed = self._narrowed(filter)
        if narrowed is not None:
            filter = None
        scan = self._scan.reattached() if narrowed is None else narrowed
        if isinstance(columns, (list, tuple)) and filter is None and set(columns) <= set(scan.schema.names):
            scan = replace(scan, schema=scan.snapshot.project(list(dict.fromkeys(columns)), True))
        used = {name: options[name] for name in ("batch_size",) if options.get(name) is not None}
        return ds.Scanner.from_batches(read_batches(plan_scan(scan)), columns=columns, filter=filter, **used)

    def count_rows(self, filter: Any = None, **options: Any) -> int:
        """The number of rows for which ``filter`` is true; from metadata where that is exact."""
        narrowed = self._narrowed(filter)
        return (
            int(self.scanner(filter=filter, **options).count_rows()) if narrowed is None else count(plan_scan(narrowed))
        )

    def get_fragments(self, filter: Any = None) -> Any:
        """Refused: the rows of a table are not those of its files."""
        raise UnsupportedFeatureError(
            "a table has no fragments: the rows of its files are not yet its rows",
            field="fragments",
            hint=f"Or {_ELSE}",
        )

    def filter(self, expression: Any) -> ScanDataset:
        """The dataset of the rows for which ``expression`` is true.

        Raises
        ------
        InvalidPredicateError, UnsupportedFeatureError
            The expression cannot be translated.
        """
        return ScanDataset(self._where(expression))

    def _narrowed(self, filter: Any) -> ScanRequest | None:
        """The scan with a filter of Arrow; None where that cannot be said exactly."""
        if filter is None:
            return self._scan.reattached()
        try:
            return self._where(filter)
        except (InvalidPredicateError, UnsupportedFeatureError):
            return None

    def _where(self, filter: Any) -> ScanRequest:
        scan, parsed = self._scan.reattached(), parse_filter(filter)
        names = {c.parts[0] for c in columns_of(TRUE if parsed is None else parsed) if isinstance(c, Reference)}
        if not names <= set(scan.schema.names):
            raise InvalidPredicateError(f"the dataset has no column {min(names - set(scan.schema.names))!r}")
        more = scan.snapshot.bind(parsed, True, scan.ansi, scan.now)  # Arrow's names are case-sensitive
        if any(_compares_otherwise(node, scan) for node in walk(TRUE if parsed is None else parsed)):
            raise UnsupportedFeatureError(
                "Arrow compares these types of numbers otherwise",
                field="filter",
                hint="Compare with a value of the column's type",
            )
        return replace(scan, filter=conjunction(scan.filter, more))


def _compares_otherwise(node: Expression, scan: ScanRequest) -> bool:
    """Whether Arrow may answer a condition on numbers otherwise.

    It rounds integers and decimals to floats before it compares them with floats, and its ``is_in`` tells -0.0 and 0.0
    apart.
    """
    if isinstance(node, In):
        column, literals = node.column, node.literals
    elif isinstance(node, Comparison) and isinstance(node.right, Literal):
        column, literals = node.column, (node.right,)
    else:
        return False
    assert isinstance(column, Reference), "pyarrow compares columns"
    values = [literal.value for literal in literals]
    path = scan.snapshot.schema.resolve(list(column.parts), True)
    if path is None or not is_floating(path[-1].type):
        # The test for NaN that a translated comparison has is no constant of the user's.
        return any(isinstance(value, float) and not math.isnan(value) for value in values)
    if isinstance(node, In) and any(value == 0 for value in values):
        return True
    return any(isinstance(value, Decimal) or (isinstance(value, int) and abs(value) > _EXACT) for value in values)
