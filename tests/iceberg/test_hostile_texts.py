"""Bytes of an Iceberg table that no writer makes: typed errors from the readers themselves, not from the boundary."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

import tableformats as tf
from tests.iceberg.test_deletes import position_row, reader
from tests.io.test_local_reads import iceberg_table
from tests.support.iceberg_manifests import SYNC, entry, entry_schema
from tests.support.iceberg_tables import FIELDS, parse


def not_text(*values: bytes) -> pa.StringArray:
    """Bytes that Arrow takes for text."""
    data = pa.array(values, pa.binary())
    return pa.StringArray.from_buffers(len(data), *data.buffers()[1:])


@pytest.mark.parametrize("form", ["dictionary", "plain", "nested", "orc"])
def test_file_paths_that_are_not_utf8(tmp_path: Path, form: str) -> None:
    ids = [{"PARQUET:field_id": str(2147483546 - i)} for i in range(2)]
    fields = [pa.field("file_path", pa.string(), metadata=ids[0]), pa.field("pos", pa.int64(), metadata=ids[1])]
    columns = [not_text(b"/t/a", b"\xff\xfe", b"/t/a"), pa.array([1, 2, 3], pa.int64())]
    table = pa.table(columns, schema=pa.schema(fields))
    if form == "nested":
        table = pa.table({"n": pa.StructArray.from_arrays(columns, fields=fields)})
    if form == "orc":
        orc.write_table(table.cast(pa.schema([f.remove_metadata() for f in fields])), tmp_path / "d")
    else:
        pq.write_table(table, tmp_path / "d", use_dictionary=form == "dictionary")
    row = position_row(tmp_path / "d", "orc" if form == "orc" else "parquet")
    with pytest.raises(tf.CorruptMetadataError, match="not UTF-8") as caught:
        reader(tmp_path).deleted_positions("/t/a", None, row)
    assert caught.value.path == str(tmp_path / "d") and caught.value.field == "file_path"


MAPS: dict[str, Any] = {
    "column_sizes": 4,
    "value_counts": 1,
    "null_value_counts": 0,
    "nan_value_counts": 0,
    "lower_bounds": b"a",
    "upper_bounds": b"b",
}


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize(
    ("kind", "key", "said"),
    [(["null", "int"], None, "is null"), ("long", 2**31, "does not fit"), ("long", -(2**31) - 1, "does not fit")],
)
def test_map_keys_that_are_none(tmp_path: Path, name: str, kind: Any, key: int | None, said: str) -> None:
    """Planning does not need the entry. The metadata table of files cannot show it."""
    schema = entry_schema((("p", 1000, "int"),))
    for member in schema["fields"][-1]["type"]["fields"]:
        if member["name"] == name:
            member["type"][1]["items"]["fields"][0]["type"] = kind
    wrong = entry(
        "/table/data/1.parquet", partition={"p": 1}, sequence_number=1, **{name: [{"key": key, "value": MAPS[name]}]}
    )
    out = io.BytesIO()
    fastavro.writer(out, fastavro.parse_schema(schema), [wrong], codec="null", sync_marker=SYNC)
    iceberg_table(tmp_path, manifest=out.getvalue())
    table = tf.open_table(tmp_path, relocate=True)
    assert len(table.scan("c > 1").plan()) == 1
    for shown in (table.inspect.files, table.inspect.entries):
        with pytest.raises(tf.CorruptMetadataError, match=f"a key of a map {said}") as caught:
            shown()
        assert caught.value.field == name and caught.value.path == str(tmp_path / "metadata/m.avro")


@pytest.mark.parametrize("transform", ["identity", "truncate[3]", "bucket[4]", "day"])
def test_partitions_by_nested_columns(transform: str) -> None:
    """A fuzzer's finding: partition values of a map were compared."""
    kind = {"type": "map", "key-id": 10, "key": "int", "value-id": 11, "value-required": False, "value": "int"}
    nested = {"id": 9, "name": "m", "required": False, "type": kind}
    schema = {"type": "struct", "schema-id": 0, "fields": [*FIELDS, nested]}
    spec = {"spec-id": 0, "fields": [{"name": "p", "transform": transform, "source-id": 9, "field-id": 1000}]}
    with pytest.raises(tf.CorruptMetadataError, match="cannot be partitioned by a column of the type map"):
        parse(**{"schemas": [schema], "partition-specs": [spec]})
