"""Files of Avro that are written: their codecs and blocks, and entries of several manifests that are read at once."""

from __future__ import annotations

import io
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from tableformats_iceberg.manifests.manifest_list import DATA, Manifest
from tableformats_iceberg.write.encode import avro_files, carried_entries
from tableformats_iceberg.write.encode.avro_encoding import varint
from tableformats_iceberg.write.encode.avro_files import Codec, codec_of, container_file, encoded_blocks

import tableformats as tf
from tableformats.plugin import DEFAULT_LIMITS, PartitionSpec
from tests.support.iceberg_manifests import entry, entry_schema, manifest_bytes

NAME, LEVEL = "write.manifest.compression-codec", "write.manifest.compression-level"


@pytest.mark.parametrize(
    ("properties", "codec"),
    [
        ({}, Codec("deflate", None)),
        ({NAME: "GZIP"}, Codec("deflate", None)),
        ({NAME: "zstd", LEVEL: "3"}, Codec("zstandard", 3)),
        ({NAME: "uncompressed"}, Codec("null", None)),
        ({NAME: "snappy"}, Codec("snappy", None)),
        ({LEVEL: "0"}, Codec("deflate", 0)),
        ({LEVEL: "-22"}, Codec("deflate", -22)),
        ({LEVEL: "999"}, Codec("deflate", 999)),
    ],
)
def test_codecs(properties: dict[str, str], codec: Codec) -> None:
    assert codec_of(properties) == codec


@pytest.mark.parametrize(
    ("properties", "field"),
    [
        ({NAME: "lzma"}, NAME),
        ({NAME: ""}, NAME),
        ({LEVEL: "high"}, LEVEL),
        ({LEVEL: ""}, LEVEL),
        ({LEVEL: "-"}, LEVEL),
        ({LEVEL: "--1"}, LEVEL),
        ({LEVEL: "1000"}, LEVEL),
        ({LEVEL: "-100"}, LEVEL),
        ({LEVEL: "1.5"}, LEVEL),
        ({LEVEL: "xyz"}, LEVEL),
    ],
)
def test_codecs_that_are_not_known(properties: dict[str, str], field: str) -> None:
    with pytest.raises(tf.UnsupportedFeatureError) as caught:
        codec_of(properties)
    assert caught.value.field == field


def test_what_errors_show_of_a_value() -> None:
    for name in (NAME, LEVEL):
        with pytest.raises(tf.UnsupportedFeatureError, match=repr("x" * 50)):
            codec_of({name: "x" * 51})


