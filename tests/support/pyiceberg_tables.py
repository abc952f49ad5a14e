"""Tables that PyIceberg writes: one for each type, partitioned by one transform after another."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg import transforms as tr
from pyiceberg import types as it
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema

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


def arrow_of(kind: str) -> pa.DataType:
    from pyiceberg.io.pyarrow import schema_to_pyarrow

    found = schema_to_pyarrow(Schema(it.NestedField(1, "v", VALUES[kind][0]))).field("v").type
    return found.storage_type if isinstance(found, pa.BaseExtensionType) else found
