"""``table.detail()``: what a table is and how much is in it, in one object, like ``DESCRIBE DETAIL``."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

from ..dataclass import dataclass
from ..display import facts, page
from .files import partitions_of, plan_of
from .text import bytes_text, count_text, counted, location_text, time_text

if TYPE_CHECKING:
    from ..planning.handle import SnapshotHandle
    from ..planning.plan import FilePlan

__all__ = ["TableDetail", "detail", "detail_of", "detail_rows"]


@dataclass(frozen=True)
class TableDetail:
    """What a snapshot is and how much is in it, by its metadata.

    Attributes
    ----------
    format, location : str
    version : int
        -1: there is no snapshot yet.
    timestamp : datetime, optional
        When the version was committed, in UTC.
    features : tuple of str
        What the format says of its version and of the features that readers and writers need.
    files, size_bytes : int
        The data files and their bytes.
    rows : int, optional
        Physical rows, deleted ones included; None: some file does not say.
    deleted_rows : int, optional
        Rows that deletion vectors leave out; None: there are deletes of other kinds, which have to be read.
    files_with_deletes, delete_files : int
    columns : int
    partition_columns : tuple of str
        Like ``day(ts)``.
    partitions : int
        Distinct partition values; 1 where the table has no partitions, 0 where it has no files.
    properties : dict
    metadata_files, metadata_bytes : int
        What a plan of all files reads.
    """

    format: str
    location: str
    version: int
    timestamp: dt.datetime | None
    features: tuple[str, ...]
    files: int
    size_bytes: int
    rows: int | None
    deleted_rows: int | None
    files_with_deletes: int
    delete_files: int
    columns: int
    partition_columns: tuple[str, ...]
    partitions: int
    properties: dict[str, str]
    metadata_files: int
    metadata_bytes: int

    def __repr__(self) -> str:
        size = f"{counted(self.files, 'file')}, {bytes_text(self.size_bytes)}, {counted(self.rows, 'row')}"
        return f"TableDetail({self.format}, version {self.version}: {size})"

    def _repr_html_(self) -> str:
        return page("Detail", location_text(self.location), facts(detail_rows(self)))

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        lists = {"features": list(self.features), "partition_columns": list(self.partition_columns)}
        return {**self.__dict__, "location": location_text(self.location), **lists}


def detail(snapshot: SnapshotHandle) -> TableDetail:
    """The detail of ``snapshot``. No data file is opened. Raises the errors of planning."""
    return detail_of(plan_of(snapshot))


def detail_of(plan: FilePlan) -> TableDetail:
    """The detail of a snapshot, of which ``plan`` has all files."""
    snapshot, report = plan.snapshot, plan.report
    return TableDetail(
        snapshot.table_format,
        snapshot.location,
        snapshot.version,
        snapshot.timestamp,
        tuple(snapshot.format_snapshot.features),
        report.files_planned,
        report.bytes_planned,
        report.rows_planned,
        _deleted_rows(plan),
        report.files_with_deletes,
        report.delete_files,
        len(snapshot.schema),
        partition_columns(snapshot),
        len(partitions_of(plan.survivors)[1]),
        snapshot.properties,
        report.metadata_files_read,
        report.metadata_bytes_read,
    )


def detail_rows(found: TableDetail) -> list[tuple[str, str]]:
    """Names with values, for people."""
    per_file = f", {bytes_text(found.size_bytes // found.files)} a file" if found.files else ""
    rows = [
        ("Location", location_text(found.location)),
        ("Format", ", ".join((found.format, *found.features))),
        ("Version", "no snapshot yet" if found.version == -1 else str(found.version)),
        ("Time", time_text(found.timestamp)),
        ("Partitioned by", ", ".join(found.partition_columns) or "nothing"),
        ("Partitions", count_text(found.partitions)),
        ("Files", count_text(found.files)),
        ("  with deletes", count_text(found.files_with_deletes)),
        ("Bytes", bytes_text(found.size_bytes) + per_file),
        ("Rows stored", count_text(found.rows)),
        ("  deleted", count_text(found.deleted_rows)),
        ("Metadata read", f"{counted(found.metadata_files, 'file')}, {bytes_text(found.metadata_bytes)}"),
        ("Columns", str(found.columns)),
    ]
    return rows if found.partition_columns else [row for row in rows if row[0] != "Partitions"]


def partition_columns(snapshot: SnapshotHandle) -> tuple[str, ...]:
    """What new files are partitioned by: ``country``, ``day(ts)``."""
    found = []
    for f in snapshot.partition_fields:
        is_known = snapshot.schema.find_id(f.source_id) is not None
        path = snapshot.schema.path_of(f.source_id) if is_known else ()
        name = ".".join(part.name for part in path) or f"dropped column {f.source_id}"
        found.append(name if f.transform.name == "identity" else f"{f.transform}({name})")
    return tuple(found)


def _deleted_rows(plan: FilePlan) -> int | None:
    """Rows that deletes leave out; None where a delete does not say."""
    from ..columnar import compute as pc

    deleted = plan.delete_files.files["cardinality"]
    return None if deleted.null_count else int(pc.sum(deleted).as_py() or 0)
