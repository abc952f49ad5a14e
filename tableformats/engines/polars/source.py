"""What polars calls when a LazyFrame over a table is collected: plan, and read the files of the plan in its order.

polars gives the columns and the filter of the query. It evaluates the filter itself; planning gets what of it is
understood. Neighbouring files that are plain are read by polars together, others by our reader of Arrow. Where polars
refuses what it was given, our reader reads the same files, skips the rows that polars gave, and says what is wrong.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import lru_cache
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ...errors import InvalidPredicateError, UnsupportedFeatureError
from ...expressions.tree import TRUE, Expression, conjunction, top_columns
from ...planning.plan import FilePlan
from ...planning.planner import plan_scan
from ...planning.request import ScanRequest
from ...planning.residuals import residuals
from ...schema import Field, Schema
from ..arrow import read_batches
from .conditions import same_condition
from .plain_files import Layout, PlainFiles
from .predicates import implied_condition

if TYPE_CHECKING:
    import polars

    _Frames = Generator[polars.DataFrame, None, None]

__all__ = ["TableSource", "lazy_frame"]

_FIRST_FILES, _MOST_FILES = 16, 1024
"""So many files are looked at together, twice as many each time: a query may end early."""
_CHUNK_BYTES = 16 << 20
_FEWEST_ROWS, _MOST_ROWS = 100_000, 500_000
_MOST_VALUES = 8 << 20
"""About how many rows polars gives at a time, by the bytes of the first file as it is stored, and by the columns. Those
of small files it joins. Fewer and longer frames take less time, and more memory."""


def lazy_frame(scan: ScanRequest) -> polars.LazyFrame:
    """The rows of a scan as a LazyFrame. It plans and reads when it is collected, anew each time."""
    from polars.io.plugins import register_io_source

    source = TableSource(scan)
    return register_io_source(source, schema=source.schema(), is_pure=True)


class TableSource:
    """Gives polars the rows of a scan. Called on any thread, once for each time that the frame is collected."""

    def __init__(self, scan: ScanRequest) -> None:
        self._scan = scan

    def schema(self) -> dict[str, polars.DataType]:
        """The columns as polars calls their types."""
        return _types_of(self._scan.schema)

    def __call__(
        self, with_columns: list[str] | None, predicate: polars.Expr | None, n_rows: int | None, batch_size: int | None
    ) -> Iterator[polars.DataFrame]:
        """The rows for which ``predicate`` is true, of the first ``n_rows``; the meaning of both is polars'."""
        import polars as pl

        scan, schema = self._scan.reattached(), self.schema()
        names = scan.schema.names if with_columns is None else list(with_columns)
        limits = [limit for limit in (scan.limit, n_rows) if limit is not None]
        used = {*names, *(() if predicate is None else predicate.meta.root_names())}
        fields = tuple(f for f in scan.schema if f.name in used)
        condition = TRUE if predicate is None or limits else _condition(predicate, scan, schema)
        fields += _tested_columns(scan, fields)
        schema = _types_of(fields)
        wanted = Schema(fields, scan.schema.id)
        scan = replace(scan, schema=wanted, filter=conjunction(scan.filter, condition), limit=None)
        reader = _Reader(plan_scan(scan), self._scan.filter, None if limits else predicate, schema)
        with closing(reader.frames(min(limits, default=None))) as frames:
            is_empty = True
            for frame in frames:
                is_empty = False
                yield _chosen(frame if predicate is None or not limits else frame.filter(predicate), names)
        if is_empty:
            yield pl.DataFrame(schema={name: schema[name] for name in names})


def _types_of(fields: Iterable[Field]) -> dict[str, polars.DataType]:
    schema = Schema(tuple(fields)).to_arrow()
    return dict(zip(schema.names, _types_of_arrow(schema), strict=True))


@lru_cache(maxsize=64)
def _types_of_arrow(schema: pa.Schema) -> list[polars.DataType]:
    """The types of columns as polars calls them. It takes half a millisecond to say so."""
    import polars as pl

    empty: Any = pl.from_arrow(schema.empty_table())
    return list(empty.dtypes)


def _tested_columns(scan: ScanRequest, fields: Iterable[Field]) -> tuple[Field, ...]:
    """The columns that polars needs for the scan's own filter, and that are not among ``fields``."""
    if scan.filter == TRUE or same_condition(scan.filter) is None:
        return ()
    missing = top_columns(scan.filter) - {f.id for f in fields}
    return tuple(f for f in scan.snapshot.schema if f.id in missing)


def _chosen(frame: polars.DataFrame, names: Sequence[str]) -> polars.DataFrame:
    """Some columns of a frame. ``select`` would take some names for patterns."""
    import polars as pl

    return frame if frame.columns == names else pl.DataFrame([frame.get_column(name) for name in names])


def _condition(predicate: polars.Expr, scan: ScanRequest, schema: dict[str, Any]) -> Expression:
    """What of a filter of polars is understood, bound to the table."""
    of_table = {f.id for f in scan.snapshot.schema}
    implied = implied_condition(predicate, [f for f in scan.schema if f.id in of_table], schema)
    if implied is None:
        return TRUE
    try:
        return scan.snapshot.bind(implied, True, scan.ansi, scan.now)
    except (InvalidPredicateError, UnsupportedFeatureError):
        return TRUE


