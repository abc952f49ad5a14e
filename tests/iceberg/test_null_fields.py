"""Manifest entries whose required fields are null: each is refused by its name, not read as something else."""

from __future__ import annotations

import io
from pathlib import Path

import fastavro
import pytest

import tableformats as tf
from tests.io.test_local_reads import iceberg_table
from tests.support.iceberg_manifests import SYNC, entry, entry_schema

REQUIRED = ("status", "file_path", "record_count", "file_size_in_bytes")


@pytest.mark.parametrize("name", REQUIRED)
def test_required_fields_that_are_null(tmp_path: Path, name: str) -> None:
    schema = entry_schema((("p", 1000, "int"),))
    wrong = entry("/table/data/1.parquet", partition={"p": 1}, sequence_number=1)
    members = schema["fields"] if name == "status" else schema["fields"][-1]["type"]["fields"]
    for member in members:
        if member["name"] == name:
            member["type"] = ["null", member["type"]]
    (wrong if name == "status" else wrong["data_file"])[name] = None
    out = io.BytesIO()
    sound = entry("/table/data/2.parquet", partition={"p": 1}, sequence_number=1)
    fastavro.writer(out, fastavro.parse_schema(schema), [sound, wrong], codec="null", sync_marker=SYNC)
    iceberg_table(tmp_path, manifest=out.getvalue())
    with pytest.raises(tf.CorruptMetadataError, match="required field is missing or null") as caught:
        tf.open_table(tmp_path, relocate=True).scan().plan()
    assert caught.value.field is not None and caught.value.field.endswith(name)
    assert caught.value.path == str(tmp_path / "metadata/m.avro")
