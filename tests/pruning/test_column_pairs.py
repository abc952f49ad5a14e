"""A comparison of two columns is decided by the bounds of both: exactly, over all bounds of a small domain."""

from __future__ import annotations

import math
from decimal import Decimal
from itertools import product
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, event, given, settings

from tableformats.expressions import tree as ex
from tableformats.expressions.binding import bind
from tableformats.plugin import Bounds, PartitionField, PartitionSpec
from tableformats.pruning.compiled_predicate import ALL, NONE, SOME, CompiledPredicate
from tableformats.schema import DecimalType, Field, Schema, arrow_type, primitive
from tableformats.schema.transforms import parse_transform
from tests.property.test_pruning import bounds_of, check
from tests.support.examples import examples
from tests.support.rowmodel import evaluate
from tests.support.strategies import ModelTable, partition_array, tables_of_pairs, to_array, type_of

NAN, INF = math.nan, math.inf
NO_SPEC = PartitionSpec(0, ())
Side = tuple[Any, Any, bool]
"""The lower and the upper bound of a column, and whether it has NULLs. Bounds that are None: it has no values."""


def compiled(op: str, kinds: tuple[Any, Any], negated: bool = False) -> CompiledPredicate:
    schema = Schema((Field(1, "a", kinds[0]), Field(2, "b", kinds[1])))
    written: ex.Expression = ex.Comparison(op, ex.Reference(("a",)), ex.Reference(("b",)))
    return CompiledPredicate(bind(ex.Not(written) if negated else written, schema))


def verdicts(program: CompiledPredicate, kinds: tuple[Any, Any], files: list[tuple[Side, Side]], nans: Any = 0) -> list:
    """The verdicts for files of nine rows each."""
    columns = {i: [file[i - 1] for file in files] for i in (1, 2)}

    def nulls(side: Side) -> int:
        return 9 if side[0] is None else int(side[2])

    bounds = Bounds(
        lower={i: to_array([side[0] for side in sides], kinds[i - 1]) for i, sides in columns.items()},
        upper={i: to_array([side[1] for side in sides], kinds[i - 1]) for i, sides in columns.items()},
        null_count={i: pa.array([nulls(side) for side in sides], pa.int64()) for i, sides in columns.items()},
        nan_count={i: pa.array([nans] * len(files), pa.int64()) for i in columns},
        value_count={i: pa.array([9] * len(files), pa.int64()) for i in columns},
    )
    counts = pa.array([9] * len(files), pa.int64())
    nothing = pa.array([{}] * len(files), pa.struct([]))
    return program.verdicts(NO_SPEC, nothing, bounds, counts).tolist()


def expected(predicate: ex.Expression, pairs: list[tuple[Any, Any]]) -> int:
    answers = {evaluate(predicate, {1: a, 2: b}) for a, b in pairs}
    return NONE if True not in answers else ALL if answers == {True} else SOME


SIDES: list[Side] = [
    *((low, high, null) for low in range(3) for high in range(low, 3) for null in (False, True)),
    (None, None, True),
]


def integers(side: Side) -> list[int | None]:
    low, high, null = side
    return [*([] if low is None else range(low, high + 1)), *([None] if null else [])]


@pytest.mark.parametrize("negated", [False, True])
@pytest.mark.parametrize("op", ex.COMPARISONS)
def test_all_bounds_of_integers(op: str, negated: bool) -> None:
    kinds = primitive("int"), primitive("long")
    program = compiled(op, kinds, negated)
    files = list(product(SIDES, SIDES))
    for file, found in zip(files, verdicts(program, kinds, files), strict=True):
        pairs = list(product(integers(file[0]), integers(file[1])))
        assert found == expected(program.predicate, pairs), (op, negated, file)


