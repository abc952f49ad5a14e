"""Delta tables with widened columns and with variants."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from tableformats_delta.schema.features import READER_FEATURES

from tests.support.delta_log import DeltaLog, add, field, stats


def features(*names: str) -> dict[str, Any]:
    assert set(names) <= set(READER_FEATURES)
    return {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": [*names], "writerFeatures": [*names]}


def data_file(log: DeltaLog, name: str, table: pa.Table, text: str | None = None, **more: Any) -> dict[str, Any]:
    pq.write_table(table, log.root / name)
    return add(name, size=(log.root / name).stat().st_size, stats=text or stats(table.num_rows), **more)


def widened(old: str, new: str) -> dict[str, Any]:
    return field("c", new, {"delta.typeChanges": [{"fromType": old, "toType": new}]})


WIDENINGS: list[tuple[str, pa.DataType, str, list[Any], list[Any]]] = [
    ("byte", pa.int8(), "short", [-128, 127], [-128, 127]),
    ("byte", pa.int8(), "integer", [-128, 127], [-128, 127]),
    ("short", pa.int16(), "long", [-5, 5], [-5, 5]),
    ("integer", pa.int32(), "long", [-(2**31), 7], [-(2**31), 7]),
    ("float", pa.float32(), "double", [0.5, 1.5], [0.5, 1.5]),
    ("integer", pa.int32(), "double", [-(2**31), 2**31 - 1], [-2147483648.0, 2147483647.0]),
    ("short", pa.int16(), "decimal(12,2)", [-3, 4], [Decimal("-3.00"), Decimal("4.00")]),
    ("byte", pa.int8(), "decimal(4,1)", [-128, 127], [Decimal("-128.0"), Decimal("127.0")]),
    ("short", pa.int16(), "decimal(5,0)", [-(2**15), 7], [Decimal(-(2**15)), Decimal(7)]),
    ("long", pa.int64(), "decimal(22,2)", [-(2**63), 4], [Decimal(-(2**63)), Decimal("4.00")]),
    (
        "decimal(4,1)",
        pa.decimal128(4, 1),
        "decimal(12,3)",
        [Decimal("1.5"), Decimal("2.5")],
        [Decimal("1.500"), Decimal("2.500")],
    ),
    (
        "date",
        pa.date32(),
        "timestamp_ntz",
        [dt.date(1900, 1, 1), dt.date(9999, 12, 31)],
        [dt.datetime(1900, 1, 1), dt.datetime(9999, 12, 31)],
    ),
]
VARIANT = pa.struct([pa.field("value", pa.binary(), False), pa.field("metadata", pa.binary(), False)])
SHREDDED = pa.struct([("metadata", pa.binary()), ("value", pa.binary()), ("typed_value", pa.int64())])
EMPTY = b"\x01\x00\x00"
VALUES = [{"value": b"\x0c\x01", "metadata": EMPTY}, None, {"value": b"\x00", "metadata": EMPTY}]
