"""Tests of pruning: filters at the bounds and partition values of the files, compared with a read without pruning."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from ..dataclass import dataclass
from ..errors import InvalidPredicateError, UnsupportedFeatureError
from ..expressions import Column, Expression, Literal
from ..schema import Field, arrow_type
from ..table.table import Snapshot
from .findings import Findings, sample
from .fixtures import ConformanceFixtures, FileRows
from .live_files import LiveFile
from .values import COMPARISONS, canonical, is_nan, leaf_values, neighbours, order, shown

__all__ = ["FilterChecks", "equals_filter"]

_MOST_FILES = 20
"""Files whose bounds are filtered by, evenly spread where there are more."""
_MOST_LITERALS = 24
"""Literals of one column that further filters are made of, evenly spread where there are more."""


@dataclass(frozen=True)
class _Filter:
    """A predicate on one column, and in plain Python which values (None: NULL) it is TRUE for."""

    path: tuple[Field, ...]
    expression: Expression
    selects: Callable[[Any], bool]


class FilterChecks(ConformanceFixtures):
    """Part of :class:`FormatConformance`.

    Attributes
    ----------
    most_filters : int
        Filters that are planned beside those that every wrong bound makes fail; evenly spread over columns and literals
        where there are more.
    most_reads : int
        Filters whose rows are read, evenly spread.
    """

    most_filters: int = 600
    most_reads: int = 100

    def test_filters_at_the_bounds_plan_every_row(
        self, current_snapshot: Snapshot, live_files: list[LiveFile], unpruned_rows: list[FileRows]
    ) -> None:
        """A file that a filter drops has no row for which it is TRUE; one that is fully matched has no other.

        The filters are comparisons, IN, IS NULL and isnan at the bounds of each file, at its partition values, and at
        the values beside these.
        """
        findings = Findings("a filter drops no file with a row that it selects")
        values = _Values(unpruned_rows)
        for filter_ in self._filters(current_snapshot, live_files, values):
            plan = current_snapshot.scan(filter_.expression, case_sensitive=True).plan()
            matched = dict(zip(plan.file_uris(), plan.files["fully_matched"].to_pylist(), strict=True))
            for path, own in values.of(filter_.path).items():
                selected = list(filter(filter_.selects, own))
                if selected and path not in matched:
                    texts = shown(selected, filter_.path[-1].type)
                    found, wanted = "it dropped", f"it planned: the filter selects {len(selected)} rows, with {texts}"
                elif matched.get(path) and len(selected) < len(own):
                    others = [value for value in own if not filter_.selects(value)]
                    texts = shown(others, filter_.path[-1].type)
                    found, wanted = "it fully matched", f"it filtered: {len(others)} rows do not match, with {texts}"
                else:
                    continue
                claims = _claims(path, live_files, filter_.path[-1])
                findings.add(f"{filter_.expression}, {path}", f"{found}{claims}", wanted)
        findings.check()

    def test_filters_at_the_bounds_give_the_same_rows(
        self, current_snapshot: Snapshot, live_files: list[LiveFile], unpruned_rows: list[FileRows]
    ) -> None:
        """The rows and the count of a filtered scan are those of an unpruned read, filtered in memory."""
        findings = Findings("a filtered scan has the rows of an unpruned read that the filter selects")
        values = _Values(unpruned_rows)
        for filter_ in sample(self._filters(current_snapshot, live_files, values), self.most_reads):
            scan = current_snapshot.scan(filter_.expression, columns=[filter_.path[0].name], case_sensitive=True)
            wanted = [v for own in values.of(filter_.path).values() for v in own if filter_.selects(v)]
            found = leaf_values(scan.to_arrow(), filter_.path)
            findings.same_items(f"{filter_.expression}, rows", *(list(map(repr, v)) for v in (found, wanted)))
            findings.equal(f"{filter_.expression}, count()", scan.count(), len(wanted))
        findings.check()

    def _filters(self, current: Snapshot, files: Sequence[LiveFile], values: _Values) -> list[_Filter]:
        """The filters of every column to which filters apply; the decisive ones first."""
        decisive, others = [], []
        for path in current.schema.leaves():
            column = _column(path)
            nulls = [
                _Filter(path, column.is_null(), lambda value: value is None),
                _Filter(path, column.is_not_null(), lambda value: value is not None),
            ]
            if _applies(current, nulls[0].expression):
                decisive += nulls
            chosen = sample(files, _MOST_FILES)
            at_bounds = list(_filters_at_bounds(path, chosen))
            beside = list(_filters_beside(path, _literals(path, chosen, values)))
            if all(_applies(current, f.expression) for f in (*at_bounds[:1], *beside[:1])):
                decisive += at_bounds
                others += beside
        return [*decisive, *sample(others, self.most_filters)]


class _Values:
    """The values of columns by file (path -> values), each column read out once."""

    def __init__(self, unpruned: Sequence[FileRows]) -> None:
        self._unpruned = unpruned
        self._known: dict[int, dict[str, list[Any]]] = {}

    def of(self, path: Sequence[Field]) -> dict[str, list[Any]]:
        """Canonical values, one a row."""
        field_id = path[-1].id
        if field_id not in self._known:
            self._known[field_id] = {file.path: leaf_values(file.rows, path) for file in self._unpruned}
        return self._known[field_id]


def equals_filter(current: Snapshot, path: Sequence[Field], value: Any) -> Expression | None:
    """``column = value``, of NULL and NaN too; None where the column does not compare."""
    column = _column(path)
    if value is None:
        return column.is_null()
    expression = column.is_nan() if is_nan(value) else column == Literal(value, path[-1].type)
    return expression if _applies(current, expression) else None


def _column(path: Sequence[Field]) -> Column:
    return Column(*(field.name for field in path))


def _applies(current: Snapshot, expression: Expression) -> bool:
    """Whether the library compares the column at all: variants and columns with collations do not compare."""
    try:
        current.scan(expression, case_sensitive=True)
    except (InvalidPredicateError, UnsupportedFeatureError):
        return False
    return True


def _filters_at_bounds(path: tuple[Field, ...], files: Sequence[LiveFile]) -> Iterator[_Filter]:
    """Values below a lower and above an upper bound, and NaN: a file that has one must not be dropped for it."""
    column, kind = _column(path), path[-1].type
    if str(kind) in ("float", "double"):
        yield _Filter(path, column.is_nan(), is_nan)
    beyond: dict[str, Callable[[Any, Any], Any]] = {"lower": operator.lt, "upper": operator.gt}
    for side, compare in beyond.items():
        bounds = [_comparable(file.bound(getattr(file.bounds, side), path[-1]), path[-1]) for file in files]
        for value in dict.fromkeys(value for values in bounds for value in values):
            yield _Filter(path, compare(column, Literal(value, kind)), _comparison(COMPARISONS[compare], value))


def _filters_beside(path: tuple[Field, ...], literals: Sequence[Any]) -> Iterator[_Filter]:
    """Every comparison with these literals, and IN with two of them at a time."""
    column, kind = _column(path), path[-1].type
    for value in literals:
        for compare, holds in COMPARISONS.items():
            yield _Filter(path, compare(column, Literal(value, kind)), _comparison(holds, value))
    for pair in zip(literals, literals[len(literals) // 2 :], strict=False):
        yield _Filter(path, column.isin([Literal(value, kind) for value in pair]), _is_in(pair))


def _comparison(holds: Callable[[int], bool], literal: Any) -> Callable[[Any], bool]:
    return lambda value: value is not None and holds(order(value, literal))


def _is_in(literals: Sequence[Any]) -> Callable[[Any], bool]:
    return lambda value: value is not None and any(order(value, literal) == 0 for literal in literals)


def _literals(path: tuple[Field, ...], files: Sequence[LiveFile], values: _Values) -> list[Any]:
    """Bounds, partition values, and of partitioned columns the extremes; each with the values beside it."""
    field = path[-1]
    found: list[Any] = []
    for file in files:
        sides = [file.bound(side, field) for side in (file.bounds.lower, file.bounds.upper)]
        partition = [file.partition(f.id) for f in file.spec.fields if f.source_id == field.id]
        found += [value for array in (*sides, *partition) for value in _comparable(array, field)]
        if field.id in {f.source_id for f in file.spec.fields}:
            own = [v for v in values.of(path).get(file.absolute, ()) if v is not None and not is_nan(v)]
            found += [min(own), max(own)] if own else []
    literals = dict.fromkeys(v for value in dict.fromkeys(found) for v in (value, *neighbours(value, field.type)))
    return sample(list(literals), _MOST_LITERALS)


def _comparable(array: pa.Array | None, field: Field) -> list[Any]:
    """The values that the column compares with: those of its type, without NULL and NaN."""
    if array is None or array.type != arrow_type(field.type):
        return []
    return [value for value in canonical(array) if value is not None and not is_nan(value)]


def _claims(path: str, files: Sequence[LiveFile], field: Field) -> str:
    """What the metadata says of a column of a file."""
    said = []
    for file in files:
        if file.absolute != path:
            continue
        for name in ("lower", "upper", "null_count", "nan_count", "value_count"):
            value = file.bound(getattr(file.bounds, name), field)
            if value is not None:
                said.append(f"{name} {value[0]}")
        for partition_field in file.spec.fields:
            value = file.partition(partition_field.id)
            if partition_field.source_id == field.id and value is not None:
                said.append(f"partition {partition_field.name} {value[0]}")
    return f" ({', '.join(said)})" if said else ""
