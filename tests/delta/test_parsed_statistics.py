"""Statistics that checkpoints hold as typed columns (stats_parsed), against the values that were written."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tableformats_delta.statistics.log_statistics import LogStatistics

from tests.support.delta_log import ADD_FIELDS, DeltaLog, add, field, first_actions, request, stats


def instant(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.timezone.utc)


class TestParsed:
    """``stats_parsed`` where ``stats`` is null."""

    TYPES: dict[str, pa.DataType] = {
        "i": pa.int32(),
        "f": pa.float32(),
        "d": pa.decimal128(5, 2),
        "s": pa.string(),
        "t": pa.timestamp("ms", "UTC"),
        "day": pa.date32(),
        "b": pa.bool_(),
        "old": pa.int32(),
        "odd": pa.string(),
    }
    NAMES: dict[str, str] = {
        "i": "integer",
        "f": "float",
        "d": "decimal(5,2)",
        "s": "string",
        "t": "timestamp",
        "day": "date",
        "b": "boolean",
        "old": "long",
        "odd": "long",
    }
    VALUES: dict[str, tuple[Any, Any]] = {
        "i": (1, 2),
        "f": (0.5, 1.5),
        "d": (Decimal("1.00"), Decimal("2.00")),
        "s": ("a", "z" * 32 + "\ufffd"),
        "t": (instant("2021-01-01T00:00:00.001"), instant("2021-01-01T00:00:00.002")),
        "day": (dt.date(2021, 1, 1), dt.date(2021, 1, 2)),
        "b": (False, True),
        "old": (3, 4),
        "odd": ("5", "x"),
    }

    @pytest.fixture
    def bounds(self, tmp_path: Path) -> dict[str, list[Any]]:
        columns = pa.struct(list(self.TYPES.items()))
        counts = pa.struct([(name, pa.int64()) for name in self.TYPES])
        parsed = pa.struct(
            [
                ("numRecords", pa.int64()),
                ("tightBounds", pa.bool_()),
                ("minValues", columns),
                ("maxValues", columns),
                ("nullCount", counts),
            ]
        )
        sides = [{name: pair[i] for name, pair in self.VALUES.items()} for i in (0, 1)]
        value = {
            "numRecords": 9,
            "tightBounds": True,
            "minValues": sides[0],
            "maxValues": sides[1],
            "nullCount": dict.fromkeys(self.TYPES, 4),
        }
        wide = {**value, "tightBounds": False}
        text = stats(5, minValues={"i": 70}, maxValues={"i": 80}, nullCount={"i": 1})
        rows = [
            add("a", stats_parsed=value),
            add("b", stats_parsed=wide),
            add("c", stats=text),
            add("d"),
            {"add": None},
        ]
        log = DeltaLog(tmp_path / "t").start(*[field(name, kind) for name, kind in self.NAMES.items()])
        first = first_actions()[0], {"metaData": first_actions()[1]["metaData"] | {"schemaString": _schema(log)}}
        log.checkpoint(
            f"{1:020d}.checkpoint.parquet", *first, *rows, add_type=pa.struct([*ADD_FIELDS, ("stats_parsed", parsed)])
        )
        snapshot = log.snapshot()
        (batch,) = list(snapshot.read(request()))
        assert isinstance(batch.statistics, LogStatistics)
        assert batch.statistics.record_counts().to_pylist() == [9, 9, 5, None]
        assert batch.statistics.record_counts(np.array([1, 2])).to_pylist() == [9, 5]
        whole = batch.statistics.bounds(list(snapshot.schema), None)
        some = batch.statistics.bounds(list(snapshot.schema), np.array([1, 2]))
        columns = list(snapshot.schema)
        counted = batch.statistics.bounds_or_counts(columns, None, [f.id for f in columns])
        assert counted.null_count == whole.null_count and not counted.lower and not counted.upper
        one = batch.statistics.bounds_or_counts(columns, None, [f.id for f in columns[1:]])
        assert one.null_count == whole.null_count and one.lower == {columns[0].id: whole.lower[columns[0].id]}
        found: dict[str, list[Any]] = {}
        for f in snapshot.schema:
            columns_of_bounds = [part[f.id].to_pylist() for part in (whole.lower, whole.upper, whole.null_count)]
            parts = (some.lower, some.upper, some.null_count)
            assert [part[f.id].to_pylist() for part in parts] == [c[1:3] for c in columns_of_bounds]
            found[f.name] = [tuple(c[i] for c in columns_of_bounds) for i in range(4)]
        return found

    def test_values(self, bounds: dict[str, list[Any]]) -> None:
        assert {name: rows[0] for name, rows in bounds.items()} == {
            "i": (1, 2, 4),
            "f": (0.5, 1.5, 4),
            "d": (Decimal(1), Decimal(2), 4),
            "s": ("a", "z" * 32 + "\ufffd", 4),
            "t": (instant("2021-01-01T00:00:00.001"), instant("2021-01-01T00:00:00.002999"), 4),
            "day": (dt.date(2021, 1, 1), dt.date(2021, 1, 2), 4),
            "b": (None, None, 4),
            "old": (3, 4, 4),
            "odd": (None, None, 4),
        }

    def test_wide_bounds(self, bounds: dict[str, list[Any]]) -> None:
        assert bounds["i"][1] == (1, 2, None)

    def test_text_and_nothing(self, bounds: dict[str, list[Any]]) -> None:
        assert bounds["i"][2:] == [(70, 80, 1), (None, None, None)]
        assert bounds["f"][2:] == [(None, None, None)] * 2


def _schema(log: DeltaLog) -> str:
    line = (log.directory / f"{0:020d}.json").read_text().splitlines()[1]
    return str(json.loads(line)["metaData"]["schemaString"])
