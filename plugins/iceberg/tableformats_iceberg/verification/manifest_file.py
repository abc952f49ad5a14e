"""One manifest as it is stored: its header, and every entry as an object, with nothing corrected or left out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tableformats.plugin import CorruptMetadataError, Field, PartitionSpec, Violation, dataclass

from ..avro.container import ELEMENT, AvroColumns, Header, Want, read_columns, read_header
from ..manifests.statistics import DATA_FILE_ID, ManifestStatistics
from ..manifests.values import decode_partition

if TYPE_CHECKING:
    from ..files.table_files import TableFiles
    from ..manifests.manifest_list import Manifest
    from ..metadata.table_metadata import TableMetadata

__all__ = ["ADDED", "DELETED", "EXISTING", "Entry", "Key", "ManifestFile", "TableFacts", "read_manifest"]

EXISTING, ADDED, DELETED = 0, 1, 2
DATA, POSITION_DELETES, EQUALITY_DELETES = 0, 1, 2
MAPS = {109: "value_counts", 110: "null_value_counts", 137: "nan_value_counts"}
_BOUNDS = {125: "lower_bounds", 128: "upper_bounds"}
_KEYS = {109: (119, 120), 110: (121, 122), 137: (138, 139), 125: (126, 127), 128: (129, 130)}
_INTEGERS = {134: "content", 103: "record_count", 104: "file_size_in_bytes", 140: "sort_order_id"}
_INTEGERS |= {142: "first_row_id", 144: "content_offset", 145: "content_size_in_bytes"}
_TEXTS = {100: "file_path", 101: "file_format", 143: "referenced_data_file"}

Key = tuple[str, "int | None"]
"""What a live entry is called by: the path, and of a deletion vector where it begins."""


@dataclass(frozen=True)
class TableFacts:
    """What manifests are compared with. ``fields`` are the leaves of all schemas by id, as the newest one has them."""

    metadata: TableMetadata
    orders: frozenset[int]
    fields: Mapping[int, Field]


@dataclass
class Entry:
    """An entry as it is stored: None where it has no value. ``partition`` has a plain value for each spec field."""

    status: int
    snapshot_id: int | None
    sequence_number: int | None
    file_sequence_number: int | None
    content: int
    path: str
    format: str
    partition: tuple[Any, ...]
    record_count: int
    size: int
    sort_order_id: int | None
    first_row_id: int | None
    referenced: str | None
    content_offset: int | None
    content_size: int | None
    equality_ids: list[int] | None
    split_offsets: list[int] | None

    @property
    def is_live(self) -> bool:
        return self.status != DELETED

    @property
    def is_vector(self) -> bool:
        return self.content == POSITION_DELETES and self.format.lower() == "puffin"

    @property
    def key(self) -> Key:
        return self.path, self.content_offset if self.is_vector else None


@dataclass
class ManifestFile:
    """A manifest that was read."""

    path: str
    size: int
    header: Header
    spec: PartitionSpec
    format_version: int
    entries: list[Entry]
    columns: AvroColumns
    partition: list[pa.Array]
    """The values of each field of the spec, one an entry."""
    found: list[Violation] = field(default_factory=list)
    """What is wrong with the manifest itself, whichever snapshot lists it."""

    @property
    def statistics(self) -> ManifestStatistics:
        return ManifestStatistics(self.columns, None)

    @cached_property
    def live(self) -> dict[Key, Entry]:
        """The live entries; of two that are called the same, the last."""
        return {entry.key: entry for entry in self.entries if entry.is_live}

    @cached_property
    def n_live(self) -> int:
        return sum(entry.is_live for entry in self.entries)

    def counts(self, status: int) -> tuple[int, int]:
        """Files and rows of one status."""
        rows = [entry.record_count for entry in self.entries if entry.status == status]
        return len(rows), sum(rows)

    def has_member(self, field_id: int) -> bool:
        """Whether the writer's schema has a member of ``data_file``."""
        return self.columns.has((DATA_FILE_ID, field_id))

    def nan_bounds(self, fields: Mapping[int, Field]) -> Iterator[tuple[int, int]]:
        """Row and field id of each bound that is NaN."""
        for map_id in _BOUNDS:
            for field_id, raw in self.columns.map_columns((DATA_FILE_ID, map_id)).items():
                if getattr(fields[field_id].type, "name", None) not in ("float", "double"):
                    continue
                for row, value in enumerate(raw.bytes_array(pa.binary()).to_pylist()):
                    kind = {4: "<f4", 8: "<f8"}.get(len(value or b""))
                    if value and kind and math.isnan(float(np.frombuffer(value, kind)[0])):
                        yield row, field_id


