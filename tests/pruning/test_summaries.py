"""Groups of files by the summaries of their partition values: verdicts of one group, for each thing it may say."""

from __future__ import annotations

from datetime import date
from typing import Any

import pyarrow as pa
import pytest

from tableformats.expressions.binding import bind
from tableformats.expressions.parse import parse_filter
from tableformats.plugin import Bounds, PartitionField, PartitionSpec
from tableformats.pruning.compiled_predicate import ALL, NONE, SOME, CompiledPredicate
from tableformats.pruning.manifest_filter import PredicateManifestFilter
from tableformats.schema import Schema, arrow_type, primitive
from tableformats.schema.transforms import parse_transform

SCHEMA = Schema.from_arrow(
    pa.schema({"x": pa.int32(), "d": pa.float64(), "s": pa.string(), "day": pa.date32(), "other": pa.int32()})
)
IDS = {field.name: field.id for field in SCHEMA}
KINDS = {field.name: field.type for field in SCHEMA}


def verdict(
    condition: str,
    sides: tuple[Any, Any],
    null: bool | None = False,
    nan: bool | None = False,
    column: str = "x",
    transform: str = "identity",
    bounds: Bounds | None = None,
) -> int:
    parsed = parse_filter(condition)
    assert parsed is not None
    made = parse_transform(transform)
    kind = made.result_type(KINDS[column])
    spec = PartitionSpec(0, (PartitionField(1000, "p", IDS[column], made, kind),))
    manifests = PredicateManifestFilter(CompiledPredicate(bind(parsed, SCHEMA)), {0: spec})
    stored = pa.int32() if transform in ("year", "month") else arrow_type(kind)
    lower, upper = ({1000: pa.array([side], stored).cast(arrow_type(kind))} for side in sides)
    flags = [{1000: pa.array([flag], pa.bool_())} for flag in (null, nan)]
    return int(manifests.decide(0, lower, upper, *flags, bounds).verdicts[0])


@pytest.mark.parametrize(
    ("condition", "sides", "null", "wanted"),
    [
        ("x > 5", (1, 9), False, SOME),
        ("x > 5", (1, 5), False, NONE),
        ("x > 5", (6, 9), False, ALL),
        ("x > 5", (6, 9), True, SOME),
        ("x > 5", (6, 9), None, SOME),
        ("x > 5", (None, None), True, NONE),  # nothing but NULL
        ("x > 5", (None, None), None, NONE),
        ("x IS NULL", (None, None), True, ALL),
        ("x IS NULL", (1, 9), False, NONE),
        ("x IS NULL", (1, 9), None, SOME),
        ("x IS NOT NULL", (None, None), True, NONE),
        ("x > 5", (None, None), False, SOME),  # neither a value nor NULL: it contradicts itself
        ("x IS NULL", (None, None), False, SOME),
        ("x > 5", (9, 1), False, SOME),
    ],
)
def test_integers(condition: str, sides: tuple[Any, Any], null: bool | None, wanted: int) -> None:
    assert verdict(condition, sides, null) == wanted


@pytest.mark.parametrize(
    ("condition", "sides", "null", "nan", "wanted"),
    [
        ("d > 5", (1.0, 5.0), False, False, NONE),
        ("d > 5", (1.0, 5.0), False, True, SOME),
        ("d > 5", (1.0, 5.0), False, None, SOME),
        ("d <= 5", (1.0, 5.0), False, False, ALL),
        ("d <= 5", (1.0, 5.0), False, True, SOME),
        ("d > 5", (None, None), True, False, NONE),
        ("d IS NULL", (None, None), True, False, ALL),
        ("isnan(d)", (None, None), False, True, ALL),
        ("isnan(d)", (None, None), True, True, SOME),
        ("isnan(d)", (None, 5.0), False, True, SOME),  # the upper bound is one of a number
        ("d > 5", (None, None), False, False, SOME),
        ("d = 7", (float("nan"), float("nan")), False, False, SOME),
        ("isnan(d)", (float("nan"), float("nan")), False, False, NONE),
        ("d = 7", (float("nan"), 5.0), False, False, NONE),
        ("d = 7", (8.0, float("nan")), False, False, NONE),
    ],
)
def test_floats(condition: str, sides: tuple[Any, Any], null: bool | None, nan: bool | None, wanted: int) -> None:
    assert verdict(condition, sides, null, nan, column="d") == wanted


