"""The metadata tables that list files, of manifests in which every member is known: exact rows."""

from __future__ import annotations

import datetime as dt
import io
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest

import tableformats as tf
from tests.support.iceberg_manifests import SYNC, entry, entry_schema, manifest_bytes
from tests.support.iceberg_tables import FIELDS, snapshot_json, table_with

SPECS = [
    {"spec-id": 0, "fields": [{"source-id": 1, "field-id": 1000, "name": "p", "transform": "identity"}]},
    {"spec-id": 3, "fields": [{"source-id": 2, "field-id": 1001, "name": "q", "transform": "identity"}]},
]
NESTED = {"type": "struct", "fields": [{"id": 4, "name": "x", "required": False, "type": "double"}]}
SCHEMA = [
    {"type": "struct", "schema-id": 0, "fields": [*FIELDS, {"id": 3, "name": "s", "required": False, "type": NESTED}]}
]


def pairs(*items: tuple[int, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": value} for key, value in items]


FULL = {
    "column_sizes": pairs((1, 40), (4, 50)),
    "value_counts": pairs((1, 10), (2, 11)),
    "null_value_counts": pairs((1, 0), (2, 3)),
    "nan_value_counts": pairs((4, 2)),
    "lower_bounds": pairs((1, (5).to_bytes(4, "little")), (2, b"ab")),
    "upper_bounds": pairs((1, (9).to_bytes(4, "little")), (2, b"zz")),
    "key_metadata": b"key",
    "split_offsets": [4, 400],
    "sort_order_id": 2,
    "first_row_id": 77,
}


def entries() -> list[tuple[bytes, dict[str, Any]]]:
    """Three manifests of sequence number 5 that snapshot 7 added: data files of two specs, and deletes."""
    data = [
        {**entry("/old/t/a", records=10, partition={"p": 1}, **FULL), "snapshot_id": None},
        {
            **entry("/old/t/b", status=0, sequence_number=3, records=20, partition={"p": None}, file_format="orc"),
            "snapshot_id": 4,
            "file_sequence_number": 2,
        },
        {**entry("/old/t/c", status=2, sequence_number=3, partition={"p": 2}), "snapshot_id": 7},
        {**entry("/old/t/d", records=40, partition={"p": 1}, file_size_in_bytes=5), "snapshot_id": 7},
    ]
    other = [{**entry("/old/t/e", records=7, partition={"q": "x"}), "snapshot_id": 8}]
    deletes = [
        {
            **entry("/old/t/f", content=1, records=1, partition={"p": 1}, referenced_data_file="/old/t/a"),
            "snapshot_id": 4,
        },
        {
            **entry("/old/t/g", content=2, records=2, partition={"p": 1}, equality_ids=[1, 2]),
            "snapshot_id": 7,
            "file_sequence_number": 4,
        },
        {
            **entry("/old/t/h", content=1, records=3, file_format="puffin", content_offset=4, content_size_in_bytes=44),
            "snapshot_id": 7,
        },
    ]
    p, q = [("p", 1000, "int")], [("q", 1001, "string")]
    return [
        (manifest_bytes(data, p), {}),
        (manifest_bytes(other, q), {"partition_spec_id": 3, "added_snapshot_id": 8, "sequence_number": 6}),
        (manifest_bytes(deletes, p), {"content": 1}),
    ]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> tf.Table:
    folder = tmp_path_factory.mktemp("t")
    more: dict[str, Any] = {
        "schemas": SCHEMA,
        "last-column-id": 4,
        "partition-specs": SPECS,
        "last-sequence-number": 6,
        "snapshots": [snapshot_json(7, 1000), snapshot_json(8, 2000, **{"sequence-number": 6})],
    }
    return tf.open_table(table_with(folder, *entries(), **more), relocate=True)


def by_name(found: pa.Table, *columns: str) -> dict[str, tuple[Any, ...]]:
    names = [path.rpartition("/")[2] for path in found["file_path"].to_pylist()]
    return dict(zip(names, zip(*(found[name].to_pylist() for name in columns), strict=True), strict=True))


def test_which_files_are_listed(table: tf.Table) -> None:
    inspect = table.inspect
    assert list(by_name(inspect.files(), "content")) == ["a", "b", "d", "e", "f", "g", "h"]
    assert list(by_name(inspect.data_files(), "content")) == ["a", "b", "d", "e"]
    assert list(by_name(inspect.delete_files(), "content")) == ["f", "g", "h"]


def test_what_is_said_of_each(table: tf.Table) -> None:
    found = table.inspect.files()
    columns = ("content", "file_format", "spec_id", "partition", "record_count", "file_size_in_bytes")
    one = {"p": 1, "q": None}
    assert by_name(found, *columns) == {
        "a": (0, "PARQUET", 0, one, 10, 100),
        "b": (0, "ORC", 0, {"p": None, "q": None}, 20, 100),
        "d": (0, "PARQUET", 0, one, 40, 5),
        "e": (0, "PARQUET", 3, {"p": None, "q": "x"}, 7, 100),
        "f": (1, "PARQUET", 0, one, 1, 100),
        "g": (2, "PARQUET", 0, one, 2, 100),
        "h": (1, "PUFFIN", 0, {"p": None, "q": None}, 3, 100),
    }
    columns = ("equality_ids", "referenced_data_file", "content_offset", "content_size_in_bytes", "split_offsets")
    rows = by_name(found, *columns)
    assert rows["a"] == (None, None, None, None, [4, 400]) and rows["b"] == (None,) * 5
    assert rows["f"] == (None, "/old/t/a", None, None, None) and rows["g"] == ([1, 2], None, None, None, None)
    assert rows["h"] == (None, None, 4, 44, None)
    rows = by_name(found, "key_metadata", "sort_order_id")
    assert (rows["a"], rows["b"]) == ((b"key", 2), (None, None))


def test_maps(table: tf.Table) -> None:
    names = ("column_sizes", "value_counts", "null_value_counts", "nan_value_counts", "lower_bounds", "upper_bounds")
    rows = by_name(table.inspect.files(), *names)
    known: dict[str, Any] = FULL
    assert rows["a"] == tuple([(item["key"], item["value"]) for item in known[name]] for name in names)
    assert rows["b"] == (None,) * 6


NOTHING = {
    "column_size": None,
    "value_count": None,
    "null_value_count": None,
    "nan_value_count": None,
    "lower_bound": None,
    "upper_bound": None,
}


def test_metrics(table: tf.Table) -> None:
    for found in (table.inspect.files(), table.inspect.entries()):
        first, second = found["readable_metrics"].to_pylist()[:2]
        assert first["a"] == {
            "column_size": 40,
            "value_count": 10,
            "null_value_count": 0,
            "nan_value_count": None,
            "lower_bound": 5,
            "upper_bound": 9,
        }
        text = {"value_count": 11, "null_value_count": 3, "lower_bound": "ab", "upper_bound": "zz"}
        assert first["b"] == {**NOTHING, **text}
        assert first["s.x"] == {**NOTHING, "column_size": 50, "nan_value_count": 2}
        assert second == {"a": NOTHING, "b": NOTHING, "s.x": NOTHING}


def test_sizes_of_columns_that_are_null(tmp_path: Path) -> None:
    """The value of a key may be null, and so may be a map."""
    schema = entry_schema()
    for member in schema["fields"][-1]["type"]["fields"]:
        if member["name"] == "column_sizes":
            member["type"][1]["items"]["fields"][1]["type"] = ["null", "long"]
    sizes: list[list[dict[str, Any]] | None] = [pairs((1, None), (2, 7)), pairs((1, 5)), None, []]
    out = io.BytesIO()
    files = [entry(f"/old/t/{i}", **({} if one is None else {"column_sizes": one})) for i, one in enumerate(sizes)]
    fastavro.writer(out, fastavro.parse_schema(schema), files, sync_marker=SYNC)
    found = tf.open_table(table_with(tmp_path, (out.getvalue(), {})), relocate=True).inspect.files()
    metrics = found["readable_metrics"].to_pylist()
    assert [(row["a"]["column_size"], row["b"]["column_size"]) for row in metrics] == [
        (None, 7),
        (5, None),
        (None, None),
        (None, None),
    ]


def test_entries(table: tf.Table) -> None:
    """Numbers that are null are the manifest's for files that it added, and unknown for others."""
    found = table.inspect.entries()
    names = [file["file_path"].rpartition("/")[2] for file in found["data_file"].to_pylist()]
    columns = ("status", "snapshot_id", "sequence_number", "file_sequence_number")
    rows = zip(*(found[name].to_pylist() for name in columns), strict=True)
    assert dict(zip(names, rows, strict=True)) == {
        "a": (1, 7, 5, 5),
        "b": (0, 4, 3, 2),
        "c": (2, 7, 3, None),
        "d": (1, 7, 5, 5),
        "e": (1, 8, 6, 6),
        "f": (1, 4, 5, 5),
        "g": (1, 7, 5, 4),
        "h": (1, 7, 5, 5),
    }
    assert found["data_file"].type.get_field_index("readable_metrics") == -1
    first = found["data_file"].to_pylist()[0]
    assert first["partition"] == {"p": 1, "q": None} and first["record_count"] == 10


def test_first_row_ids_are_of_version_3(table: tf.Table) -> None:
    assert table.inspect.files()["first_row_id"].null_count == 7


def test_partitions(table: tf.Table) -> None:
    """In the order of their first files. The newest snapshot that is still known is named."""
    at = [dt.datetime.fromtimestamp(second, dt.timezone.utc) for second in (1, 2)]
    names = ("partition", "spec_id", "record_count", "file_count", "total_data_file_size_in_bytes")
    found = table.inspect.partitions()
    rows = list(zip(*(found[name].to_pylist() for name in names), strict=True))
    assert rows == [
        ({"p": 1, "q": None}, 0, 50, 2, 105),
        ({"p": None, "q": None}, 0, 20, 1, 100),
        ({"p": None, "q": "x"}, 3, 7, 1, 100),
    ]
    kinds = [f"{kind}_delete_{count}_count" for kind in ("position", "equality") for count in ("record", "file")]
    assert [tuple(row[name] for name in kinds) for row in found.to_pylist()] == [
        (1, 1, 2, 1),
        (3, 1, 0, 0),
        (0, 0, 0, 0),
    ]
    files = [name for name in found.column_names if name.endswith("file_count")]
    records = [name for name in found.column_names if name.endswith(("record_count", "in_bytes"))]
    assert (len(files), {found.schema.field(name).type for name in files}) == (3, {pa.int32()})
    assert (len(records), {found.schema.field(name).type for name in records}) == (4, {pa.int64()})
    assert found["last_updated_at"].to_pylist() == [at[0], at[0], at[1]]
    assert found["last_updated_snapshot_id"].to_pylist() == [7, 7, 8]


def test_partitions_whose_snapshots_have_expired(tmp_path: Path) -> None:
    data = [{**entry("/old/t/a", status=0, sequence_number=1), "snapshot_id": 4}]
    found = tf.open_table(table_with(tmp_path, (manifest_bytes(data), {})), relocate=True).inspect.partitions()
    assert found.column_names[0] == "record_count"
    assert found.select(["file_count", "last_updated_at", "last_updated_snapshot_id"]).to_pylist() == [
        {"file_count": 1, "last_updated_at": None, "last_updated_snapshot_id": None}
    ]


def test_version_1_has_no_sequence_numbers(tmp_path: Path) -> None:
    data = [{**entry("/old/t/a", status=status), "snapshot_id": 7} for status in (0, 1)]
    row = {"sequence_number": 0}
    table_with(tmp_path, (manifest_bytes(data, version=1), row), **{"format-version": 1, "last-sequence-number": None})
    found = tf.open_table(tmp_path, relocate=True).inspect.entries()
    assert (
        found.select(["sequence_number", "file_sequence_number"]).to_pylist()
        == [{"sequence_number": 0, "file_sequence_number": 0}] * 2
    )
    assert found["data_file"].to_pylist()[0]["content"] == 0


def test_files_that_came_from_version_1(tmp_path: Path) -> None:
    data = [{**entry("/old/t/a", status=0), "snapshot_id": 7}]
    found = tf.open_table(table_with(tmp_path, (manifest_bytes(data), {"sequence_number": 0})), relocate=True)
    assert found.inspect.entries().select(["sequence_number", "file_sequence_number"]).to_pylist() == [
        {"sequence_number": 0, "file_sequence_number": 0}
    ]