@pytest.mark.parametrize(
    ("sizes", "spans"),
    [
        ([], []),
        ([1], [(0, 1)]),
        ([10], [(0, 1)]),
        ([11], [(0, 1)]),
        ([99], [(0, 1)]),
        ([5, 5], [(0, 2)]),
        ([5, 6], [(0, 2)]),
        ([5, 5, 1], [(0, 2), (2, 3)]),
        ([10, 10, 10], [(0, 1), (1, 2), (2, 3)]),
        ([1] * 25, [(0, 10), (10, 20), (20, 25)]),
        ([30, 1, 1], [(0, 1), (1, 3)]),
    ],
)
@pytest.mark.parametrize("skipped", [0, 3])
def test_blocks(sizes: list[int], spans: list[tuple[int, int]], skipped: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A block ends with the record that fills it, also of a part of an array."""
    monkeypatch.setattr(avro_files, "_BLOCK_BYTES", 10)
    records = [bytes([65 + n]) * size for n, size in enumerate(sizes)]
    array = pa.array([b"skipped"] * skipped + records, pa.binary()).slice(skipped)
    found = list(encoded_blocks(array, Codec("null")))
    assert [(block.start, block.stop) for block in found] == spans
    assert [block.data for block in found] == [b"".join(records[start:stop]) for start, stop in spans]


@pytest.mark.parametrize("codec", ["null", "deflate"])
def test_files_of_blocks(codec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(avro_files, "_BLOCK_BYTES", 100)
    records = pa.array([varint(n) for n in range(-300, 300)], pa.binary())
    chosen = Codec(codec)
    blocks = list(encoded_blocks(records, chosen))
    assert len(blocks) > 5
    data = container_file("long", {"key": "välue"}, blocks, chosen)
    reader = fastavro.reader(io.BytesIO(data))
    assert list(reader) == list(range(-300, 300))
    assert {k: v for k, v in reader.metadata.items() if not k.startswith("avro.schema")} == {
        "avro.codec": codec,
        "key": "välue",
    }
    assert list(fastavro.reader(io.BytesIO(container_file("long", {}, [], chosen)))) == []


# ---- several manifests at once --------------------------------------------------------------------------------------


class Source:
    """Manifests by their path."""

    specs, default_spec_id, limits = {0: PartitionSpec(0, ())}, 0, DEFAULT_LIMITS

    def __init__(self, **manifests: bytes) -> None:
        self.manifests = manifests

    def read_bytes(self, manifest: Manifest) -> tuple[bytes, str]:
        return self.manifests[manifest.path], manifest.path


def listed(path: str, content: int = DATA, number: int = 9) -> Manifest:
    return Manifest(path, -1, 0, content, number, 0, 42, -1, -1, -1, -1, -1, -1, None)


def paths_of(carried: Any) -> list[list[str]]:
    return [
        [path[1:].decode() for path in carried.of(number).members[100].to_pylist()]
        for number in range(len(carried.manifests))
    ]


@pytest.mark.parametrize("at_once", [True, False])
def test_the_entries_of_each(at_once: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it turns out that they cannot be read together. Their counts are right, if not their lengths."""
    if not at_once:
        monkeypatch.setattr(carried_entries, "read_columns_of_files", lambda *_, **__: None)
    made = {
        "m1": manifest_bytes([entry("a"), entry("b", status=2), entry("c")]),
        "m2": manifest_bytes([entry("d", status=0, sequence_number=3)]),
        "m3": manifest_bytes([entry("e"), entry("f"), entry("g")]),
    }
    source: Any = Source(**made)
    counts = [(2, 0), (0, 1), (3, 0)]
    rows = [
        listed(path, number=n)._replace(length=len(made[path]) - 1, added_files=added, existing_files=old)
        for n, (path, (added, old)) in enumerate(zip(made, counts, strict=True), 7)
    ]
    found = list(carried_entries.carried_entries(source, rows, 2))
    groups = [group for one in found for group in paths_of(one)]
    assert groups == [["a", "c"], ["d"], ["e", "f", "g"]] and len(found) == (1 if at_once else 3)
    numbers = [number for one in found for number in one.entries.sequence_number.tolist()]
    assert numbers == [7, 7, 3, 9, 9, 9]
    (alone,) = carried_entries.carried_entries(source, rows[2:], 2)
    assert paths_of(alone) == [["e", "f", "g"]] and alone.entries.status.tolist() == [0, 0, 0]


def test_manifests_of_several_writers() -> None:
    """Those of one schema are read together, in the order in which they are listed."""
    made = {
        "m1": manifest_bytes([{**entry("a"), "snapshot_id": 1}], version=1),
        "m2": manifest_bytes([entry("b")]),
        "m3": manifest_bytes([{**entry("c"), "snapshot_id": 1}], version=1),
    }
    source: Any = Source(**made)
    found = list(carried_entries.carried_entries(source, [listed(path) for path in made], 2))
    assert sorted([m.path for m in one.manifests] for one in found) == [["m1", "m3"], ["m2"]]
    for one in found:
        old = len(one.manifests) == 2
        expected = ([0, 0], [1, 1]) if old else ([9], [42])
        assert (one.entries.file_sequence_number.tolist(), one.entries.snapshot_id.tolist()) == expected


def test_a_spec_that_the_table_does_not_have() -> None:
    source: Any = Source(m1=manifest_bytes([entry("a")]))
    with pytest.raises(tf.CorruptMetadataError) as caught:
        list(carried_entries.carried_entries(source, [listed("m1")._replace(spec_id=5)], 2))
    assert (caught.value.field, caught.value.path) == ("partition_spec_id", "m1") and "5" in str(caught.value)


def test_what_is_said_of_nobody() -> None:
    """A manifest whose snapshot is not known; and entries without a number of their file, which stays unknown."""
    source: Any = Source(m1=manifest_bytes([entry("a")]))
    (found,) = carried_entries.carried_entries(source, [listed("m1")._replace(added_snapshot_id=None)], 2)
    assert found.entries.snapshot_id.tolist() == [0] and found.entries.file_sequence_number.tolist() == [9]
    schema = entry_schema()
    schema["fields"] = [f for f in schema["fields"] if f["field-id"] != 4]
    out = io.BytesIO()
    fastavro.writer(out, fastavro.parse_schema(schema), [entry("a"), entry("b", status=0, sequence_number=3)])
    source = Source(m1=out.getvalue())
    (found,) = carried_entries.carried_entries(source, [listed("m1")], 2)
    assert found.entries.sequence_number.tolist() == [9, 3]
    assert found.entries.file_sequence_number.tolist() == [9, -1]


@pytest.mark.parametrize("field_id", [103, 104])
def test_members_that_every_manifest_has(field_id: int) -> None:
    schema = entry_schema()
    file = schema["fields"][-1]["type"]
    (name,) = [f["name"] for f in file["fields"] if f["field-id"] == field_id]
    file["fields"] = [f for f in file["fields"] if f["field-id"] != field_id]
    out = io.BytesIO()
    fastavro.writer(out, fastavro.parse_schema(schema), [entry("a")])
    source: Any = Source(m1=out.getvalue())
    with pytest.raises(tf.CorruptMetadataError) as caught:
        list(carried_entries.carried_entries(source, [listed("m1")], 2))
    assert caught.value.field == name