@pytest.mark.parametrize(
    ("condition", "sides", "column", "transform", "wanted"),
    [
        ("x = 14", (0, 10), "x", "truncate[5]", SOME),
        ("x = 15", (0, 10), "x", "truncate[5]", NONE),
        ("x < 15", (0, 10), "x", "truncate[5]", ALL),
        ("x < 0", (0, 10), "x", "truncate[5]", NONE),
        ("day > DATE'1972-12-31'", (1, 2), "day", "year", NONE),
        ("day > DATE'1972-12-30'", (1, 2), "day", "year", SOME),
        ("day >= DATE'1971-01-01'", (1, 2), "day", "year", ALL),
        ("s = 'bz'", ("a", "b"), "s", "truncate[1]", SOME),
        ("s = 'ca'", ("a", "b"), "s", "truncate[1]", NONE),
        ("s >= 'a'", ("a", "b"), "s", "truncate[1]", ALL),
        ("s > 'a' AND s < 'a\ufffd'", ("a", "a\xe9"), "s", "identity", SOME),
    ],
)
def test_transforms(condition: str, sides: tuple[Any, Any], column: str, transform: str, wanted: int) -> None:
    assert verdict(condition, sides, column=column, transform=transform) == wanted


def test_bounds_of_columns_beside_partition_values() -> None:
    def bounds(low: Any, high: Any, column: str = "other") -> Bounds:
        kind = arrow_type(KINDS[column])
        return Bounds({IDS[column]: pa.array([low], kind)}, {IDS[column]: pa.array([high], kind)})

    assert verdict("x > 5 AND other > 5", (6, 9), bounds=bounds(1, 5)) == NONE
    assert verdict("x > 5 AND other > 5", (6, 9), bounds=bounds(1, 6)) == SOME
    assert verdict("x > 5 AND other > 5", (1, 5), bounds=bounds(6, 9)) == NONE
    assert verdict("day > DATE'2020-01-01'", (1, 1), bounds=bounds(date(2019, 1, 1), date(2020, 1, 1), "day")) == NONE
    assert verdict("s > 'b'", (1, 1), bounds=bounds("a", "az", "s")) == NONE
    # A text with U+FFFD may stand for bytes that are less, and the greatest bound for greater ones.
    assert verdict("s < 'a'", (1, 1), bounds=bounds("a\ufffd", "b", "s")) == NONE
    assert verdict("s < 'a\ud7ff'", (1, 1), bounds=bounds("a\ufffd", "b", "s")) == SOME
    assert verdict("s > 'a\U0010ffff'", (1, 1), bounds=bounds("a", "a\ufffd", "s")) == SOME
    assert verdict("s > 'a\U0010ffff'", (1, 1), bounds=bounds("a", "a\ud7ff", "s")) == NONE


def test_several_groups() -> None:
    parsed = parse_filter("x > 5")
    assert parsed is not None
    spec = PartitionSpec(0, (PartitionField(1000, "p", IDS["x"], parse_transform("identity"), primitive("int")),))
    told: list[Any] = []
    manifests = PredicateManifestFilter(
        CompiledPredicate(bind(parsed, SCHEMA)), {0: spec}, lambda sources, decision: told.append((sources, decision))
    )
    lower, upper = ({1000: pa.array(side, pa.int32())} for side in ([1, 1, 6, None], [9, 5, 9, None]))
    null, nan = {1000: pa.array([False, True, False, True])}, {1000: pa.nulls(4, pa.bool_())}
    decision = manifests.decide(0, lower, upper, null, nan)
    assert decision.verdicts.tolist() == [SOME, NONE, ALL, NONE]
    assert decision.keep.tolist() == [True, False, True, False]
    assert decision.undecided_columns[IDS["x"]].tolist() == [True, False, False, False]
    ((sources, same),) = told
    assert same is decision and [source.n for source in sources] == [4]
