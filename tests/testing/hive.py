"""A complete small plugin for Hive-partitioned directories of Parquet files, and a writer of such a table.

A file lies in a directory for each partition column: ``day=2024-01-01/shop=3/part-0.parquet``. The columns' types are
inferred from their values (int, date, else string), ``__HIVE_DEFAULT_PARTITION__`` is NULL, and values are
percent-encoded. ``at_day=2024-01-01`` is no column, but the day of the column ``at`` where the files have that. Bounds
and counts come from the footers of the files. Files are only ever added: the times at which that happened are the
versions of the table, numbered from 0.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import numpy as np
import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq
from pyroaring import BitMap64

from tableformats.errors import CorruptMetadataError, SnapshotNotFoundError, TableNotFoundError
from tableformats.io.storage import Storage
from tableformats.plugin import (
    Bounds,
    DeleteFiles,
    FileBatch,
    FormatSnapshot,
    FormatTable,
    MetadataPart,
    NameMapping,
    OpenOptions,
    PartitionField,
    PartitionSpec,
    ReadRequest,
    SnapshotSelector,
    Statistics,
    TableFormat,
    hookimpl,
)
from tableformats.plugin.report import ScanReport
from tableformats.schema import Field, Schema, arrow_type
from tableformats.schema.transforms import parse_transform

NULL = "__HIVE_DEFAULT_PARTITION__"
FIRST_FIELD_ID = 1000
DAY = "_day"


@dataclass(frozen=True)
class HiveFile:
    """A file of the table: ``path`` is relative to its root, ``texts`` are the decoded partition values by column."""

    path: str
    size: int
    mtime_ms: int
    texts: Mapping[str, str | None]

    @property
    def directory(self) -> str:
        return self.path.rpartition("/")[0]


def list_files(storage: Storage) -> list[HiveFile]:
    """All Parquet files below the root, by path."""
    filesystem, root = storage.filesystem_path(storage.root)
    selector = pyarrow.fs.FileSelector(root, recursive=True, allow_not_found=True)
    found = []
    for info in filesystem.get_file_info(selector):
        path = info.path[len(root) :].lstrip("/")
        if info.type == pyarrow.fs.FileType.File and path.endswith(".parquet"):
            texts = [part.partition("=")[::2] for part in path.split("/")[:-1]]
            values = {name: None if text == NULL else unquote(text) for name, text in texts}
            found.append(HiveFile(path, info.size, info.mtime_ns // 1_000_000, values))
    return sorted(found, key=lambda file: file.path)


def partition_array(texts: Sequence[str | None]) -> pa.Array:
    """The values of a partition column in the first type that all texts have: int, date or string."""
    for parse, kind in ((int, pa.int32()), (dt.date.fromisoformat, pa.date32())):
        try:
            return pa.array([None if text is None else parse(text) for text in texts], kind)
        except ValueError:
            continue
    return pa.array(texts, pa.string())


class FooterStatistics(Statistics):
    """What the footers of some files say; one footer a file."""

    def __init__(self, footers: Sequence[pq.FileMetaData], names: Mapping[int, str]) -> None:
        self.footers = footers
        self.names = names
        """The dotted names that columns have in the files, by field id."""

    def bounds(self, columns: Sequence[Field], rows: np.ndarray | None) -> Bounds:
        footers = self.footers if rows is None else [self.footers[row] for row in rows]
        bounds = Bounds(record_count=pa.array([footer.num_rows for footer in footers], pa.int64()))
        for field in columns:
            if field.id in self.names:
                found = [self.of_column(footer, field) for footer in footers]
                lower, upper, nulls, values = (list(column) for column in zip(*found, strict=True))
                bounds.lower[field.id] = pa.array(lower, arrow_type(field.type))
                bounds.upper[field.id] = pa.array(upper, arrow_type(field.type))
                bounds.null_count[field.id] = pa.array(nulls, pa.int64())
                bounds.value_count[field.id] = pa.array(values, pa.int64())
        return bounds

    def of_column(self, footer: pq.FileMetaData, field: Field) -> tuple[Any, Any, int | None, int | None]:
        """(lower, upper, NULLs, values) of one file: unknown where the footer does not say."""
        chunks = [
            chunk
            for group in range(footer.num_row_groups)
            for column in range(footer.num_columns)
            if (chunk := footer.row_group(group).column(column)).path_in_schema == self.names[field.id]
        ]
        statistics = [chunk.statistics for chunk in chunks]
        if not chunks or any(s is None for s in statistics):
            return None, None, None, None
        nulls = sum(s.null_count for s in statistics) if all(s.has_null_count for s in statistics) else None
        values = sum(chunk.num_values for chunk in chunks)
        # Of a row group without a value there are no bounds, and none are needed.
        bounded = [s for s in statistics if s.has_min_max]
        if any(not s.has_min_max and s.num_values for s in statistics) or not bounded:
            return None, None, nulls, values
        return min(s.min for s in bounded), max(s.max for s in bounded), nulls, values


class HiveSnapshot(FormatSnapshot):
    """The files that were there at one time."""

    properties: Mapping[str, str] = {}
    default_spec_id = 0
    name_mapping = NameMapping(by="name", partition_values_first=True)

    def __init__(self, storage: Storage, files: Sequence[HiveFile], version: int, timestamp_ms: int) -> None:
        self.storage = storage
        self.files = files
        self.version = version
        self.timestamp_ms = timestamp_ms
        with storage.open_file(storage.join(files[0].path)) as file:
            stored = pq.read_schema(file)
        self.values = {name: partition_array([f.texts[name] for f in files]) for name in files[0].texts}
        self.days = {name for name in self.values if name.endswith(DAY) and name.removesuffix(DAY) in stored.names}
        for name, values in self.values.items():
            if name not in self.days:
                stored = stored.append(pa.field(name, values.type))
        self.schema = Schema.from_arrow(stored)
        self.specs = {0: PartitionSpec(0, tuple(self.partition_fields()))}

    def partition_fields(self) -> Iterator[PartitionField]:
        for number, name in enumerate(self.values):
            column, transform = (name.removesuffix(DAY), "day") if name in self.days else (name, "identity")
            source = next(field for field in self.schema if field.name == column)
            made = parse_transform(transform)
            yield PartitionField(FIRST_FIELD_ID + number, name, source.id, made, made.result_type(source.type))

    def parts(self, request: ReadRequest) -> Sequence[MetadataPart]:
        directories = dict.fromkeys(file.directory for file in self.files)
        return [self.part([i for i, f in enumerate(self.files) if f.directory == name]) for name in directories]

    def part(self, places: Sequence[int]) -> MetadataPart:
        """The files of one directory."""
        files = [self.files[i] for i in places]
        return MetadataPart(tuple(files_key(files)), lambda report: self.read_part(places, report), len(files))

    def read_part(self, places: Sequence[int], report: ScanReport) -> Iterator[FileBatch]:
        files = [self.files[i] for i in places]
        report.metadata_files_read += len(files)
        yield FileBatch(self.columns(files, places), 0, self.statistics(self.footers(files)))

    def footers(self, files: Sequence[HiveFile]) -> list[pq.FileMetaData]:
        found = []
        for file in files:
            path = self.storage.join(file.path)
            try:
                with self.storage.open_file(path) as source:
                    found.append(pq.read_metadata(source))
            except pa.ArrowInvalid as error:
                raise CorruptMetadataError(f"the footer cannot be read: {error}", path=path) from error
        return found

    def columns(self, files: Sequence[HiveFile], places: Sequence[int]) -> pa.RecordBatch:
        footers = self.footers(files)
        starts = [[offset(f.row_group(i).column(0)) for i in range(f.num_row_groups)] for f in footers]
        return pa.record_batch(
            {
                "path": pa.array([file.path for file in files]),
                "size_bytes": pa.array([file.size for file in files], pa.int64()),
                "record_count": pa.array([footer.num_rows for footer in footers], pa.int64()),
                "split_offsets": pa.array(starts, pa.list_(pa.int64())),
                "partition": self.partition(places),
            }
        )

    def partition(self, places: Sequence[int]) -> pa.Array:
        values = [array.take(pa.array(places)) for array in self.values.values()]
        names = [str(field.id) for field in self.specs[0].fields]
        return pa.StructArray.from_arrays(values, names) if names else pa.array([{}] * len(places), pa.struct([]))

    def statistics(self, footers: Sequence[pq.FileMetaData]) -> Statistics:
        names = {path[-1].id: ".".join(f.name for f in path) for path in self.schema.leaves()}
        return FooterStatistics(footers, names)

    def attach_deletes(self, files: pa.Table, request: ReadRequest) -> DeleteFiles:
        return DeleteFiles.none(files.num_rows)

    def deleted_positions(self, path: str, record_count: int | None, deletes: pa.Table) -> BitMap64:
        return BitMap64()

    def resolve_paths(self, paths: pa.Array) -> pa.Array:
        return self.storage.resolve(paths)


def files_key(files: Sequence[HiveFile]) -> Iterable[Any]:
    """What tells the content of these files from every other."""
    return ((file.path, file.size, file.mtime_ms) for file in files)


def offset(chunk: Any) -> int:
    """Where a column of a row group begins, in bytes."""
    return int(chunk.dictionary_page_offset or chunk.data_page_offset)


class HiveTable(FormatTable):
    format = "hive"

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self.location = storage.root

    def times(self) -> list[int]:
        """When files were added, in milliseconds since the epoch: the place of each is its version."""
        return sorted({file.mtime_ms for file in list_files(self.storage)})

    def snapshot(self, selector: SnapshotSelector) -> FormatSnapshot:
        times = self.times()
        version = self.selected(selector, times)
        if version is None:
            hint = f"Choose one of the versions 0 to {len(times) - 1}"
            raise SnapshotNotFoundError(f"there is no version for {selector}", path=self.location, hint=hint)
        files = [file for file in list_files(self.storage) if file.mtime_ms <= times[version]]
        return HiveSnapshot(self.storage, files, version, times[version])

    def selected(self, selector: SnapshotSelector, times: Sequence[int]) -> int | None:
        """The version that is meant; None where there is none."""
        if selector.branch is not None or selector.tag is not None:
            return None
        if selector.timestamp_ms is not None:
            earlier = [version for version, time in enumerate(times) if time <= selector.timestamp_ms]
            return earlier[-1] if earlier else None
        if selector.version is None:
            return len(times) - 1
        return selector.version if selector.version in range(len(times)) else None  # type: ignore[return-value]

    def history(self, limit: int | None = None) -> pa.Table:
        times = self.times()
        columns = {
            "version": pa.array(range(len(times)), pa.int64()),
            "timestamp": pa.array(times, pa.timestamp("ms", "UTC")),
            "operation": pa.array(["ADD"] * len(times)),
        }
        return pa.table(columns)[::-1].slice(0, limit)


class HiveFormat(TableFormat):
    name = "hive"

    def detect(self, storage: Storage, options: OpenOptions) -> bool:
        return bool(list_files(storage))

    def open(self, storage: Storage, options: OpenOptions) -> FormatTable:
        if not self.detect(storage, options):
            raise TableNotFoundError("there are no Parquet files", path=storage.root, hint="Check the path")
        return HiveTable(storage)


@hookimpl
def tableformats_register_formats() -> list[type[TableFormat]]:
    return [HiveFormat]


# ---- a table to test with -----------------------------------------------------------------------------------------

DATA = pa.schema(
    [
        ("id", pa.int64()),
        ("amount", pa.float64()),
        ("note", pa.string()),
        ("price", pa.decimal128(9, 2)),
        ("at", pa.timestamp("us", "UTC")),
        ("place", pa.struct([("city", pa.string()), ("zip", pa.int32())])),
        ("tags", pa.list_(pa.string())),
    ]
)
PARTITIONS: list[tuple[str | None, int | None, str | None]] = [
    ("2024-01-01", 3, "north/west"),
    ("2024-01-01", 3, None),
    ("2024-01-02", -1, "50% off"),
    (None, 7, "south"),
    ("2023-12-31", None, "north/west"),
]
"""The values of ``day``, ``shop`` and ``area`` of the first files; all further ones have those of the first."""
FILES = 7
FIRST_DAY = dt.date(1969, 12, 30)
"""The day of ``at`` in the first file; those with other partition values have later ones."""
MOST_ROWS = 10
"""Of the first file; every further one has one less."""
TIMES = 1_700_000_000, 1_700_086_400
"""When the first and the last files were added, in seconds since the epoch."""


def write_table(root: Path) -> pa.Table:
    """Write a table of seven files below ``root``, three of them in the first directory, and return its rows."""
    expected = []
    for number in range(FILES):
        is_late = number >= len(PARTITIONS)
        partition = 0 if is_late else number
        day, shop, area = PARTITIONS[partition]
        at_day = FIRST_DAY + dt.timedelta(days=partition)
        texts = {"day": day, "shop": shop, "area": area, "at_day": at_day}
        parts = [f"{name}={NULL if text is None else quote(str(text), safe='')}" for name, text in texts.items()]
        path = root.joinpath(*parts, f"part-{number}.parquet")
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = _rows(number, at_day)
        pq.write_table(rows, path, row_group_size=MOST_ROWS // 2)
        os.utime(path, (TIMES[is_late],) * 2)
        day_value = None if day is None else dt.date.fromisoformat(day)
        for name, value, kind in (
            ("day", day_value, pa.date32()),
            ("shop", shop, pa.int32()),
            ("area", area, pa.string()),
        ):
            rows = rows.append_column(name, pa.array([value] * rows.num_rows, kind))
        expected.append(rows)
    return pa.concat_tables(expected)


def _rows(number: int, day: dt.date) -> pa.Table:
    """The rows of one file: with NULLs, and NaN in every second one."""
    ids = range(10 * number, 10 * number + MOST_ROWS - number)
    midnight = dt.datetime.combine(day, dt.time(), dt.timezone.utc)
    columns = {
        "id": list(ids),
        "amount": [None if i % 5 == 4 else float("nan") if i % 20 == 1 else i / 4 - 3 for i in ids],
        "note": [None if number == 3 or i % 7 == 0 else f"note {i:03} é" for i in ids],
        "price": [Decimal(i * 7 - 100).scaleb(-2) if i % 3 else None for i in ids],
        "at": [midnight + dt.timedelta(minutes=17 * i, microseconds=i) for i in ids],
        "place": [None if i % 6 == 5 else {"city": f"city {i}", "zip": None if i % 4 else 1000 + i} for i in ids],
        "tags": [["a", None][: i % 3] for i in ids],
    }
    return pa.table(columns, schema=DATA)
