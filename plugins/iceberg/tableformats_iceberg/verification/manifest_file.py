"""One manifest as it is stored: its header, and every entry as an object, with nothing corrected or left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tableformats.plugin import CorruptMetadataError, Field, PartitionSpec, Violation, dataclass

from ..avro.container import ELEMENT, AvroColumns, Header, Want, read_columns, read_header
from ..manifests.entries import manifest_spec_id
from ..manifests.statistics import DATA_FILE_ID, ManifestStatistics
from ..manifests.values import decode_partition

if TYPE_CHECKING:
    from ..avro.columns import RawColumn
    from ..files.table_files import TableFiles
    from ..manifests.manifest_list import Manifest
    from ..metadata.table_metadata import TableMetadata

__all__ = [
    "ADDED",
    "DELETED",
    "EQUALITY_IDS",
    "EXISTING",
    "Entry",
    "Key",
    "ManifestFile",
    "TableFacts",
    "path_of",
    "read_manifest",
]

EXISTING, ADDED, DELETED = 0, 1, 2
DATA, POSITION_DELETES, EQUALITY_DELETES = 0, 1, 2
EQUALITY_IDS = 135
MAPS = {109: "value_counts", 110: "null_value_counts", 137: "nan_value_counts"}
_BOUNDS = {125: "lower_bounds", 128: "upper_bounds"}
_KEYS = {109: (119, 120), 110: (121, 122), 137: (138, 139), 125: (126, 127), 128: (129, 130)}
_INTEGERS = {134: "content", 103: "record_count", 104: "file_size_in_bytes", 140: "sort_order_id"}
_INTEGERS |= {142: "first_row_id", 144: "content_offset", 145: "content_size_in_bytes"}
_TEXTS = {100: "file_path", 101: "file_format", 143: "referenced_data_file"}

Key = str
"""What a live entry is called by: the path; of a deletion vector, behind NUL, also where it begins."""


def path_of(key: Key) -> str:
    """The path."""
    return key.partition("\0")[0]


@dataclass(frozen=True)
class TableFacts:
    """What manifests are compared with. ``fields`` are the leaves of all schemas by id, as the newest one has them."""

    metadata: TableMetadata
    orders: frozenset[int]
    fields: Mapping[int, Field]


class Entry:
    """An entry as it is stored: None where it has no value. ``row`` is its number in the manifest.

    ``is_live``, ``is_vector`` and ``key`` are said by the others; many rules ask for them, so they are there. What few
    rules ask for, the manifest knows by the row.
    """

    __slots__ = (
        "content",
        "content_offset",
        "content_size",
        "file_sequence_number",
        "first_row_id",
        "format",
        "is_live",
        "is_vector",
        "key",
        "path",
        "record_count",
        "referenced",
        "row",
        "sequence_number",
        "size",
        "snapshot_id",
        "sort_order_id",
        "status",
    )

    def __init__(
        self,
        row: int,
        status: int,
        snapshot_id: int | None,
        sequence_number: int | None,
        file_sequence_number: int | None,
        content: int | None,
        path: str,
        format: str,
        record_count: int,
        size: int,
        sort_order_id: int | None,
        first_row_id: int | None,
        referenced: str | None,
        content_offset: int | None,
        content_size: int | None,
    ) -> None:
        self.row = row
        self.status = status
        self.snapshot_id = snapshot_id
        self.sequence_number = sequence_number
        self.file_sequence_number = file_sequence_number
        self.content = content or DATA
        self.path = path
        self.format = format
        self.record_count = record_count
        self.size = size
        self.sort_order_id = sort_order_id
        self.first_row_id = first_row_id
        self.referenced = referenced
        self.content_offset = content_offset
        self.content_size = content_size
        self.is_live = status != DELETED
        self.is_vector = content == POSITION_DELETES and format.lower() == "puffin"
        self.key: Key = f"{path}\0{content_offset}" if self.is_vector else path


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
    def live_entries(self) -> list[Entry]:
        """The live entries."""
        return [entry for entry in self.entries if entry.is_live]

    @cached_property
    def live(self) -> dict[Key, Entry]:
        """The live entries; of two that are called the same, the last."""
        return {entry.key: entry for entry in self.live_entries}

    def partition_of(self, entry: Entry) -> tuple[Any, ...]:
        """A plain value for each field of the spec."""
        return tuple(values[entry.row].as_py() for values in self.partition)

    def integers_of(self, entry: Entry, field_id: int) -> list[int] | None:
        """A member of ``data_file`` that is a list: ``split_offsets`` or ``equality_ids``."""
        column, row = self.columns[(DATA_FILE_ID, field_id)], entry.row
        if column.known is not None and not column.known[row]:
            return None
        start, end = (int(column.values[row - 1]) if row else 0), int(column.values[row])
        items = self.columns[(DATA_FILE_ID, field_id, ELEMENT)].values
        return items[start:end].tolist()  # type: ignore[no-any-return]

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
                if getattr(fields[field_id].type, "name", None) in ("float", "double"):
                    yield from ((row, field_id) for row in _nan_rows(raw))


def _nan_rows(raw: RawColumn) -> list[int]:
    """The rows whose bytes are a float or a double that is NaN."""
    if raw.offsets is None or raw.data is None:
        return []
    found = []
    for kind in ("<f4", "<f8"):
        width = np.dtype(kind).itemsize
        rows = np.flatnonzero(raw.valid & (raw.sizes == width))
        octets = raw.data[raw.offsets[rows].astype(np.int64)[:, None] + np.arange(width)]
        found.append(rows[np.isnan(octets.view(kind)[:, 0])])
    return np.sort(np.concatenate(found)).tolist()  # type: ignore[no-any-return]


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
    specs = facts.metadata.specs
    spec_id = manifest_spec_id(header, manifest, facts.metadata.default_spec_id)
    if spec_id not in specs:
        raise CorruptMetadataError(f"the table has no partition spec {spec_id}", path=path, field="partition_spec_id")
    spec = specs[spec_id]
    raw = read_columns(data, _wants(spec), sorted(facts.fields), path, header=header, limits=files.storage.limits)
    version = header.text("format-version")
    known = int(version) if version in ("1", "2", "3") else 1
    values = [decode_partition(raw[(DATA_FILE_ID, 102, f.id)], f.type, path, f.name) for f in spec.fields]
    return ManifestFile(path, len(data), header, spec, known, list(_entries(raw)), raw, values)


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
        Want(EQUALITY_IDS, ("equality_ids",), "int", "list"),
        *maps,
    ]
    heads = [(0, "status"), (1, "snapshot_id"), (3, "sequence_number"), (4, "file_sequence_number")]
    return (*(Want(i, (name,)) for i, name in heads), Want(2, ("data_file",), "any", "record", tuple(members)))


def _entries(raw: AvroColumns) -> Iterator[Entry]:
    raw.required((0,), "status")
    for field_id, name in ((100, "file_path"), (101, "file_format"), (103, "record_count"), (104, "file_size")):
        raw.required((DATA_FILE_ID, field_id), name)
    heads = [raw[(i,)].int_array().to_pylist() for i in (0, 1, 3, 4)]
    numbers = {i: raw[(DATA_FILE_ID, i)].int_array().to_pylist() for i in _INTEGERS}
    texts = {i: raw.strings((DATA_FILE_ID, i), name).to_pylist() for i, name in _TEXTS.items()}
    last = numbers[140], numbers[142], texts[143], numbers[144], numbers[145]
    return map(Entry, count(), *heads, numbers[134], texts[100], texts[101], numbers[103], numbers[104], *last)
