"""Entries and rows of other writers' manifests and lists, carried over whole; fastavro reads both sides."""

from __future__ import annotations

import io
from typing import Any

import fastavro
import numpy as np
import pytest
from tableformats_iceberg.avro.container import read_header
from tableformats_iceberg.manifests.manifest_list import DATA, DELETES, Manifest
from tableformats_iceberg.write.encode.avro_files import Codec
from tableformats_iceberg.write.encode.carried_entries import carried_entries
from tableformats_iceberg.write.encode.entry_batches import manifest_files
from tableformats_iceberg.write.encode.layouts import members_of_writer
from tableformats_iceberg.write.encode.manifest_lists import encode_list, read_list

from tableformats.errors import CorruptMetadataError, TableFormatsError
from tableformats.limits import DEFAULT_LIMITS
from tableformats.plugin import PartitionSpec
from tests.support.conformance import ROOT, needs_tables
from tests.support.examples import some_of
from tests.support.iceberg_avro import spec_of
from tests.support.iceberg_manifests import entry, entry_schema, fastavro_records, manifest_bytes

CODEC = Codec()
FILES = sorted((ROOT / "iceberg").rglob("metadata/*.avro")) + sorted((ROOT / "iceberg").rglob("*_manifest_list.avro"))
_HEADS = ("status", "snapshot_id", "sequence_number", "file_sequence_number", "data_file")


class Source:
    """What :func:`carried_entries` needs of a table: one manifest."""

    def __init__(self, data: bytes, spec: PartitionSpec) -> None:
        self.data, self.specs, self.default_spec_id, self.limits = data, {spec.id: spec}, spec.id, DEFAULT_LIMITS

    def read_bytes(self, manifest: Manifest) -> tuple[bytes, str]:
        return self.data, manifest.path


def row(content: int, first_row_id: int | None = None, sequence_number: int = 7) -> Manifest:
    return Manifest("m", -1, 0, content, sequence_number, 0, 42, -1, -1, -1, -1, -1, -1, first_row_id)


def carried(data: bytes, manifest: Manifest, version: int) -> list[dict[str, Any]]:
    """The records of a manifest after it was carried over."""
    spec = spec_of(fastavro_records(data)[0])
    found = []
    for group in carried_entries(Source(data, spec), [manifest], version):  # type: ignore[arg-type]
        for written in manifest_files(group.entries, spec, manifest.content, {}, CODEC, 1 << 30):
            found += fastavro_records(written.data)[1]
    return found


def plain(value: Any) -> Any:
    """A value without what depends on names: NaN is one value, fixed values are bytes."""
    if isinstance(value, dict):
        return {name: plain(v) for name, v in value.items()}
    if isinstance(value, list):
        return [plain(v) for v in value]
    return "NaN" if isinstance(value, float) and value != value else value


def members(data: bytes, record: dict[str, Any]) -> dict[str, Any]:
    """The members of ``data_file`` that have a field id, or a name that stands for one."""
    known = {m.name for m in members_of_writer(read_header(data, "").schema)}
    return {name: plain(value) for name, value in record["data_file"].items() if name in known}