def read_manifest(files: TableFiles, manifest: Manifest, facts: TableFacts) -> ManifestFile:
    """Read a manifest that a list, or version 1 metadata, names.

    Raises
    ------
    CorruptMetadataError
        It is missing, damaged, or of a spec that is not there.
    StoreError
        As the store fails.
    """
    data, path = files.read(manifest.path, "manifest")
    header = read_header(data, path)
    spec_id, specs = manifest.spec_id, facts.metadata.specs
    if spec_id is None:
        text = header.text("partition-spec-id")
        spec_id = (
            int(text) if text is not None and text.isascii() and text.isdigit() else facts.metadata.default_spec_id
        )
    if spec_id not in specs:
        raise CorruptMetadataError(f"the table has no partition spec {spec_id}", path=path, field="partition_spec_id")
    spec = specs[spec_id]
    raw = read_columns(data, _wants(spec), sorted(facts.fields), path, header=header, limits=files.storage.limits)
    version = header.text("format-version")
    known = int(version) if version in ("1", "2", "3") else 1
    values = [decode_partition(raw[(DATA_FILE_ID, 102, f.id)], f.type, path, f.name) for f in spec.fields]
    return ManifestFile(path, len(data), header, spec, known, list(_entries(raw, values)), raw, values)


def _wants(spec: PartitionSpec) -> tuple[Want, ...]:
    maps = [
        Want(i, (name,), "any", "map", (Want(_KEYS[i][0], ("key",)), Want(_KEYS[i][1], ("value",), kind)))
        for names, kind in ((MAPS, "int"), (_BOUNDS, "bytes"))
        for i, name in names.items()
    ]
    members = [
        *(Want(i, (name,)) for i, name in _INTEGERS.items()),
        *(Want(i, (name,), "text") for i, name in _TEXTS.items()),
        Want(102, ("partition",), "any", "record", tuple(Want(f.id, (f.name,), "any") for f in spec.fields)),
        Want(132, ("split_offsets",), "int", "list"),
        Want(135, ("equality_ids",), "int", "list"),
        *maps,
    ]
    heads = [(0, "status"), (1, "snapshot_id"), (3, "sequence_number"), (4, "file_sequence_number")]
    return (*(Want(i, (name,)) for i, name in heads), Want(2, ("data_file",), "any", "record", tuple(members)))


def _entries(raw: AvroColumns, values: list[pa.Array]) -> Iterator[Entry]:
    raw.required((0,), "status")
    for field_id, name in ((100, "file_path"), (101, "file_format"), (103, "record_count"), (104, "file_size")):
        raw.required((DATA_FILE_ID, field_id), name)
    numbers = {i: raw[(DATA_FILE_ID, i)].int_array().to_pylist() for i in _INTEGERS}
    texts = {i: raw.strings((DATA_FILE_ID, i), name).to_pylist() for i, name in _TEXTS.items()}
    lists = {i: _lists(raw, i) for i in (132, 135)}
    columns = [column.to_pylist() for column in values]
    partitions: list[tuple[Any, ...]] = list(zip(*columns, strict=True)) if columns else [()] * raw.rows
    heads = {i: raw[(i,)].int_array().to_pylist() for i in (0, 1, 3, 4)}
    for row in range(raw.rows):
        yield Entry(
            heads[0][row],
            heads[1][row],
            heads[3][row],
            heads[4][row],
            numbers[134][row] or 0,
            texts[100][row],
            texts[101][row],
            partitions[row],
            numbers[103][row],
            numbers[104][row],
            numbers[140][row],
            numbers[142][row],
            texts[143][row],
            numbers[144][row],
            numbers[145][row],
            lists[135][row],
            lists[132][row],
        )


def _lists(raw: AvroColumns, field_id: int) -> list[list[int] | None]:
    column = raw[(DATA_FILE_ID, field_id)]
    ends, valid = column.list_offsets().tolist(), column.valid.tolist()
    items = raw[(DATA_FILE_ID, field_id, ELEMENT)].int_array().to_pylist()
    return [items[a:b] if known else None for a, b, known in zip(ends, ends[1:], valid, strict=False)]
