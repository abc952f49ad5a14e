"""What buckets and bounds of a file say together of a list of values, and what pruning cannot use of a condition."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tableformats.expressions.binding import bind
from tableformats.expressions.parse import parse_filter
from tableformats.plugin import Bounds, PartitionField, PartitionSpec
from tableformats.pruning.compiled_predicate import ALL, NONE, SOME, CompiledPredicate
from tableformats.pruning.manifest_filter import PredicateManifestFilter
from tableformats.schema import Schema, primitive
from tableformats.schema.transforms import parse_transform

INT = pa.int32()
SCHEMA = Schema.from_arrow(
    pa.schema({"x": INT, "y": INT, "s": pa.string(), "d": pa.float64(), "st": pa.struct({"u": INT})})
)
IDS = {field.name: field.id for field in SCHEMA}
SPEC = PartitionSpec(0, (PartitionField(1000, "b", IDS["x"], parse_transform("bucket[8]"), primitive("int")),))
"""5 is in the bucket 7. 20 and 34 are in 3: the hash of 34 is 2017239379 by Iceberg's specification. 13 is in 5."""


def compiled(text: str) -> CompiledPredicate:
    parsed = parse_filter(text)
    assert parsed is not None
    return CompiledPredicate(bind(parsed, SCHEMA))


def bounds_of(*sides: tuple[int | None, int | None], column: str = "x") -> Bounds:
    lower, upper = (pa.array(side, INT) for side in zip(*sides, strict=True))
    return Bounds({IDS[column]: lower}, {IDS[column]: upper}, {IDS[column]: pa.array([0] * len(sides))})


@pytest.mark.parametrize(
    ("condition", "bucket", "sides", "wanted"),
    [
        ("x IN (5, 34)", 3, (30, 40), SOME),
        ("x IN (5, 34)", 7, (30, 40), NONE),  # 5 is in the bucket, and 34 within the bounds
        ("x IN (5, 34)", 3, (0, 9), NONE),
        ("x IN (5, 34)", 7, (0, 9), SOME),
        ("x IN (5, 34)", 4, (0, 40), NONE),
        ("x IN (5, 34)", 3, (0, 40), SOME),
        ("x IN (5, 34)", 3, (None, None), SOME),
        ("x IN (5, 34)", 4, (None, None), NONE),
        ("x IN (5, 34)", 3, (34, 34), ALL),
        ("x IN (34, 5, 13)", 7, (30, 40), NONE),
        ("x IN (34, 5, 13)", 3, (30, 40), SOME),
        ("x IN (5, 13, 20, 34)", 3, (10, 15), NONE),
        ("x IN (5, 13, 20, 34)", 3, (10, 20), SOME),
        ("x NOT IN (5, 34)", 7, (30, 40), ALL),
        ("x NOT IN (5, 34)", 3, (30, 40), SOME),
        ("x = 5 OR x = 34", 7, (30, 40), NONE),
        ("x = 34", 7, (30, 40), NONE),
        ("x = 34", 3, (30, 40), SOME),
        ("x != 34", 7, (30, 40), ALL),
        ("x IN (5, 34) AND x IN (34, 13)", 3, (0, 40), SOME),
        ("x IN (5, 34) AND x IN (34, 13)", 7, (0, 40), NONE),
        ("x > 4", 3, (5, 40), ALL),
    ],
)
def test_buckets_and_bounds(condition: str, bucket: int, sides: tuple[int | None, int | None], wanted: int) -> None:
    partition = pa.StructArray.from_arrays([pa.array([bucket], INT)], ["1000"])
    assert compiled(condition).verdicts(SPEC, partition, bounds_of(sides), pa.array([9])).tolist() == [wanted]