class _Reader:
    """Reads the files of a plan, in its order.

    Parameters
    ----------
    plan : FilePlan
        Its filter may have more conditions than ``own``, which hold for all rows for which ``predicate`` is true.
    own : Expression
        What must hold for the rows beside ``predicate``.
    predicate : polars.Expr, optional
    schema : dict of str to polars.DataType
    """

    def __init__(self, plan: FilePlan, own: Expression, predicate: polars.Expr | None, schema: dict[str, Any]) -> None:
        self._plan, self._predicate, self._schema = plan, predicate, schema
        self._names = plan.schema.names
        self._files = PlainFiles(plan, schema)
        self._residuals = None if own == TRUE else residuals(plan, own)
        self._conditions: dict[Expression, polars.Expr | None] = {TRUE: None}

    def frames(self, limit: int | None) -> _Frames:
        """The rows for which the predicate is true; at most so many."""
        for run, layouts in self._runs():
            frames = self._by_arrow(run) if layouts is None else self._by_polars(run, layouts, limit)
            with closing(frames):
                for frame in frames:
                    yield frame if limit is None else frame.head(limit)
                    if limit is not None:
                        limit -= frame.height
                        if limit <= 0:
                            return

    def _runs(self) -> Iterator[tuple[list[int], list[Layout] | None]]:
        """The numbers of neighbouring files that polars reads, with the layout of each, and of others (None)."""
        numbers, count = iter(range(len(self._plan))), _FIRST_FILES
        while found := list(islice(numbers, count)):
            count = min(2 * count, _MOST_FILES)
            for is_plain, group in groupby(((i, self._layout_of(i)) for i in found), lambda pair: pair[1] is not None):
                pairs = list(group)
                yield [i for i, _ in pairs], [layout for _, layout in pairs if layout] if is_plain else None

    def _layout_of(self, number: int) -> Layout | None:
        """How polars finds the columns in a file. None: our reader reads it."""
        if self._residuals is not None:
            residual = self._residuals[number]
            if residual not in self._conditions:
                is_known = top_columns(residual) <= {f.id for f in self._plan.schema}
                self._conditions[residual] = same_condition(residual) if is_known else None
            if residual != TRUE and self._conditions[residual] is None:
                return None
        return self._files.layout_of(number)

    def _residual_of(self, number: int) -> Expression:
        return TRUE if self._residuals is None else self._residuals[number]

    def _by_arrow(self, numbers: Sequence[int], skipped: int = 0) -> _Frames:
        """The rows of some files, as our reader makes them, without the first ones."""
        import polars as pl

        with read_batches(self._plan, [self._files.tasks[i] for i in numbers]) as batches:
            for batch in batches:
                frame: Any = pl.from_arrow(batch)
                frame.columns = self._names  # it names columns without a name
                if self._predicate is not None:
                    frame = frame.filter(self._predicate)
                if skipped >= frame.height:
                    skipped -= frame.height
                    continue
                yield frame.slice(skipped)
                skipped = 0

    def _by_polars(self, numbers: Sequence[int], layouts: Sequence[Layout], limit: int | None) -> _Frames:
        """The same rows, as polars reads them."""
        import polars as pl

        required = {name for layout in layouts for name in layout.required}
        given, frames = 0, None
        try:
            lazy = self._scanned(numbers, layouts)
            if limit is not None:
                lazy = lazy.head(limit)
            frames = iter(lazy.collect_batches(chunk_size=self._frame_rows(numbers[0]), lazy=True))
        except pl.exceptions.PolarsError:
            pass
        while frames is not None:
            try:
                frame = next(frames, None)
            except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
                break
            if frame is None:
                return
            if any(frame[name].null_count() for name in required):
                break
            given += frame.height
            yield frame
        yield from self._by_arrow(numbers, given)

    def _frame_rows(self, number: int) -> int:
        """About how many rows a frame has, by a file."""
        most = min(_MOST_ROWS, _MOST_VALUES // max(len(self._names), 1))
        return max(min(self._files.rows_of(number, _CHUNK_BYTES), most), _FEWEST_ROWS)

    def _scanned(self, numbers: Iterable[int], layouts: Iterable[Layout]) -> polars.LazyFrame:
        import polars as pl

        found = []
        files = ((i, layout, self._residual_of(i)) for i, layout in zip(numbers, layouts, strict=True))
        for (layout, residual), group in groupby(files, lambda file: file[1:]):
            schema = {stored: self._schema[name] for name, stored in layout.stored.items()}
            lazy = pl.scan_parquet(
                [self._files.paths[i] for i, _, _ in group],
                schema=schema,
                extra_columns="ignore",
                glob=False,
                hive_partitioning=False,
            )
            lazy = lazy.select([layout.column(name) for name in self._names])
            condition = self._conditions[residual]
            found.append(lazy if condition is None else lazy.filter(condition))
        lazy = found[0] if len(found) == 1 else pl.concat(found)
        return lazy if self._predicate is None else lazy.filter(self._predicate)
