"""``table.inspect``: a table's metadata as Arrow tables.

``files``, ``snapshots``, ``history`` and ``partitions`` are there for every table: as the format defines them where it
has a metadata table of that name (Iceberg has all four, under its own column names), otherwise under the names given
here. The neutral forms are there for every format too: ``scan.plan().files`` and ``table.history()``. The other tables
are a format's own, and refused by name where it has none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

    from ..table.table import Snapshot, Table

__all__ = ["Inspector"]


class Inspector:
    """Metadata tables of one table. Each method raises UnsupportedFeatureError where the format has no such table."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def files(self, version: int | str | None = None) -> pa.Table:
        """The live files of a version: of Iceberg tables data and delete files with all that their manifests say
        (``content``, ``file_path``, ``record_count``, ``lower_bounds``, ``readable_metrics``, ...); of others data
        files as in ``plan.files``."""
        snapshot = self._table.snapshot(version)
        own = self._defined("files", snapshot)
        return snapshot.scan().plan().files if own is None else own

    def data_files(self, version: int | str | None = None) -> pa.Table:
        """The data files among :meth:`files` (Iceberg)."""
        return self._own("data_files", version)

    def delete_files(self, version: int | str | None = None) -> pa.Table:
        """The position delete files, deletion vectors and equality delete files among :meth:`files` (Iceberg)."""
        return self._own("delete_files", version)

    def snapshots(self) -> pa.Table:
        """The versions that can be read: of Iceberg tables ``committed_at``, ``snapshot_id``, ``parent_id``,
        ``operation``, ``manifest_list``, ``summary``, oldest first; of others as :meth:`Table.history`."""
        own = self._defined("snapshots")
        return self._table.history() if own is None else own

    def history(self) -> pa.Table:
        """Which version was current when: of Iceberg tables ``made_current_at``, ``snapshot_id``, ``parent_id``,
        ``is_current_ancestor``, oldest first; of others as :meth:`Table.history`."""
        own = self._defined("history")
        return self._table.history() if own is None else own

    def metadata_log_entries(self) -> pa.Table:
        """The table's metadata files, oldest first: ``timestamp``, ``file``, ``latest_snapshot_id``,
        ``latest_schema_id``, ``latest_sequence_number`` (Iceberg)."""
        return self._own("metadata_log_entries")

    def manifests(self, version: int | str | None = None) -> pa.Table:
        """The manifests of a version (Iceberg)."""
        return self._own("manifests", version)

    def partitions(self, version: int | str | None = None) -> pa.Table:
        """Distinct partition tuples of a version: of Iceberg tables ``partition``, ``spec_id``, ``record_count``,
        ``file_count``, ``total_data_file_size_in_bytes``, what deletes there are, and when each was updated; of others
        ``partition``, ``spec_id``, ``file_count``, ``record_count``, ``total_size_bytes``."""
        snapshot = self._table.snapshot(version)
        own = self._defined("partitions", snapshot)
        return _partitions(snapshot.scan().plan().files) if own is None else own

    def entries(self, version: int | str | None = None) -> pa.Table:
        """The manifest entries of a version, those of removed files included (Iceberg)."""
        return self._own("entries", version)

    def refs(self) -> pa.Table:
        """Branches and tags (Iceberg)."""
        return self._own("refs")

    def tombstones(self) -> pa.Table:
        """The removed files that the current snapshot still remembers (Delta)."""
        return self._own("tombstones")

    def transactions(self) -> pa.Table:
        """The newest version that each application has committed (Delta's ``txn``)."""
        return self._own("transactions")

    def domains(self) -> pa.Table:
        """The metadata domains of the current snapshot and their configurations (Delta)."""
        return self._own("domains")

    def log(self) -> pa.Table:
        """The files of the log, what each is, and whether the current snapshot is made from it (Delta)."""
        return self._own("log")

    def _own(self, name: str, version: int | str | None = None) -> pa.Table:
        return self._table.snapshot(version).format_snapshot.inspect(name)

    def _defined(self, name: str, snapshot: Snapshot | None = None) -> pa.Table | None:
        """The format's own table of that name, or None."""
        found = (snapshot or self._table.snapshot()).format_snapshot
        return found.inspect(name) if name in found.own_metadata_tables else None


def _partitions(files: pa.Table) -> pa.Table:
    members = files["partition"].combine_chunks().flatten()
    names = [f"p{i}" for i in range(len(members))]
    flat = files.select(["spec_id", "size_bytes", "record_count"])
    for name, values in zip(names, members, strict=True):
        flat = flat.append_column(name, values)
    grouped = flat.group_by([*names, "spec_id"]).aggregate(
        [("size_bytes", "count"), ("record_count", "sum"), ("size_bytes", "sum")]
    )
    return _named_groups(files, grouped, names)


def _named_groups(files: pa.Table, grouped: pa.Table, names: list[str]) -> pa.Table:
    import pyarrow as pa

    kind = files.schema.field("partition").type
    if names:
        members = [grouped[name].combine_chunks() for name in names]
        partition = pa.StructArray.from_arrays(members, fields=list(kind))
    else:
        partition = pa.Array.from_buffers(kind, grouped.num_rows, [None], children=[])
    return pa.table(
        {
            "partition": partition,
            "spec_id": grouped["spec_id"],
            "file_count": grouped["size_bytes_count"],
            "record_count": grouped["record_count_sum"],
            "total_size_bytes": grouped["size_bytes_sum"],
        }
    )