@pytest.mark.parametrize("nans", [0, None, 3])
@pytest.mark.parametrize("op", ex.COMPARISONS)
def test_all_bounds_of_doubles(op: str, nans: int | None) -> None:
    """With NaNs that may hide beside the bounds; ``a`` is a float, ``b`` a double."""
    kinds = primitive("float"), primitive("double")
    program = compiled(op, kinds)
    numbers = [-INF, -1.0, 0.0, INF]
    sides: list[Side] = [
        (low, high, null) for low in numbers for high in numbers if low <= high for null in (False, True)
    ]
    files = list(product(sides, sides))
    for file, found in zip(files, verdicts(program, kinds, files, nans), strict=True):
        known = []
        for low, high, null in file:
            within = [v for v in (-INF, -1.0, -0.5, 0.0, 1.0, INF) if low <= v <= high]
            known.append([*within, *([None] if null else []), *([NAN] if nans != 0 else [])])
        assert found == expected(program.predicate, list(product(*known))), (op, file)


@pytest.mark.parametrize(
    ("kinds", "below", "above"),
    [
        (("byte", "long"), 4, 5),
        (("short", "double"), 4, 5.0),
        (("long", "float"), 4, 5.0),
        (("int", DecimalType(9, 2)), 4, Decimal("4.01")),
        ((DecimalType(38, 10), DecimalType(38, 0)), Decimal("4.9999999999"), Decimal(5)),
        ((DecimalType(9, 2), "double"), Decimal("0.29"), 0.3),
        (("float", "double"), 0.10000000149011612, 0.1000000015),
        (("date", "timestamp"), 1, 86_400_000_001),
        (("timestamp_ntz", "date"), 86_399_999_999, 1),
        (("date", "timestamp"), -(2**31), -(2**63)),
        (("timestamp", "timestamp_ntz"), 0, 1),
        (("timestamp_ns", "timestamp_ns"), 0, 1),
        (("time", "time"), 0, 1),
        (("boolean", "boolean"), False, True),
        (("string", "string"), "\ue000", "\U0001f600"),  # UTF-16 has the other order
        (("string", "string"), "a", "a\x00"),
        (("binary", "binary"), b"a", b"a\xff"),
        (("uuid", "uuid"), b"\x7f" * 16, b"\x80" * 16),
    ],
)
def test_types_of_one_family_compare_exactly(kinds: tuple[Any, Any], below: Any, above: Any) -> None:
    left, right = (primitive(kind) if isinstance(kind, str) else kind for kind in kinds)
    for op, wanted in {"<": ALL, "<=": ALL, "!=": ALL, "=": NONE, "<=>": NONE, ">=": NONE, ">": NONE}.items():
        lesser, greater = (below, below, False), (above, above, False)
        assert verdicts(compiled(op, (left, right)), (left, right), [(lesser, greater)]) == [wanted], op
        turned = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(op, op)
        assert verdicts(compiled(turned, (right, left)), (right, left), [(greater, lesser)]) == [wanted], op


def test_rounded_numbers_prove_less() -> None:
    """2**53 and 2**53 + 1 are one double: engines that compare doubles find them equal, others do not."""
    kinds = primitive("long"), primitive("double")
    file = ((2**53 + 1, 2**53 + 1, False), (2.0**53, 2.0**53, False))
    assert [verdicts(compiled(op, kinds), kinds, [file])[0] for op in ("=", ">", "<")] == [SOME] * 3
    file = ((2**52 + 1, 2**52 + 1, False), (2.0**52 + 1, 2.0**52 + 1, False))
    assert [verdicts(compiled(op, kinds), kinds, [file])[0] for op in ("=", ">", "<")] == [ALL, NONE, NONE]


def test_a_column_with_itself() -> None:
    kinds = primitive("double"), primitive("double")
    schema = Schema((Field(1, "a", kinds[0]),))
    for op, wanted in {"=": ALL, "<=>": ALL, "<=": ALL, ">=": ALL, "<": NONE, ">": NONE, "!=": NONE}.items():
        program = CompiledPredicate(bind(ex.Comparison(op, ex.Reference(("a",)), ex.Reference(("a",))), schema))
        assert verdicts(program, kinds, [((0.0, 5.0, False), (0.0, 0.0, False))], None) == [wanted], op


