"""No false prune: over random files and predicates, a file with a matching row is never dropped.

The row model (``tests/rowmodel.py``) decides which rows match; it knows nothing of bounds or partitions.
"""

from __future__ import annotations

import pyarrow as pa
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from tableformats import expressions as ex
from tableformats.binding import bind
from tableformats.plugin.base import Bounds
from tableformats.pruning import ALL, NONE, ManifestFilter, Program
from tableformats.schema import arrow_type
from tests.property.strategies import ModelFile, ModelTable, model_tables, order_key, predicates, to_array
from tests.rowmodel import evaluate


@st.composite
def tables_and_predicates(draw: st.DrawFn) -> tuple[ModelTable, ex.Expression]:
    table = draw(model_tables())
    return table, bind(draw(predicates(table)), table.schema)


def partition_array(table: ModelTable) -> pa.StructArray:
    columns = [to_array([f.partition[p.id] for f in table.files], p.type) for p in table.spec.fields]
    fields = [pa.field(str(p.id), arrow_type(p.type)) for p in table.spec.fields]
    if not fields:
        return pa.array([{}] * len(table.files), pa.struct([]))
    return pa.StructArray.from_arrays(columns, fields=fields)


def bounds_of(table: ModelTable) -> Bounds:
    def column(name: str, i: int) -> list[object]:
        return [getattr(f, name).get(i) for f in table.files]

    ids = {f.id: f.type for f in table.schema}
    return Bounds(
        lower={i: to_array(column("lower", i), kind) for i, kind in ids.items()},
        upper={i: to_array(column("upper", i), kind) for i, kind in ids.items()},
        **{name: {i: pa.array(column(name, i), pa.int64()) for i in ids}
           for name in ("null_count", "nan_count", "value_count")},
    )  # fmt: skip


def check(file: ModelFile, verdict: int, predicate: ex.Expression) -> None:
    outcomes = [evaluate(predicate, row) for row in file.rows]
    if verdict == NONE:
        assert True not in outcomes, f"dropped although {file.rows[outcomes.index(True)]} matches"
    if verdict == ALL:
        assert all(outcome is True for outcome in outcomes), f"fully matched although {outcomes}"


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=500)
@given(tables_and_predicates())
def test_no_file_with_a_matching_row_is_dropped(case: tuple[ModelTable, ex.Expression]) -> None:
    table, predicate = case
    program = Program(predicate)
    partition = partition_array(table)
    counts = pa.array([f.record_count for f in table.files], pa.int64())
    by_partition = program.partition_verdicts(table.spec, partition)
    verdicts = program.verdicts(table.spec, partition, bounds_of(table), counts)
    for file, early, verdict in zip(table.files, by_partition, verdicts, strict=True):
        check(file, early, predicate)
        check(file, verdict, predicate)
        assert verdict == NONE or early != NONE, "bounds must not keep what partitions drop"
        event(f"verdict {verdict}")


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=200)
@given(tables_and_predicates())
def test_a_manifest_with_a_needed_file_is_kept(case: tuple[ModelTable, ex.Expression]) -> None:
    """One summary over all files, as a manifest list holds it: Iceberg spec, "Manifest Lists"."""
    table, predicate = case
    if not table.spec.fields:
        return
    lower, upper, nulls, nans = {}, {}, {}, {}
    for p in table.spec.fields:
        values = [f.partition[p.id] for f in table.files if f.rows]
        proper = [v for v in values if v is not None and v == v]
        lower[p.id] = to_array([min(proper, key=order_key) if proper else None], p.type)
        upper[p.id] = to_array([max(proper, key=order_key) if proper else None], p.type)
        nulls[p.id] = pa.array([None in values], pa.bool_())
        nans[p.id] = pa.array([any(v != v for v in values)], pa.bool_())
    kept = ManifestFilter(Program(predicate), {0: table.spec}).keep(0, lower, upper, nulls, nans)
    matching = any(evaluate(predicate, row) is True for f in table.files for row in f.rows)
    event(f"kept {bool(kept[0])}")
    assert kept[0] or not matching


def test_tight_bounds_decide() -> None:
    """Pruning does prune: with exact statistics the verdicts are exact for one-column comparisons."""
    from tableformats.plugin import PartitionSpec
    from tableformats.schema import Field, Schema, primitive

    schema = Schema((Field(1, "a", primitive("int")),))
    files = [[1, 2, 3], [5, 5], [None, None], [7, None], []]
    present = [[v for v in f if v is not None] for f in files]
    bounds = Bounds(
        lower={1: pa.array([min(p) if p else None for p in present], pa.int32())},
        upper={1: pa.array([max(p) if p else None for p in present], pa.int32())},
        null_count={1: pa.array([f.count(None) for f in files])},
        value_count={1: pa.array([len(f) for f in files])},
    )
    counts = pa.array([len(f) for f in files])
    for text, expected in {
        "a > 3": [0, 2, 0, 1, 0],
        "a = 5": [0, 2, 0, 0, 0],
        "a != 5": [2, 0, 0, 1, 0],
        "NOT (a <= 2)": [1, 2, 0, 1, 0],
        "a IS NULL": [0, 0, 2, 1, 0],
        "a <=> 5": [0, 2, 0, 0, 0],
        "NOT (a <=> 5)": [2, 0, 2, 2, 0],
        "a IN (0, 5, 9)": [0, 2, 0, 0, 0],
        "a NOT IN (0, 5, 9)": [2, 0, 0, 1, 0],
        "a BETWEEN 1 AND 3": [2, 0, 0, 0, 0],
        "a > 100 OR a IS NULL": [0, 0, 2, 1, 0],
    }.items():
        from tableformats.predicates import parse_filter

        parsed = parse_filter(text)
        assert parsed is not None
        program = Program(bind(parsed, schema))
        spec = PartitionSpec(0, ())
        partition = pa.array([{}] * len(files), pa.struct([]))
        assert list(program.verdicts(spec, partition, bounds, counts)) == expected, text
