"""Tables that PyIceberg wrote: every transform on every type, with names and partition specs that change in between.

One table a type. Its snapshots append the same rows, each under another spec; the column is renamed and another one
added on the way. The row model (``tests/support/rowmodel.py``) says which rows a filter keeps.
"""

from __future__ import annotations

import datetime as dt
import uuid
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg import transforms as tr
from pyiceberg import types as it
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema

import tableformats as tf
from tableformats.expressions import tree as ex
from tableformats.schema import arrow_type
from tests.support.rowmodel import is_kept

UTC = dt.timezone.utc
MOMENTS = [dt.datetime(1969, 12, 31, 23, 59, 59, 999_999), dt.datetime(2024, 2, 29, 12), dt.datetime(2024, 3, 1)]
VALUES: dict[str, tuple[Any, list[Any]]] = {
    "boolean": (it.BooleanType(), [True, False]),
    "int": (it.IntegerType(), [-(2**31), -1, 0, 7, 2**31 - 1]),
    "long": (it.LongType(), [-(2**63), -1, 0, 34, 2**63 - 1]),
    "float": (it.FloatType(), [-1.5, 0.0, 0.1, float("inf")]),
    "double": (it.DoubleType(), [-1e300, -0.5, 0.25]),
    "decimal": (it.DecimalType(9, 2), [Decimal("-14.20"), Decimal("0.00"), Decimal("14.20")]),
    "date": (it.DateType(), [dt.date(1969, 12, 31), dt.date(1970, 1, 1), dt.date(2024, 2, 29)]),
    "time": (it.TimeType(), [dt.time(0), dt.time(22, 31, 8, 123_456)]),
    "timestamp": (it.TimestampType(), MOMENTS),
    "timestamptz": (it.TimestamptzType(), [m.replace(tzinfo=UTC) for m in MOMENTS]),
    "string": (it.StringType(), ["", "a", "iceberg", "ice\U0001f9ca", "\uffff"]),
    "uuid": (it.UUIDType(), [uuid.UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7").bytes, b"\0" * 16]),
    "fixed": (it.FixedType(4), [b"\0\1\2\3", b"\xff\0\0\0"]),
    "binary": (it.BinaryType(), [b"", b"\0\1\2", b"\xff"]),
}
FLOATS = ("float", "double")
TRANSFORMS: list[tuple[Any, tuple[str, ...]]] = [
    (tr.IdentityTransform(), tuple(VALUES)),
    (tr.BucketTransform(3), tuple(k for k in VALUES if k not in ("boolean", *FLOATS))),
    (tr.TruncateTransform(3), ("int", "long", "decimal", "string", "binary")),
    (tr.YearTransform(), ("date", "timestamp", "timestamptz")),
    (tr.MonthTransform(), ("date", "timestamp", "timestamptz")),
    (tr.DayTransform(), ("date", "timestamp", "timestamptz")),
    (tr.HourTransform(), ("timestamp", "timestamptz")),
    (tr.VoidTransform(), tuple(VALUES)),
]
NOT_WRITTEN = {
    ("binary", "truncate[3]"),
    ("time", "identity"),
    ("time", "void"),
    ("time", "bucket[3]"),
    *(("uuid", name) for name in ("bucket[3]", "identity", "void")),
}
"""PyIceberg does not. It also rounds partition values of doubles to floats where it rewrites manifests."""


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlCatalog]:
    folder = tmp_path_factory.mktemp("generated")
    made = SqlCatalog("c", uri=f"sqlite:///{folder / 'c.db'}", warehouse=folder.as_uri())
    made.create_namespace("db")
    yield made
    made.destroy_tables()


def rows_of(values: list[Any], name: str, kind: pa.DataType, extra: bool) -> pa.Table:
    """Rows numbered by ``id``, the last of which has NULL."""
    data = [*values, None]
    columns = {"id": pa.array(range(len(data)), pa.int64()), name: pa.array(data, kind)}
    return pa.table(columns | ({"more": pa.array([f"m{i}" for i in range(len(data))])} if extra else {}))


def evolving(catalog: SqlCatalog, kind: str) -> tuple[Any, int]:
    """A table whose column of ``kind`` is partitioned by one transform after another; it, and how often each row was
    appended."""
    type_, values = VALUES[kind]
    schema = Schema(it.NestedField(1, "id", it.LongType()), it.NestedField(2, "v", type_))
    table = catalog.create_table(f"db.{kind}", schema, properties={"format-version": "2"})
    own = [t for t, kinds in TRANSFORMS if kind in kinds and (kind, str(t)) not in NOT_WRITTEN]
    name = "v"
    for number, transform in enumerate([None, *own]):
        if number == 2:
            with table.update_schema() as update:
                update.rename_column("v", "w")
                update.add_column("more", it.StringType())
            name = "w"
        if transform is not None:
            with table.update_spec() as spec:
                for f in table.spec().fields:
                    spec.remove_field(f.name)
                spec.add_field(name, transform, f"p{number}")
        table.append(rows_of(values, name, arrow_of(kind), number >= 2))
    return table, len(own) + 1


@pytest.mark.parametrize("kind", VALUES)
def test_every_transform_on_a_type(catalog: SqlCatalog, kind: str) -> None:
    values = VALUES[kind][1]
    table, times = evolving(catalog, kind)
    table.manage_snapshots().create_tag(table.snapshots()[0].snapshot_id, "first").commit()
    table.manage_snapshots().create_branch(table.snapshots()[-1].snapshot_id, "second").commit()
    opened = tf.open_table(table.metadata_location)
    check(opened.snapshot(), values, times)
    check(opened.snapshot(tag="first"), values, 1, most=3)
    check(opened.snapshot(branch="second"), values, times, most=3)
    table.delete("id = 0")
    check(tf.open_table(table.metadata_location).snapshot(), values, times, without=0, most=6)


def arrow_of(kind: str) -> pa.DataType:
    from pyiceberg.io.pyarrow import schema_to_pyarrow

    found = schema_to_pyarrow(Schema(it.NestedField(1, "v", VALUES[kind][0]))).field("v").type
    return found.storage_type if isinstance(found, pa.BaseExtensionType) else found


def check(
    snapshot: tf.Snapshot, values: list[Any], times: int, without: int | None = None, most: int | None = None
) -> None:
    """Every filter by every value keeps the rows that the model keeps, ``times`` times."""
    column = next(f for f in snapshot.schema if f.id == 2)
    canonical = canonical_of(pa.array([*values, None], arrow_type(column.type)))
    model = [{1: i, 2: value} for i, value in enumerate(canonical) if i != without]
    ref = tf.col(f"`{column.name}`")
    filters: list[Any] = [None, ref.is_null(), ref.is_not_null()]
    literals = [ex.Literal(v, column.type) for v in canonical[:-1]]
    target = ex.Reference((column.name,))
    filters += [ex.Comparison(op, target, v) for v in literals for op in ("=", "<", ">=")]
    filters += [ex.Comparison("!=", target, literals[-1]), ex.In(target, (literals[0], literals[-1]))]
    dropped = 0
    for filter in filters[:most]:
        scan = snapshot.scan(filter, columns=["id"])
        kept = [row[1] for row in model if is_kept(scan.filter, row)]
        assert Counter(scan.to_arrow()["id"].to_pylist()) == Counter(kept * times), str(filter)
        assert scan.count() == len(kept) * times
        report = scan.plan().report
        dropped += report.files_total - report.files_planned
    assert dropped or times < 3 or most is not None


def canonical_of(values: pa.Array) -> list[Any]:
    """Values as literals hold them: dates, times and timestamps as what they count."""
    if pa.types.is_date32(values.type):
        return list(values.cast(pa.int32()).to_pylist())
    if pa.types.is_timestamp(values.type) or pa.types.is_time64(values.type):
        return list(values.cast(pa.int64()).to_pylist())
    return list(values.to_pylist())