@pytest.mark.parametrize(("lengths", "wanted"), [((3, 3), NONE), ((3, None), NONE), ((3, 5), SOME)])
def test_char_columns_of_several_lengths(lengths: tuple[int | None, int | None], wanted: int) -> None:
    """``'a\\t'`` is below ``'a'`` once both are padded with spaces."""
    kind = primitive("string")
    fields = [Field(i, name, kind, char_length=n) for i, name, n in zip((1, 2), "ab", lengths, strict=True)]
    written = ex.Comparison("<", ex.Reference(("a",)), ex.Reference(("b",)))
    program = CompiledPredicate(bind(written, Schema(tuple(fields))))
    assert verdicts(program, (kind, kind), [(("b", "b", False), ("a", "a", False))]) == [wanted]
    assert verdicts(program, (kind, kind), [((None, None, True), ("a", "a", False))]) == [NONE]
    assert [note for note in program.notes if "padded" in note] == program.notes
    assert bool(program.notes) == (wanted == SOME)


def test_partition_values_are_bounds() -> None:
    fields = (
        PartitionField(1000, "p", 1, parse_transform("identity"), primitive("int")),
        PartitionField(1001, "y", 2, parse_transform("truncate[10]"), primitive("int")),
    )
    spec = PartitionSpec(0, fields)
    kinds = primitive("int"), primitive("int")
    program = compiled("<", kinds)
    values = [(5, 0), (9, 0), (10, 0), (0, 10), (None, 10), (5, None)]
    partition = pa.StructArray.from_arrays(
        [pa.array([v[i] for v in values], pa.int32()) for i in (0, 1)], names=["1000", "1001"]
    )
    assert program.uses_partitions(spec)
    decision = program.decide(program.range_sources(spec, partition))
    assert decision.verdicts.tolist() == [SOME, NONE, NONE, ALL, NONE, NONE]
    assert decision.undecided_columns[1].tolist() == decision.undecided_columns[2].tolist()
    assert decision.undecided_columns[1].tolist() == [True, *[False] * 5]
    bounds = Bounds(lower={2: pa.array([5] * 6, pa.int32())}, upper={2: pa.array([5, *[None] * 5], pa.int32())})
    assert program.verdicts(spec, partition, bounds, pa.nulls(6, pa.int64()))[0] == NONE


def test_bounds_that_contradict_each_other_prove_nothing() -> None:
    spec = PartitionSpec(0, (PartitionField(1000, "p", 1, parse_transform("identity"), primitive("int")),))
    kinds = primitive("int"), primitive("int")
    partition = pa.StructArray.from_arrays([pa.array([7], pa.int32())], names=["1000"])
    sides = ({1: pa.array([v], pa.int32()), 2: pa.array([5], pa.int32())} for v in (1, 2))
    bounds = Bounds(*sides, {1: pa.array([0]), 2: pa.array([0])})
    for op in ("<", ">"):
        assert compiled(op, kinds).verdicts(spec, partition, bounds, pa.array([9])).tolist() == [SOME], op
    assert verdicts(compiled("<", kinds), kinds, [((9, 1, False), (0, 0, False))]) == [SOME]


def test_bounds_that_contradict_each_other_are_unknown() -> None:
    kinds = primitive("int"), primitive("int")
    files: list[tuple[Side, Side]] = [((9, 1, False), (0, 0, False)), ((3, 3, False), (0, 0, False))]
    assert verdicts(compiled("<", kinds), kinds, files) == [SOME, NONE]


def test_arrow_types_of_all_kinds_are_known() -> None:
    """What binding lets compare prunes, but for the pairs of several CHAR lengths."""
    names = "byte short int long float double boolean string binary uuid date time timestamp timestamp_ntz timestamp_ns"
    for name in names.split():
        kind = primitive(name)
        program = compiled("<", (kind, kind))
        assert not program.notes and arrow_type(kind)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=examples(400))
@given(tables_of_pairs())
def test_no_file_with_a_matching_row_is_dropped(case: tuple[ModelTable, ex.Expression]) -> None:
    table, predicate = case
    program = CompiledPredicate(predicate)
    partition = partition_array(table)
    counts = pa.array([f.record_count for f in table.files], pa.int64())
    found = program.verdicts(table.spec, partition, bounds_of(table), counts)
    by_partition = program.decide(program.range_sources(table.spec, partition)).verdicts
    for file, early, verdict in zip(table.files, by_partition, found, strict=True):
        check(file, early, predicate)
        check(file, verdict, predicate)
        event(f"verdict {verdict} of {type_of(table.kinds[1])}")