@pytest.mark.parametrize(
    ("buckets", "sides", "wanted"),
    [
        ((4, 7), (0, 40), SOME),  # 5 is in the last bucket
        ((0, 3), (0, 40), SOME),
        ((4, 6), (0, 40), NONE),
        ((0, 2), (0, 40), NONE),
        ((0, 7), (6, 33), NONE),
        ((4, 7), (30, 40), SOME),
    ],
)
def test_buckets_and_bounds_of_several_files(
    buckets: tuple[int, int], sides: tuple[int | None, int | None], wanted: int
) -> None:
    manifests = PredicateManifestFilter(compiled("x IN (5, 34)"), {0: SPEC})
    lower, upper = ({1000: pa.array([side], INT)} for side in buckets)
    flags = {1000: pa.array([False])}
    decision = manifests.decide(0, lower, upper, flags, flags, bounds_of(sides))
    assert decision.verdicts.tolist() == [wanted]


@pytest.mark.parametrize(
    ("condition", "wanted"),
    [
        ("(x > 1 AND x < 5 AND y = 9) OR x = 9", NONE),
        ("(x > 1 AND x < 5 AND y = 1) OR x = 9", ALL),
        ("(x > 1 AND x < 5 AND y = 9) OR x = 3", SOME),
        ("((x < 1 OR x > 5) AND x < 9) OR y = 2", NONE),
        ("((x < 1 OR x > 5) AND x < 9) OR y = 1", ALL),
        ("(x < 1 OR x > 5) AND x < 9", NONE),
        ("(x < 0 OR x > 1) AND x < 9", ALL),
        ("NOT (x < 0 OR x > 1) AND x < 9", NONE),
        ("NOT ((x < 1 OR x > 5) AND x < 9)", ALL),
        ("(x < 1 OR x = 7 OR x > 8) AND x < 9", NONE),
    ],
)
def test_conditions_within_conditions(condition: str, wanted: int) -> None:
    """For a file with x from 2 to 4, and 1 in each row of y."""
    bounds = bounds_of((2, 4))
    of_y = bounds_of((1, 1), column="y")
    for name in ("lower", "upper", "null_count"):
        getattr(bounds, name).update(getattr(of_y, name))
    found = compiled(condition).verdicts(PartitionSpec(0, ()), pa.array([{}], pa.struct([])), bounds, pa.array([9]))
    assert found.tolist() == [wanted]


@pytest.mark.parametrize(
    ("condition", "nans", "wanted"),
    [
        ("isnan(d)", 0, NONE),
        ("isnan(d)", 1, SOME),
        ("isnan(d)", None, SOME),
        ("NOT isnan(d)", 0, ALL),
        ("d = double('NaN') OR d > 5", 0, SOME),
        ("d > 5", 0, SOME),
        ("d <= double('Infinity')", 1, SOME),
    ],
)
def test_floats_of_which_only_counts_are_known(condition: str, nans: int | None, wanted: int) -> None:
    i = IDS["d"]
    bounds = Bounds(null_count={i: pa.array([0])}, nan_count={i: pa.array([nans], pa.int64())})
    bounds.value_count[i] = pa.array([9])
    found = compiled(condition).verdicts(PartitionSpec(0, ()), pa.array([{}], pa.struct([])), bounds, pa.array([9]))
    assert found.tolist() == [wanted]


@pytest.mark.parametrize(
    ("condition", "notes"),
    [
        ("s LIKE 'ab%c'", ["s LIKE 'ab%c' prunes by its prefix 'ab' only"]),
        ("s LIKE 'a_c'", ["s LIKE 'a_c' prunes by its prefix 'a' only"]),
        ("s LIKE '%x'", ["s LIKE '%x' cannot prune"]),
        ("s LIKE 'abc'", []),
        ("startswith(s, 'ab')", []),
        ("x > 1 AND s LIKE '_x'", ["s LIKE '_x' cannot prune"]),
        (
            "coalesce(st, st) IS NULL",
            [
                "coalesce(st, st) IS NULL is evaluated on rows: only files whose columns have one value each are pruned"
                " by it"
            ],
        ),
        ("coalesce(x, y) IS NULL", []),
        ("st IS NULL", []),
    ],
)
def test_what_pruning_cannot_use(condition: str, notes: list[str]) -> None:
    assert compiled(condition).notes == notes
