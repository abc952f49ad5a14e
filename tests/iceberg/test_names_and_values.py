"""Names of Avro fields and of metadata columns, and partition values as text."""

from __future__ import annotations

import datetime as dt
import uuid
from typing import Any

import pyarrow as pa
import pytest
from tableformats_iceberg.inspect.tables import _text
from tableformats_iceberg.metadata.metadata_columns import POS_ID, metadata_columns
from tableformats_iceberg.write.encode.layouts import _avro_name

from tableformats.plugin import Field, PartitionField, Schema, parse_transform, primitive


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("a_1", "a_1"),
        ("9", "_9"),
        ("9 x", "_9_x20x"),
        ("a.b-c", "a_x2Eb_x2Dc"),
        ("é", "_xE9"),
        ("\u0663", "_x663"),  # a digit that is not ASCII
        ("_", "_"),
    ],
)
def test_names_that_avro_allows(name: str, written: str) -> None:
    """As ``AvroSchemaUtil.sanitize`` of the Java reference makes them."""
    assert _avro_name(name) == written


@pytest.mark.parametrize(
    ("value", "transform", "kind", "text"),
    [
        (None, "identity", "int", None),
        (54, "year", "int", "2024"),
        (-1971, "year", "int", "-001"),
        (0, "month", "int", "1970-01"),
        (-1, "month", "int", "1969-12"),
        (13, "month", "int", "1971-02"),
        (dt.date(2024, 1, 31), "day", "date", "2024-01-31"),
        (25, "hour", "int", "1970-01-02-01"),
        (-1, "hour", "int", "1969-12-31-23"),
        (70_389_527, "hour", "int", "9999-12-31-23"),
        (70_389_528, "hour", "int", "70389528"),
        (-17_259_888, "hour", "int", "0001-01-01-00"),
        (-17_259_889, "hour", "int", "-17259889"),
        (3, "bucket[4]", "int", "3"),
        (float("inf"), "identity", "double", "Infinity"),
        (float("-inf"), "identity", "double", "-Infinity"),
        (1.5, "identity", "double", "1.5"),
        (True, "identity", "boolean", "true"),
        (b"\1\xff", "identity", "binary", "Af8="),
        (uuid.UUID(int=7).bytes, "identity", "uuid", "00000000-0000-0000-0000-000000000007"),
        (dt.time(1, 2, 3), "identity", "time", "01:02:03"),
    ],
)
def test_partition_values_as_text(value: Any, transform: str, kind: str, text: str | None) -> None:
    field = PartitionField(1000, "p", 1, parse_transform(transform), primitive(kind))
    assert _text(pa.scalar(value), field) == text


@pytest.mark.parametrize(("version", "lineage"), [(1, []), (2, []), (3, ["_row_id", "_last_updated_sequence_number"])])
def test_metadata_columns_whose_reserved_ids_the_schema_leaves_free(version: int, lineage: list[str]) -> None:
    def names(field_id: int) -> list[str]:
        schema = Schema((Field(field_id, "a", primitive("long")),))
        return [column.field.name for column in metadata_columns(version, {}, schema)]

    assert names(1) == ["_file", "_pos", "_spec_id", "_partition", *lineage]
    assert names(POS_ID) == ["_file", "_spec_id", "_partition", *lineage]