@needs_tables
def test_real_manifests(version: int = 3) -> None:
    """Each live entry keeps each member, and is EXISTING, with explicit sequence numbers.

    One of the six large files, of thousands of entries each, for each change, and all of them at night.
    """
    seen = 0
    schemas: set[bytes] = set()
    files = sorted(FILES, key=lambda path: path.stat().st_size)
    for path in [*files[:-6], *some_of(6, files[-6:])]:
        data = path.read_bytes()
        try:
            if (text := read_header(data, "").schema) in schemas:
                continue  # the smallest file of each schema
            schemas.add(text)
            schema, records = fastavro_records(data)
        except (ValueError, KeyError, EOFError, TableFormatsError):
            continue  # damaged on purpose
        if "status" not in {f["name"] for f in schema["fields"]}:
            continue
        live = [r for r in records if r["status"] != 2]
        contents = {r["data_file"].get("content") or 0 for r in live}
        content = DELETES if contents - {0} else DATA
        try:
            found = carried(data, row(content), version)
        except TableFormatsError as error:
            assert "encrypted" in str(error) or "negative" in str(error) or "sequence number" in str(error), path
            continue
        assert len(found) == len(live), path
        some = slice(None, None, 1 + len(live) // 200)
        for old, new in zip(live[some], found[some], strict=True):
            new_members = {name: plain(v) for name, v in new["data_file"].items()}
            for name, value in members(data, old).items():
                assert name in ("block_size_in_bytes", "first_row_id") or new_members[name] == value, (path, name)
            assert new["status"] == 0 and new["snapshot_id"] == (old["snapshot_id"] or 42)
            is_old = "sequence_number" not in old
            expected = 0 if is_old else 7 if old["sequence_number"] is None else old["sequence_number"]
            assert new["sequence_number"] == expected, path
        seen += len(live)
    assert seen > 60


@needs_tables
def test_real_lists(version: int = 3) -> None:
    """Each row keeps its values; what version 2 demands and the writer left out is 0."""
    seen = 0
    for path in FILES:
        data = path.read_bytes()
        try:
            schema, records = fastavro_records(data)
            stored = read_list(data, str(path), DEFAULT_LIMITS)
        except (ValueError, KeyError, EOFError, TableFormatsError):
            continue
        if "manifest_path" not in {f["name"] for f in schema["fields"]}:
            continue
        if any(min(m[m._fields.index("added_files") : -1]) < 0 for m in stored.rows):
            continue  # what is not counted is counted by the producer
        kept = np.arange(len(records))
        again, next_row_id = encode_list(stored, kept, [], {}, version, 100, CODEC)
        found = fastavro_records(again)[1]
        ids = {m.name: m.id for m in stored.writers.values()}
        names = {f["field-id"]: f["name"] for f in fastavro_records(again)[0]["fields"]}
        for old, new in zip(records, found, strict=True):
            for name, value in old.items():
                if names.get(ids[name]) and value is not None and ids[name] not in (507, 520):
                    assert new[names[ids[name]]] == value, (path, name)
            theirs = [{**{"contains_nan": None}, **s} for s in old["partitions"] or []]
            assert [dict(s) for s in new["partitions"] or []] == theirs, path
        if version == 3:
            firsts = [
                (m["first_row_id"], m["added_rows_count"] + m["existing_rows_count"]) for m in found if not m["content"]
            ]
            assert all(first is not None for first, _ in firsts)
            assert next_row_id >= 100
        seen += len(records)
    assert seen > 100


UNKNOWN = {"name": "of_another_writer", "type": ["null", {"type": "array", "items": "string"}], "field-id": 9999}


def test_unknown_members_are_kept() -> None:
    schema = entry_schema([("p", 1000, "string")])
    schema["fields"][-1]["type"]["fields"].insert(3, UNKNOWN)
    records = [entry(f"f{i}", partition={"p": f"p{i}"}, of_another_writer=[str(i)] if i else None) for i in range(3)]
    out = io.BytesIO()
    fastavro.writer(out, fastavro.parse_schema(schema), records)
    found = carried(out.getvalue(), row(DATA), 2)
    assert [r["data_file"]["of_another_writer"] for r in found] == [None, ["1"], ["2"]]
    assert [r["data_file"]["partition"] for r in found] == [{"p": f"p{i}"} for i in range(3)]


def test_what_is_inherited_is_written_out() -> None:
    records = [
        entry("a", status=1, records=10),
        {**entry("b", status=0, sequence_number=3, records=5, first_row_id=700), "file_sequence_number": 4},
        entry("c", status=2, sequence_number=3, records=5),
        entry("d", status=1, records=2),
    ]
    found = carried(manifest_bytes(records), row(DATA, first_row_id=1000), 3)
    heads = [tuple(r[name] for name in _HEADS[:4]) for r in found]
    assert heads == [(0, 42, 7, 7), (0, 42, 3, 4), (0, 42, 7, 7)]
    assert [r["data_file"]["first_row_id"] for r in found] == [1000, 700, 1010]
    assert [r["data_file"]["file_path"] for r in found] == ["a", "b", "d"]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_damaged_manifest_among_others_is_named(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    sound = manifest_bytes([entry("a", status=1)])
    damaged = manifest_bytes([entry("b", status=0, sequence_number=None)])
    manifests = [row(DATA)._replace(path=f"m{number}") for number in range(count)]
    source = Source(sound, spec_of(fastavro_records(sound)[0]))
    last = manifests[-1].path
    monkeypatch.setattr(source, "read_bytes", lambda one: (damaged if one.path == last else sound, one.path))
    with pytest.raises(CorruptMetadataError, match="sequence number") as caught:
        list(carried_entries(source, manifests, 2))  # type: ignore[arg-type]
    assert caught.value.path == last


def test_version_1_becomes_version_2() -> None:
    data = manifest_bytes([{**entry("a"), "snapshot_id": 5}], version=1)
    (found,) = carried(data, row(DATA), 2)
    assert [found[name] for name in _HEADS[:4]] == [0, 5, 0, 0]
    assert found["data_file"]["content"] == 0 and "block_size_in_bytes" not in found["data_file"]


def test_deletes_keep_what_they_refer_to() -> None:
    vector = entry(
        "v.puffin",
        content=1,
        file_format="PUFFIN",
        referenced_data_file="a",
        content_offset=4,
        content_size_in_bytes=40,
    )
    equality = entry("e.parquet", content=2, equality_ids=[1, 2], lower_bounds=[{"key": 1, "value": b"x"}])
    found = carried(manifest_bytes([vector, equality]), row(DELETES), 3)
    for old, new in zip((vector, equality), found, strict=True):
        assert old["data_file"].items() <= new["data_file"].items()
        assert new["data_file"]["first_row_id"] is None


def test_manifests_of_the_target_size() -> None:
    records = [entry(f"file-{i:06d}" * 8, lower_bounds=[{"key": 1, "value": bytes(16)}]) for i in range(20_000)]
    spec = PartitionSpec(0, ())
    source = Source(manifest_bytes(records), spec)
    (group,) = carried_entries(source, [row(DATA)], 2)  # type: ignore[arg-type]
    written = list(manifest_files(group.entries, spec, DATA, {}, Codec("null"), 500_000))
    assert len(written) > 3 and all(500_000 <= len(w.data) < 700_000 for w in written[:-1])
    assert sum(w.row.existing_files for w in written) == 20_000
    paths = [r["data_file"]["file_path"] for w in written for r in fastavro_records(w.data)[1]]
    assert paths == [r["data_file"]["file_path"] for r in records]
