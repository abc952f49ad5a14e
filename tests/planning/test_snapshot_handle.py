"""What a snapshot says of itself, and what its columns and filters may be called."""

from __future__ import annotations

import datetime as dt
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from tableformats.cache.metadata_cache import MetadataCache
from tableformats.errors import InvalidPredicateError, UnsupportedFeatureError
from tableformats.expressions import TRUE
from tableformats.planning.handle import SnapshotHandle
from tableformats.planning.request import ScanRequest
from tableformats.plugin import PartitionField, PartitionSpec
from tableformats.plugin.columns import MetadataColumn
from tableformats.schema import Field, Schema, primitive
from tableformats.schema.transforms import parse_transform

COLUMNS = Schema.from_arrow(pa.schema({"id": pa.int64(), "Name": pa.string(), "at": pa.timestamp("us", "UTC")}))
ROW_ID = MetadataColumn(Field(-5, "_row_id", primitive("long")), None, True)
FILE = MetadataColumn(Field(-6, "_file.name", primitive("string")), "path")
SPEC = PartitionSpec(3, (PartitionField(1000, "p", 1, parse_transform("identity"), primitive("long")),))


def handle(**more: Any) -> SnapshotHandle:
    given = {
        "version": 7,
        "timestamp_ms": 1500,
        "schema": COLUMNS,
        "specs": {3: SPEC},
        "default_spec_id": 3,
        "properties": {"k": "v"},
        "metadata_columns": (ROW_ID, FILE),
    }
    format_snapshot: Any = SimpleNamespace(**{**given, **more})
    storage: Any = SimpleNamespace()
    return SnapshotHandle("delta", "/t", storage, MetadataCache(0), format_snapshot, {"version": 7})


def test_what_a_snapshot_says_of_itself() -> None:
    found = handle()
    assert repr(found) == "SnapshotHandle('/t', version=7)"
    assert found.timestamp == dt.datetime(1970, 1, 1, 0, 0, 1, 500_000, dt.timezone.utc)
    assert handle(timestamp_ms=None).timestamp is None
    assert handle(timestamp_ms=0).timestamp == dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
    assert found.partition_fields == list(SPEC.fields) and handle(default_spec_id=1).partition_fields == []
    assert found.properties == {"k": "v"} and found.selection == {"version": 7} and found.opening == (0, 0)
    assert found.reattached() is found and found.has_schema_of_version()
    sent = found.detached()
    assert (sent.version, sent.location, sent.selection, sent.cache.budget_bytes) == (7, "/t", {}, 0)
    other: Any = SimpleNamespace(version=8)
    assert found.showing(other).version == 8 and found.showing(other).cache is found.cache


@pytest.mark.parametrize(
    ("filter", "case_sensitive", "bound"),
    [
        (None, False, "TRUE"),
        ("ID > 1 AND id > 1", False, "id > 1"),
        ("name = 'a'", False, "Name = 'a'"),
        ("Name = 'a'", True, "Name = 'a'"),
        ([("id", "=", 3)], True, "id = 3"),
        ("1 = 2", False, "FALSE"),
    ],
)
def test_filters(filter: Any, case_sensitive: bool, bound: str) -> None:
    assert str(handle().bind(filter, case_sensitive)) == bound


@pytest.mark.parametrize(
    ("filter", "case_sensitive", "kind", "message"),
    [
        ("name = 'a'", True, InvalidPredicateError, "name"),
        ("id = 1 AND nme = 'a'", False, InvalidPredicateError, "line 1, column 12"),
        ("id >", False, InvalidPredicateError, "line 1, column 5"),
        ([("nme", "=", 1)], False, InvalidPredicateError, "nme"),
        ("_row_id = 1", False, UnsupportedFeatureError, "the metadata column '_row_id' can be selected"),
        ("_ROW_ID = 1", False, UnsupportedFeatureError, "the metadata column '_ROW_ID' can be selected"),
        ("_ROW_ID = 1", True, InvalidPredicateError, "_ROW_ID"),
        ("_file.name = 'a'", False, UnsupportedFeatureError, "the metadata column '_file.name' can be selected"),
        ("id = 1 OR _row_id + 1 = 1", False, UnsupportedFeatureError, "line 1, column 11"),
        ([("_row_id", "=", 1)], False, UnsupportedFeatureError, "the metadata column '_row_id' can be selected"),
    ],
)
def test_filters_that_are_refused(filter: Any, case_sensitive: bool, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as caught:
        handle().bind(filter, case_sensitive)
    assert message in str(caught.value) and ("line" in str(caught.value)) == isinstance(filter, str)


def test_columns() -> None:
    found = handle()
    assert found.project("id").names == ["id"]
    assert found.project(["NAME", "id", "_Row_Id"]).names == ["Name", "id", "_row_id"]
    assert found.project(["_file.name"]).fields == (FILE.field,)
    assert found.project(["Name"], True).names == ["Name"] and found.project([]).names == []
    assert found.project(["id"]).id == COLUMNS.id
    for columns, sensitive, hint in (
        (["nme"], False, "Near names: Name"),
        (["name"], True, "Near names: Name"),
        (["_row_ID"], True, "Near names: "),
        (["zzzz"], False, "Near names: id, Name, at"),
        ([3], False, "Give names, as text"),
    ):
        with pytest.raises(InvalidPredicateError) as caught:
            found.project(columns, sensitive)  # type: ignore[arg-type]
        assert str(caught.value.hint).startswith(hint)
    many = handle(schema=Schema.from_arrow(pa.schema([(f"{letter}0123", pa.int64()) for letter in "abcdefg"])))
    with pytest.raises(InvalidPredicateError) as caught:
        many.project(["zzzz"])
    assert caught.value.hint == "Near names: a0123, b0123, c0123, d0123, e0123"


def test_requests() -> None:
    scan = ScanRequest.all_rows(handle())
    assert scan.filter == TRUE and scan.schema is COLUMNS and scan.metadata_columns == []
    assert repr(scan) == "ScanRequest('/t', version=7, filter='TRUE', columns=[id, Name, at])"
    limited = ScanRequest(
        handle(), TRUE, handle().project(["_row_id", "id", "_file.name"]), False, 9, "absent", False, 5
    )
    assert limited.metadata_columns == [ROW_ID, FILE] and "limit=9" in repr(limited)
    narrowed = limited.narrowed("id > 1").narrowed("id < 9")
    assert str(narrowed.filter) == "id > 1 AND id < 9" and narrowed.limit is None
    assert (narrowed.nan, narrowed.ansi, narrowed.now, narrowed.schema) == ("absent", False, 5, limited.schema)
    assert limited.reattached() is limited
    sent = limited.detached()
    assert (sent.limit, sent.nan, sent.ansi, sent.now, sent.schema) == (9, "absent", False, 5, limited.schema)
    assert sent.snapshot.selection == {} and sent.snapshot is not limited.snapshot
