"""Avro schemas of manifests that no writer makes: each is refused by name before a record is read."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tableformats_iceberg.manifests.entries import EntriesRequest, read_entries
from tableformats_iceberg.manifests.manifest_list import Manifest

import tableformats as tf
from tests.fuzz.attacks import of_files
from tests.fuzz.targets import iceberg as seeds
from tests.support.iceberg_manifests import blocks_of, container, entry, entry_schema, manifest_bytes

FILE = -1  # the last field of an entry


def changed(name: str, kind: Any) -> dict[str, Any]:
    """The schema of entries with another type for a member of the data file."""
    schema = copy.deepcopy(entry_schema(seeds.PARTITION))
    members = schema["fields"][FILE]["type"]["fields"]
    if name == "extra":  # that nobody reads
        members.append({"name": name, "type": kind, "field-id": 999})
    for member in members:
        if member["name"] == name:
            member["type"] = kind
    return schema


def pairs(key: Any, value: Any, key_id: int = 126, value_id: int = 127) -> dict[str, Any]:
    fields = [
        {"name": "key", "type": key, "field-id": key_id},
        {"name": "value", "type": value, "field-id": value_id},
    ]
    return {"type": "array", "items": {"type": "record", "name": "pair", "fields": fields}, "logicalType": "map"}


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("lower_bounds", pairs("string", "bytes"), "keys or values of the wrong type: string"),
        ("lower_bounds", pairs("int", "long"), "keys or values of the wrong type: long"),
        ("upper_bounds", pairs("int", "double", 129, 130), "keys or values of the wrong type: double"),
        ("null_value_counts", pairs("bytes", "long", 121, 122), "keys or values of the wrong type: bytes"),
        ("lower_bounds", pairs("int", "bytes", 1, 2), "no key or no value"),
        ("lower_bounds", {"type": "map", "values": "bytes"}, "no Avro map with int keys"),
        ("value_counts", pairs("int", "string", 119, 120), "keys or values of the wrong type: string"),
        ("extra", {"type": "fixed", "name": "f", "size": -1}, "no sound size"),
        ("split_offsets", {"type": "fixed", "name": "f", "size": 8}, "wrong Avro type: fixed"),
        ("split_offsets", {"type": "array", "items": "null"}, "array of empty items"),
        ("split_offsets", {"type": "array"}, "no item type"),
        ("extra", {"type": "enum", "name": "e", "symbols": []}, "enum has no symbols"),
        ("record_count", "string", "wrong Avro type: string"),
    ],
)
def test_schemas_of_manifests(tmp_path: Path, name: str, kind: Any, words: str) -> None:
    schema = changed(name, kind)
    of_files(tmp_path, manifest=container(schema, []))
    described = Manifest("m", -1, 0, 0, 2, 1, 5, 1, 1, 1, 1, 1, 1, 100)
    with pytest.raises(tf.CorruptMetadataError, match=words):
        read_entries(
            container(schema, [(1, b"\0" * 64)]), "m", described, EntriesRequest(seeds.specs(), 0, range(1, 6), True)
        )
    with pytest.raises(tf.CorruptMetadataError):
        tf.open_table(tmp_path, relocate=True).scan("c > 1").plan()


def test_partitions_of_an_unpartitioned_table() -> None:
    """One struct without members for each row: not none, and none of them null."""
    data = manifest_bytes([entry("/t/1", sequence_number=1), entry("/t/2", sequence_number=1)], ())
    assert [count for count, _ in blocks_of(data)] == [2]
    described = Manifest("m", -1, 0, 0, 2, 1, 5, 2, 2, 0, 0, 0, 0, len(data))
    spec = next(iter(seeds.specs().values()))
    unpartitioned = {0: type(spec)(0, ())}
    found = read_entries(data, "m", described, EntriesRequest(unpartitioned, 0, (), True))
    partition = found.files["partition"]
    assert partition.type == pa.struct([]) and len(partition) == 2 and partition.null_count == 0
